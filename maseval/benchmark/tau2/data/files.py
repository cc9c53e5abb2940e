"""The data files of each version of the benchmark: manifest, addresses, and a verified folder.

Source: tau2-bench v0.2.0 and v1.0.1, and tau2-bench-verified, ``data/tau2/`` (MIT). The package
carries none of these files, only their names, sizes and SHA-256 (``manifests/``). ``maseval.data``
fetches and checks them.
"""

import json
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, cast

from maseval.benchmark.tau2.data import VERIFIED, VERSIONS, known_version, title_of
from maseval.benchmark.tau2.data.wheel import WHEEL
from maseval.data import download
from maseval.data.cache import cache_dir
from maseval.data.download import FetchProgress
from maseval.data.files import DataError, DataFile, Manifest, parse_listing
from maseval.data.folder import DataFolder, fill, link_equal_files
from maseval.data.store import AnyPath, DataPlace, place_of

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
        wheel=WHEEL if default else None,
        fetched_by="ensure_data_exists()" if default else f'ensure_data_exists(version="{plain}")',
        command=command if default else f"{command} --data-version {plain}",
    )


def read_listing(name: str) -> dict[str, DataFile]:
    """Return the files of one listing in ``manifests/``."""
    folder = Path(__file__).with_name("manifests")
    return parse_listing((folder / name).read_text("utf-8"))


def default_data_dir(version: str = DEFAULT_VERSION) -> Path:
    """Return the folder of fetched files: below ``MASEVAL_CACHE_DIR``, else the user's cache."""
    return _cached_path(cache_dir(), known_version(version))


@lru_cache(maxsize=16)
def _cached_path(cache: Path, version: str) -> Path:
    """Return the path, which is asked for with every verdict and takes long to make."""
    return cache / "tau2" / title_of(version)


def read_mapping(path: Path) -> dict[str, Any]:
    """Read a JSON or TOML file whose top level is a mapping."""
    text = path.read_text(encoding="utf-8")
    match path.suffix:
        case ".json":
            content = json.loads(text)
        case ".toml":
            import tomllib  # one domain has such a file

            content = tomllib.loads(text)
        case suffix:
            raise ValueError(f"cannot read {path.name}: {suffix!r} is neither .json nor .toml")
    if not isinstance(content, dict):
        raise ValueError(f"{path.name} holds a {type(content).__name__}, not a mapping")
    return cast(dict[str, Any], content)


MANIFEST = manifest_of(DEFAULT_VERSION)


def download_file(url: str, timeout: float = 30) -> str:
    """Return the text behind ``url``, unchecked (unlike ``ensure_data_exists``)."""
    return download.download_text(url, timeout)


def download_json(url: str) -> object:
    """Return the JSON document behind ``url``; nothing in it is checked."""
    return download.download_json(url, 30)


def published_files(folder: str, manifest: Manifest) -> list[DataFile]:
    """Return the files of the domain that the original keeps in ``folder``, if it has any."""
    return manifest.below(f"domains/{folder}")


def are_cached(folder: str, version: str) -> bool:
    """Return True if the cache has all files of a domain, and has them right; fetch none."""
    manifest = manifest_of(version)
    cached = DataFolder(default_data_dir(version), manifest)
    return not cached.lacking(published_files(folder, manifest))


def guidelines(manifest: Manifest) -> list[DataFile]:
    """Return the files that tell a simulated customer how to behave."""
    return manifest.below("user_simulator")


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
    place = _place(data_dir, manifest)
    lacking = place.folder.lacking(needed)
    if lacking and place.is_cache:
        # The guidelines come along, so that a run started now needs no network later.
        files = [*needed, *guidelines(manifest)]
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
