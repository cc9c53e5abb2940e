"""``maseval tau2 data``: fetch, verify and find the benchmark's files."""

import os
from pathlib import Path

from maseval.benchmark.tau2.data.files import DEFAULT_VERSION, MANIFEST
from maseval.benchmark.tau2.data_loader import default_data_dir, ensure_data_exists
from maseval.benchmark.tau2.wording import original_texts
from maseval.data.files import DataCheck


def fetch(
    domain: str | None = None, *, force: bool = False, version: str = DEFAULT_VERSION
) -> Path:
    """Fetch what is missing into the cache; returns the folder that holds it."""
    return ensure_data_exists(domain=domain, force_download=force, version=version)


texts, path = original_texts, default_data_dir


def verify(data_dir: str | os.PathLike[str] | None = None) -> DataCheck:
    """Read every file and compare it with its checksum; nothing is fetched."""
    return DataCheck.of(default_data_dir() if data_dir is None else Path(data_dir), MANIFEST)
