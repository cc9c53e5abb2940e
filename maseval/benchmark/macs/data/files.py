"""The benchmark's manifest (names, sizes and SHA-256 at one commit), and reading its files.

Source: multiagent-collab-scenario-benchmark (Amazon.com, Inc. or its affiliates); data CC BY 4.0,
code MIT-0. The package carries none of these files.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from maseval.core.exceptions import ConfigurationError, TaskFormatError
from maseval.data.cache import cache_dir
from maseval.data.download import FetchProgress
from maseval.data.files import DataError, DataUnavailableError, Manifest, parse_listing
from maseval.data.folder import fill
from maseval.data.store import AnyPath, place_of

VALID_DOMAINS = ("travel", "mortgage", "software")
COMMIT = "cb82575c0846bb147423bebacc8597bc24196142"
REPOSITORY = "https://github.com/aws-samples/multiagent-collab-scenario-benchmark"
BASE_URL = REPOSITORY.replace("https://github.com", "https://raw.githubusercontent.com")
TEMPLATES_FILE = "src/prompt_templates.py"

ATTRIBUTION = (
    "Data: Multi-Agent Collaboration Scenario Benchmark (R. Shu, N. Das, M. Yuan, M. Sunkara, "
    "Y. Zhang; arXiv:2412.05449). Copyright Amazon.com, Inc. or its affiliates. CC BY 4.0, "
    f"https://creativecommons.org/licenses/by/4.0/. Source: {REPOSITORY} at {COMMIT[:8]}, "
    "rearranged."
)
"""What must go with every file that holds texts of the scenarios."""

MANIFEST = Manifest(
    "macs",
    COMMIT,
    parse_listing(
        """\
2de861c4a0180abaa3b7fbbbe6a3b4d19fda8fdf2ab823a800ada0e81ea3db3f 283469 datasets/travel/agents.json
473a3858e2f7582e4e14bfa98fc180bb42fdba0134c920023844671d8fbbeec0 46291 datasets/travel/scenarios_30.json
01750d2655634065c9f80923fff19454a5e1c8da1bda4a559590da530740a518 144356 datasets/mortgage/agents.json
53ccd19d6c92c9aef25d7889c834668c63f8a7f262d947e7bd6a015f505d363a 44186 datasets/mortgage/scenarios_30.json
413446c1a60c1ac9205db2026ac45e93449304240fd03c6a5de2264998a79e37 55742 datasets/software/agents.json
9ca35e5fee81ddd1b081a09f1b351e94aed0df986ccdb1283d73c500ffef6d6c 153118 datasets/software/scenarios_30.json
860a1eab371739d37386eb1f416237b688f437276bddea9b7126682650e4cbc1 1812 src/prompt_templates.py
"""  # noqa: E501
    ),
    base_url=BASE_URL,
    command="maseval macs data fetch",
)

MACSDataError = DataError
"""Whatever is wrong with the files: not to be had, not the right ones, or not readable."""


def agents_file(domain: str) -> str:
    return f"datasets/{domain}/agents.json"


def scenarios_file(domain: str) -> str:
    return f"datasets/{domain}/scenarios_30.json"


def default_data_dir() -> Path:
    """Return the folder of fetched files: below ``MASEVAL_CACHE_DIR``, else the user's cache."""
    return cache_dir() / "benchmark" / "macs" / "data"


def original_files(
    names: Iterable[str],
    data_dir: AnyPath | None = None,
    *,
    force_download: bool = False,
    verbose: int = 1,
) -> dict[str, bytes]:
    """Return the verified contents of files by the original's names, fetched if they are missing.

    ``data_dir`` is a folder or an archive that has them by these names; None means the cache.
    """
    place = place_of(data_dir, MANIFEST, default_data_dir())
    needed = [MANIFEST.files[name] for name in names]
    lacking = place.folder.lacking(needed)
    if place.is_cache and (lacking or force_download):
        progress = FetchProgress(verbose, MANIFEST.benchmark)
        fill(place.folder, needed, place.sources, progress, force=force_download)
    elif lacking:
        place.refuse_lacking_files(
            lacking,
            f"the one in {REPOSITORY} at commit {COMMIT}",
            f"a checkout of {REPOSITORY} at {COMMIT} has it",
        )
    return {file.name: place.folder.path(file).read_bytes() for file in needed}


def check_domain(domain: str) -> None:
    if domain not in VALID_DOMAINS:
        raise ConfigurationError(
            f"Invalid domain {domain!r}. Must be one of {', '.join(VALID_DOMAINS)}"
        )


def chosen_domains(domain: str | None) -> Sequence[str]:
    """Return the domain, or all of them if none is named."""
    if domain is None:
        return VALID_DOMAINS
    if domain not in VALID_DOMAINS:
        raise ConfigurationError(
            f"Unknown domain: {domain!r}; choose one of {', '.join(VALID_DOMAINS)}"
        )
    return (domain,)


def read_file(root: Path, folder: str, domain: str, name: str) -> bytes:
    """Return the content of ``root/folder/domain/name``."""
    path = root / folder / domain / name
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise DataUnavailableError(
            f"{folder.capitalize()} data not found: {path}; "
            f"ensure_data_exists({str(root)!r}) writes it"
        ) from error
    except OSError as error:
        raise DataUnavailableError(f"cannot read {path}: {error.strerror}") from error


def decode_json(name: str, content: bytes) -> object:
    """Return the JSON document in a file called ``name``."""
    try:
        document: object = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise TaskFormatError(f"{name} is not a JSON file: {error}") from error
    return document
