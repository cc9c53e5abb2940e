"""``maseval macs data``: the benchmark's files, fetched, verified, found."""

import os
from pathlib import Path

from maseval.benchmark.macs.data.files import MANIFEST, default_data_dir, original_files
from maseval.data.files import DataCheck


def fetch(*, force: bool = False) -> Path:
    """Fetch what is missing into the cache; returns the folder that holds it."""
    original_files(MANIFEST.files, force_download=force)
    return default_data_dir()


def path() -> Path:
    """Return the folder of fetched files, whether there are any or not."""
    return default_data_dir()


def verify(data_dir: str | os.PathLike[str] | None = None) -> DataCheck:
    """Read every file and compare it with its checksum; nothing is fetched."""
    return DataCheck.of(default_data_dir() if data_dir is None else Path(data_dir), MANIFEST)
