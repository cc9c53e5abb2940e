"""The data files of each version of the benchmark, in a verified folder.

The package carries none of these files, only their names, sizes and SHA-256 (``manifests/``).
``maseval.data`` fetches them into the cache or into a folder of the user's own, and checks them.
The files of v0.2.0 can also be made from the wheel ``inspect-evals`` 0.26.0 (MIT), which carries
them slightly edited: a recipe for each file undoes the edits, byte for byte.

After tau2-bench v0.2.0, data/tau2/ (MIT, Sierra Research).
"""

import io
import json
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, cast

from maseval.benchmark.tau2.data import VERIFIED, VERSIONS, known_version, title_of
from maseval.core.exceptions import TaskFormatError
from maseval.data import sources
from maseval.data.files import (
    MEMBER_LIMIT,
    DataError,
    DataFile,
    DataWheel,
    Manifest,
    Recipe,
    cache_dir,
    parse_listing,
    unchanged,
)
from maseval.data.folder import (
    AnyPath,
    DataFolder,
    DataPlace,
    content_hash,
    fill,
    link_equal_files,
    place_of,
    read_content,
)
from maseval.data.sources import FetchProgress

# Where the 114 base telecom tasks stand in the full list of 2,285.
_BASE_POSITIONS = """
34 11 8 37 20 17 18 13 89 93 103 81 47 83 73 43 117 136 171 176 134 175 195 208 197 227 230 183
242 236 238 235 248 251 253 252 269 260 263 261 267 270 268 271 262 289 274 286 278 281 275 279
276 288 293 296 290 291 294 297 292 295 298 299 300 322 343 337 353 329 333 312 330 373 463 496
452 380 431 531 465 432 788 948 837 660 658 712 1274 1408 1129 1508 1088 1905 1953 1582 1615 1619
1850 2178 2148 2089 1983 2102 2228 2256 2238 2209 2279 2276 2283 2280 2281 2284
"""


def without_final_newline(content: bytes) -> bytes:
    return content.removesuffix(b"\n")


def unzip(content: bytes) -> bytes:
    import gzip  # of no use to whoever has the data

    with gzip.open(io.BytesIO(content)) as stream:
        plain = stream.read(MEMBER_LIMIT + 1)
    if len(plain) > MEMBER_LIMIT:
        raise ValueError(f"unpacks to more than {MEMBER_LIMIT:,} bytes")
    return without_final_newline(plain)


# The published files are indented so, and their checksums cover every space.
def _dump(tasks: object, indent: int) -> bytes:
    return json.dumps(tasks, indent=indent).encode()


def _airline_tasks(content: bytes) -> bytes:
    """The wheel's task "1" has assertions that v0.2.0 did not have yet."""
    tasks = json.loads(content)
    for task in tasks:
        if task["id"] == "1":
            del task["evaluation_criteria"]["nl_assertions"][1:]
    return _dump(tasks, indent=4)


def _telecom_base_tasks(content: bytes) -> bytes:
    tasks = json.loads(unzip(content))
    return _dump([tasks[int(position)] for position in _BASE_POSITIONS.split()], indent=2)


_TELECOM = "domains/telecom"
_TEXTS_WITH_A_FINAL_NEWLINE = (
    "domains/airline/policy",
    f"{_TELECOM}/main_policy",
    f"{_TELECOM}/main_policy_solo",
    f"{_TELECOM}/tech_support_manual",
    f"{_TELECOM}/tech_support_workflow",
    f"{_TELECOM}/tech_support_workflow_solo",
    "user_simulator/simulation_guidelines",
    "user_simulator/simulation_guidelines_tools",
)

RECIPES: Mapping[str, Recipe] = {
    "domains/airline/db.json": Recipe("domains/airline/db.json.gz", unzip),
    "domains/airline/tasks.json": Recipe("domains/airline/tasks.json", _airline_tasks),
    "domains/retail/db.json": Recipe("domains/retail/db.json.gz", unzip),
    "domains/retail/policy.md": Recipe("domains/retail/policy.txt", unchanged),
    "domains/retail/tasks.json": Recipe(
        "domains/retail/tasks.json", lambda content: _dump(json.loads(content), indent=4)
    ),
    f"{_TELECOM}/db.toml": Recipe(f"{_TELECOM}/db.toml", unchanged),
    f"{_TELECOM}/user_db.toml": Recipe(f"{_TELECOM}/user_db.toml", unchanged),
    f"{_TELECOM}/tasks.json": Recipe(f"{_TELECOM}/tasks.json.gz", _telecom_base_tasks),
    f"{_TELECOM}/tasks_full.json": Recipe(f"{_TELECOM}/tasks.json.gz", unzip),
    f"{_TELECOM}/tasks_small.json": Recipe(f"{_TELECOM}/tasks_small.json", without_final_newline),
    **{
        f"{stem}.md": Recipe(f"{stem}.txt", without_final_newline)
        for stem in _TEXTS_WITH_A_FINAL_NEWLINE
    },
}

WHEEL = DataWheel("inspect-evals==0.26.0", 21_409_407, "inspect_evals/tau2/data/", RECIPES)

GITHUB_BASE = "https://raw.githubusercontent.com/sierra-research/tau2-bench"
VERIFIED_BASE = "https://raw.githubusercontent.com/amazon-agi/tau2-bench-verified"
VERIFIED_COMMIT = "9d0d5ae0a5a80007ec15083448350bb9f8f1cc00"
DEFAULT_VERSION = "v0.2.0"

_FOLDER = f"{GITHUB_BASE}/{DEFAULT_VERSION}/data/tau2/domains"
_FILES = {
    "retail": ("db.json", "tasks.json", "policy.md"),
    "airline": ("db.json", "tasks.json", "policy.md"),
    "telecom": ("db.toml", "tasks.json", "main_policy.md"),
}
URLS = {
    domain: {
        kind: f"{_FOLDER}/{domain}/{name}"
        for kind, name in zip(("db", "tasks", "policy"), names, strict=True)
    }
    for domain, names in _FILES.items()
}

Tau2DataError = DataError


def repository_of(version: str) -> tuple[str, str]:
    """Return the repository of a version over HTTPS, and its tag or commit there."""
    if version == VERIFIED:
        return VERIFIED_BASE, VERIFIED_COMMIT
    return GITHUB_BASE, f"v{version}"


@cache
def manifest_of(version: str) -> Manifest:
    """Return the manifest of a version's data files."""
    plain = known_version(version)
    title, (base_url, revision) = title_of(plain), repository_of(plain)
    default = title == DEFAULT_VERSION
    command = "maseval tau2 data fetch"
    return Manifest(
        "tau2",
        title,
        read_listing(f"{title}.txt"),
        base_url=base_url,
        revision=revision,
        inside="data/tau2",
        # The wheel has the files of v0.2.0 alone.
        wheel=WHEEL if default else None,
        fetched_by="ensure_data_exists()" if default else f'ensure_data_exists(version="{plain}")',
        command=command if default else f"{command} --data-version {plain}",
    )


def read_listing(name: str) -> dict[str, DataFile]:
    folder = Path(__file__).with_name("manifests")
    return parse_listing((folder / name).read_text("utf-8"))


def default_data_dir(version: str = DEFAULT_VERSION) -> Path:
    """Return the folder of fetched files: below ``MASEVAL_CACHE_DIR``, else the user's cache."""
    return _cached_path(cache_dir(), known_version(version))


@lru_cache(maxsize=16)
def _cached_path(cache: Path, version: str) -> Path:
    """Return the path, which is asked for with every verdict and takes long to make."""
    return cache / "tau2" / title_of(version)


def read_json(path: Path, sha256: str) -> Any:
    """Read a JSON file whose content has this hash."""
    try:
        return json.loads(read_content(path, sha256))
    except ValueError as error:
        raise TaskFormatError(f"{path} is not a JSON file: {error}") from error


def read_mapping(path: Path, sha256: str | None = None) -> dict[str, Any]:
    """Read a JSON or TOML file whose top level is a mapping, and whose content has this hash."""
    sha256 = sha256 or content_hash(str(path))
    match path.suffix:
        case ".json":
            content = read_json(path, sha256)
        case ".toml":
            import tomllib  # one domain has such a file

            content = tomllib.loads(read_content(path, sha256).decode("utf-8"))
        case suffix:
            raise ValueError(f"cannot read {path.name}: {suffix!r} is neither .json nor .toml")
    if not isinstance(content, dict):
        raise ValueError(f"{path.name} holds a {type(content).__name__}, not a mapping")
    return cast(dict[str, Any], content)


MANIFEST = manifest_of(DEFAULT_VERSION)


def download_file(url: str, timeout: float = 30) -> str:
    """Return the text behind ``url``, unchecked (unlike ``ensure_data_exists``)."""
    return sources.download_text(url, timeout)


def download_json(url: str) -> object:
    """Return the JSON document behind ``url``; nothing in it is checked."""
    return sources.download_json(url, 30)


def published_files(folder: str, manifest: Manifest) -> list[DataFile]:
    """Return the files of the domain that the original keeps in ``folder``, if it has any."""
    return manifest.below(f"domains/{folder}")


def are_cached(folder: str, version: str) -> bool:
    """Return True if the cache has all files of a domain, and has them right; fetch none."""
    manifest = manifest_of(version)
    cached = DataFolder(default_data_dir(version), manifest)
    return not cached.lacking(published_files(folder, manifest))


def fetch_files(
    files: list[DataFile],
    data_dir: AnyPath | None,
    manifest: Manifest,
    *,
    force: bool = False,
    verbose: int = 1,
) -> Path:
    """Fetch the files that are missing, or all if ``force``, and return the root folder."""
    place = _place(data_dir, manifest)
    progress = FetchProgress(verbose, manifest.benchmark)
    if force:
        fill(place.folder, files, place.sources, progress, force=True)
    elif lacking := place.folder.lacking(files):
        # A file with other content may be somebody's own edit, and is not written over unasked.
        place.refuse_wrong_files(lacking, _replacement(place))
        _fetch(place, files, lacking, progress)
    return place.folder.root


def verified_root(
    needed: list[DataFile], data_dir: AnyPath | None, version: str = DEFAULT_VERSION
) -> Path:
    """Return the folder in which the ``needed`` files are; they are named relative to it.

    Missing files are fetched into the cache; in a ``data_dir`` of the user's own they are an error.
    """
    manifest = manifest_of(version)
    cached = DataFolder(default_data_dir(version), manifest)
    if data_dir is None and not cached.lacking(needed):
        return cached.root
    place = _place(data_dir, manifest)
    lacking = place.folder.lacking(needed)
    if lacking and place.is_cache:
        # The guidelines come along, so that a run started now needs no network later.
        files = [*needed, *manifest.below("user_simulator")]
        _fetch(place, files, lacking, FetchProgress(benchmark=manifest.benchmark))
    elif lacking:
        way_out = f"{_ensuring_call(str(data_dir), version)} fetches what is missing there"
        place.refuse_lacking_files(lacking, _replacement(place), way_out)
    return place.folder.root


def _place(data_dir: AnyPath | None, manifest: Manifest) -> DataPlace:
    return place_of(data_dir, manifest, default_data_dir(manifest.version))


def _fetch(
    place: DataPlace, files: list[DataFile], lacking: list[DataFile], progress: FetchProgress
) -> None:
    if place.is_cache:
        # The releases share most of their files, which are fetched once.
        caches = [DataFolder(default_data_dir(each), manifest_of(each)) for each in VERSIONS]
        link_equal_files(place.folder, lacking, caches)
    fill(place.folder, files, place.sources, progress)


def _replacement(place: DataPlace) -> str:
    version = place.folder.manifest.version
    return _ensuring_call(str(place.folder.root), version, "force_download=True")


def _ensuring_call(data_dir: str, version: str, *options: str) -> str:
    plain = known_version(version)
    other = () if title_of(plain) == DEFAULT_VERSION else (f"version={plain!r}",)
    return f"ensure_data_exists({', '.join((repr(data_dir), *options, *other))})"
