"""Where the files of a manifest are: in the cache, or in a folder of the user's own.

The cache is ours and is repaired whenever a file in it is missing or wrong; in a ``data_dir`` of
the user's own a wrong file is an error.
"""

import hashlib
import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from maseval.data.files import ChecksumError, DataFile, DataUnavailableError, Manifest
from maseval.data.folder import DataFolder
from maseval.data.sources import Source, data_root, default_sources, local_source

AnyPath = str | os.PathLike[str]


class DataPlace(NamedTuple):
    """A folder of data files, and the sources that can fill it."""

    folder: DataFolder
    sources: list[Source]
    is_cache: bool


def cache_dir() -> Path:
    """Where fetched files are kept: ``MASEVAL_CACHE_DIR``, else the user's cache folder."""
    cache = os.environ.get("MASEVAL_CACHE_DIR")
    if cache:
        return Path(cache).expanduser().absolute()
    return _user_cache(os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME"))


@lru_cache(maxsize=4)
def _user_cache(xdg_cache: str | None, home: str | None) -> Path:
    """The user's cache folder; it depends on these variables, and takes long to find."""
    import platformdirs

    return platformdirs.user_cache_path("maseval")


def cache_folder(root: Path, manifest: Manifest) -> DataFolder:
    """The cache of a manifest's files at ``root``."""
    return DataFolder(root, manifest, root / "verified.json")


def place_of(data_dir: AnyPath | None, manifest: Manifest, cache: Path) -> DataPlace:
    """Where the files of a manifest are to be; an archive is unpacked into the ``cache``."""
    if data_dir is None:
        return DataPlace(cache_folder(cache, manifest), default_sources(manifest), True)
    path = Path(data_dir).expanduser()
    if path.is_file():
        return DataPlace(cache_folder(cache, manifest), [local_source(path, manifest)], True)
    root = data_root(path, manifest.inside)
    # Stamps of a folder that is not ours are kept in the cache: we leave no trace in it.
    key = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:16]
    stamps = cache / "folders" / f"{key}.json"
    return DataPlace(DataFolder(root, manifest, stamps), default_sources(manifest), False)


def refuse_wrong_files(place: DataPlace, lacking: Iterable[DataFile], replaced_by: str) -> None:
    """Raise for the first file of a folder of one's own that is there and wrong."""
    if place.is_cache:
        return
    for file in lacking:
        found = place.folder.found(file)
        if found is not None:
            raise ChecksumError(
                f"in {place.folder.root}, {file.mismatch(found['sha256'], found['size'])}; remove "
                f"it, or replace it with {replaced_by}"
            )


def refuse_missing_files(place: DataPlace, lacking: Iterable[DataFile], way_out: str) -> None:
    """Raise for the first file that a folder of one's own lacks."""
    for file in lacking:
        raise DataUnavailableError(
            f"{place.folder.root} has no {file.name}; {way_out}, and without a data_dir the cache "
            "is used"
        )
