"""The place of a benchmark's files: the cache, or a folder of the user's own.

The cache is ours and is repaired whenever a file in it is missing or wrong; in a ``data_dir`` of
the user's own a wrong file is an error.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from maseval.data.files import ChecksumError, DataFile, DataUnavailableError, Manifest
from maseval.data.folder import DataFolder, hash_file
from maseval.data.sources import DataSource, data_root, default_sources, local_source

AnyPath = str | os.PathLike[str]


class DataPlace(NamedTuple):
    """A folder of data files, and the sources that can fill it."""

    folder: DataFolder
    sources: list[DataSource]
    is_cache: bool

    def refuse_wrong_files(self, lacking: Iterable[DataFile], replacement: str) -> None:
        """Raise for the first file of the user's own folder that is there and wrong."""
        for file in () if self.is_cache else lacking:
            found = hash_file(self.folder.path(file))
            if found is not None:
                raise ChecksumError(
                    f"in {self.folder.root}, {file.mismatch(found.sha256, found.state.size)}; "
                    f"remove it, or replace it with {replacement}"
                )

    def refuse_lacking_files(self, lacking: list[DataFile], replacement: str, way_out: str) -> None:
        """Raise for the first wrong file of the user's own folder, or for the first missing one."""
        self.refuse_wrong_files(lacking, replacement)
        if lacking:
            raise DataUnavailableError(
                f"{self.folder.root} has no {lacking[0].name}; {way_out}, and without a data_dir "
                "the cache is used"
            )


def place_of(data_dir: AnyPath | None, manifest: Manifest, cache: Path) -> DataPlace:
    """Return where the files of a manifest belong; an archive is unpacked into the ``cache``."""
    if data_dir is None:
        return DataPlace(DataFolder(cache, manifest), default_sources(manifest), True)
    path = Path(data_dir).expanduser()
    if path.is_file():
        return DataPlace(DataFolder(cache, manifest), [local_source(path, manifest)], True)
    root = data_root(path, manifest.inside)
    return DataPlace(DataFolder(root, manifest), default_sources(manifest), False)
