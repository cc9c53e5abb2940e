"""From the name of a domain to a folder with its files, verified; fetched first if need be.

There are two kinds of folder: the cache, which is ours and is repaired whenever a file in it is
missing or wrong, and a ``data_dir`` of the user's own, where a wrong file is an error.
"""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from maseval.benchmark.tau2.data.files import (
    DEFAULT_VERSION,
    MANIFEST,
    ChecksumError,
    DataFile,
    DataUnavailableError,
)
from maseval.benchmark.tau2.data.folder import DataFolder, fill
from maseval.benchmark.tau2.data.progress import Progress
from maseval.benchmark.tau2.data.sources import LocalSource, Source, data_root, default_sources
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.core.exceptions import ConfigurationError

AnyPath = str | os.PathLike[str]

_GUIDELINES = MANIFEST.below("user_simulator")


class _Place(NamedTuple):
    folder: DataFolder
    sources: list[Source]
    is_cache: bool


def default_data_dir() -> Path:
    """Where fetched files are kept: below ``MASEVAL_CACHE_DIR``, else the user's cache folder."""
    cache = os.environ.get("MASEVAL_CACHE_DIR")
    if cache:
        return Path(cache).expanduser().absolute() / "tau2" / DEFAULT_VERSION
    import platformdirs

    return platformdirs.user_cache_path("maseval") / "tau2" / DEFAULT_VERSION


def ensure_data_exists(
    data_dir: AnyPath | None = None,
    domain: str | Domain | None = None,
    force_download: bool = False,
    verbose: int = 1,
) -> Path:
    """See to it that the data of ``domain``, or of all domains, is there and right.

    What is missing is fetched into ``data_dir``, or into the cache folder if none is given (or if
    ``data_dir`` is an archive). Returns the folder that holds ``domains`` and ``user_simulator``.
    """
    chosen = None if domain is None else domain_named(domain)
    if chosen is not None and chosen.data_dir is not None:
        return chosen.data_dir
    files = list(MANIFEST.files.values()) if chosen is None else files_of(chosen)
    place = _place(data_dir)
    lacking = place.folder.lacking(files)
    if force_download:
        fill(place.folder, files, place.sources, Progress(verbose), force=True)
    elif lacking:
        _refuse_wrong_files(place, lacking)
        fill(place.folder, files, place.sources, Progress(verbose))
    return place.folder.root


def download_domain_data(
    data_dir: AnyPath | None = None,
    domain: str | Domain | None = None,
    version: str = DEFAULT_VERSION,
    verbose: int = 1,
) -> Path:
    """Fetch the data anew even if it is there; each file is replaced once the new one is right."""
    if version != DEFAULT_VERSION:
        raise ConfigurationError(
            f"version is {version!r}; choose {DEFAULT_VERSION!r}, whose checksums are known"
        )
    return ensure_data_exists(data_dir, domain, force_download=True, verbose=verbose)


def files_of(domain: Domain) -> list[DataFile]:
    """All files of a domain that does not bring its own, with the customer's guidelines."""
    own = MANIFEST.below(f"domains/{domain.folder_name}")
    if not own:
        raise ConfigurationError(
            f"domain {domain.name!r} has no published files to fetch; give it a data_dir"
        )
    return [*own, *_GUIDELINES]


def domain_folder(domain: Domain, names: Iterable[str], data_dir: AnyPath | None) -> Path:
    """The folder of the domain's files, where those called ``names`` are certain to be right."""
    if domain.data_dir is not None:
        return domain.data_dir
    inside = f"domains/{domain.folder_name}"
    wanted = {f"{inside}/{name}" for name in names}
    return verified_root([f for f in files_of(domain) if f.name in wanted], data_dir) / inside


def verified_root(needed: list[DataFile], data_dir: AnyPath | None) -> Path:
    """The folder in which the ``needed`` files are, relative to which they have their names."""
    place = _place(data_dir)
    lacking = place.folder.lacking(needed)
    if lacking and place.is_cache:
        # The guidelines come along, so that a run started now needs no network later.
        fill(place.folder, [*needed, *_GUIDELINES], place.sources, Progress())
    elif lacking:
        _refuse_wrong_files(place, lacking)
        raise DataUnavailableError(
            f"{place.folder.root} has no {lacking[0].name}; ensure_data_exists({str(data_dir)!r}) "
            "fetches what is missing there, and without a data_dir the cache is used"
        )
    return place.folder.root


def _place(data_dir: AnyPath | None) -> _Place:
    cache = default_data_dir()
    if data_dir is None:
        return _Place(DataFolder(cache, MANIFEST, cache / "verified.json"), default_sources(), True)
    path = Path(data_dir).expanduser()
    if path.is_file():
        archive: list[Source] = [LocalSource(path)]
        return _Place(DataFolder(cache, MANIFEST, cache / "verified.json"), archive, True)
    root = data_root(path)
    # Stamps of a folder that is not ours are kept in the cache: we leave no trace in it.
    key = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:16]
    own = DataFolder(root, MANIFEST, cache / "folders" / f"{key}.json")
    return _Place(own, default_sources(), False)


def _refuse_wrong_files(place: _Place, lacking: Iterable[DataFile]) -> None:
    if place.is_cache:
        return
    for file in lacking:
        found = place.folder.found(file)
        if found is not None:
            raise ChecksumError(
                f"in {place.folder.root}, {file.mismatch(found['sha256'], found['size'])}; remove "
                "it, or replace it with ensure_data_exists(data_dir, force_download=True)"
            )
