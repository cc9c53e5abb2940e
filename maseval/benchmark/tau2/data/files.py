"""Which files each version of the benchmark consists of.

Source: tau2-bench v0.2.0 and v1.0.1, ``data/tau2/`` (MIT). The package carries none of these files,
only their names, sizes and SHA-256 (``manifests/``).
"""

import json
import tomllib
from functools import cache, lru_cache
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, cast

from maseval.benchmark.tau2.data.wheel import WHEEL
from maseval.core.exceptions import ConfigurationError
from maseval.data.files import DataError, DataFile, Manifest
from maseval.data.files import listed as files_in
from maseval.data.store import cache_dir

GITHUB_BASE = "https://raw.githubusercontent.com/sierra-research/tau2-bench"
DEFAULT_VERSION = "v0.2.0"
VERSIONS = ("0.2.0", "1.0.1")

Tau2DataError = DataError


class UnknownVersionError(ConfigurationError):
    """The checksums of that version of the benchmark are not known."""


def known_version(version: str) -> str:
    """The version as in ``VERSIONS``; it may be given as the original's tag, ``v1.0.1``."""
    plain = version.removeprefix("v")
    if plain not in VERSIONS:
        raise UnknownVersionError(
            f"version is {version!r}; choose one whose checksums are known: {', '.join(VERSIONS)}"
        )
    return plain


@cache
def manifest_of(version: str) -> Manifest:
    """The data files of a version."""
    plain = known_version(version)
    default = f"v{plain}" == DEFAULT_VERSION
    return Manifest(
        "tau2",
        f"v{plain}",
        listed(f"v{plain}.txt"),
        base_url=GITHUB_BASE,
        inside="data/tau2",
        wheel=WHEEL if default else None,
        fetched_by="ensure_data_exists()" if default else f'ensure_data_exists(version="{plain}")',
    )


def listed(name: str) -> dict[str, DataFile]:
    """The files of one listing in ``manifests/``."""
    folder = resources("maseval.benchmark.tau2.data") / "manifests"
    return files_in((folder / name).read_text("utf-8"))


def default_data_dir(version: str = DEFAULT_VERSION) -> Path:
    """Where fetched files are kept: below ``MASEVAL_CACHE_DIR``, else the user's cache folder."""
    return _below(cache_dir(), known_version(version))


@lru_cache(maxsize=16)
def _below(cache: Path, version: str) -> Path:
    """Asked for with every verdict, and a path takes long to make."""
    return cache / "tau2" / f"v{version}"


def read_mapping(path: Path) -> dict[str, Any]:
    """Read a JSON or TOML file whose top level is a mapping."""
    text = path.read_text(encoding="utf-8")
    match path.suffix:
        case ".json":
            content = json.loads(text)
        case ".toml":
            content = tomllib.loads(text)
        case suffix:
            raise ValueError(f"cannot read {path.name}: {suffix!r} is neither .json nor .toml")
    if not isinstance(content, dict):
        raise ValueError(f"{path.name} holds a {type(content).__name__}, not a mapping")
    return cast(dict[str, Any], content)


MANIFEST = manifest_of(DEFAULT_VERSION)
