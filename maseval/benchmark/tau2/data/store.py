"""From the name of a domain to a folder with its files, verified; fetched first if need be.

There are two kinds of folder: the cache, which is ours and is repaired whenever a file in it is
missing or wrong, and a ``data_dir`` of the user's own, where a wrong file is an error.
"""

import hashlib
import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from maseval.benchmark.tau2.data.files import (
    DEFAULT_VERSION,
    MANIFEST,
    VERSIONS,
    ChecksumError,
    DataFile,
    DataUnavailableError,
    Manifest,
    known_version,
    manifest_of,
)
from maseval.benchmark.tau2.data.folder import DataFolder, fill
from maseval.benchmark.tau2.data.progress import Progress
from maseval.benchmark.tau2.data.sharing import link_equal_files
from maseval.benchmark.tau2.data.sources import LocalSource, Source, data_root, default_sources
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.core.exceptions import ConfigurationError

AnyPath = str | os.PathLike[str]

_ANEW = "force_download=True"


class _Place(NamedTuple):
    folder: DataFolder
    sources: list[Source]
    is_cache: bool


def default_data_dir(version: str = DEFAULT_VERSION) -> Path:
    """Where fetched files are kept: below ``MASEVAL_CACHE_DIR``, else the user's cache folder."""
    name = f"v{known_version(version)}"
    cache = os.environ.get("MASEVAL_CACHE_DIR")
    if cache:
        return Path(cache).expanduser().absolute() / "tau2" / name
    return _user_cache(os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME")) / "tau2" / name


@lru_cache(maxsize=4)
def _user_cache(xdg_cache: str | None, home: str | None) -> Path:
    """The user's cache folder; it depends on these variables, and takes long to find."""
    import platformdirs

    return platformdirs.user_cache_path("maseval")


def ensure_data_exists(
    data_dir: AnyPath | None = None,
    domain: str | Domain | None = None,
    force_download: bool = False,
    verbose: int = 1,
    version: str = DEFAULT_VERSION,
) -> Path:
    """See to it that the data of ``domain``, or of all domains, is there and right.

    What is missing is fetched into ``data_dir``, or into the cache folder if none is given (or if
    ``data_dir`` is an archive). Returns the folder that holds ``domains`` and ``user_simulator``.
    """
    manifest = manifest_of(version)
    if domain is None:
        files = list(manifest.files.values())
    elif (own_folder := _own_folder(domain, manifest)) is not None:
        return own_folder
    else:
        files = files_of(domain, manifest)
    place = _place(data_dir, manifest)
    if force_download:
        fill(place.folder, files, place.sources, Progress(verbose), force=True)
    elif lacking := place.folder.lacking(files):
        _refuse_wrong_files(place, lacking)
        _fetch(place, files, lacking, Progress(verbose))
    return place.folder.root


def download_domain_data(
    data_dir: AnyPath | None = None,
    domain: str | Domain | None = None,
    version: str = DEFAULT_VERSION,
    verbose: int = 1,
) -> Path:
    """Fetch the data anew even if it is there; each file is replaced once the new one is right."""
    return ensure_data_exists(
        data_dir, domain, force_download=True, verbose=verbose, version=version
    )


def files_of(domain: str | Domain, manifest: Manifest = MANIFEST) -> list[DataFile]:
    """All files of a domain that does not bring its own, with the customer's guidelines."""
    if isinstance(domain, str) and _published(domain, manifest):
        own = _published(domain, manifest)
    else:
        domain = domain_named(domain)
        own = _published(domain.folder_name, manifest)
        if not own:
            raise ConfigurationError(
                f"domain {domain.name!r} has no published files to fetch; give it a data_dir"
            )
    return [*own, *_guidelines(manifest)]


def _published(folder: str, manifest: Manifest) -> list[DataFile]:
    return manifest.below(f"domains/{folder}")


def _guidelines(manifest: Manifest) -> list[DataFile]:
    return manifest.below("user_simulator")


def _own_folder(domain: str | Domain, manifest: Manifest) -> Path | None:
    """Where the files of a domain are that is not one of the original's."""
    if isinstance(domain, str) and _published(domain, manifest):
        return None
    return domain_named(domain).data_dir


def domain_folder(
    domain: Domain,
    names: Iterable[str],
    data_dir: AnyPath | None,
    version: str = DEFAULT_VERSION,
) -> Path:
    """The folder of the domain's files, where those called ``names`` are certain to be right."""
    if domain.data_dir is not None:
        return domain.data_dir
    inside = f"domains/{domain.folder_name}"
    wanted = {f"{inside}/{name}" for name in names}
    needed = [file for file in files_of(domain, manifest_of(version)) if file.name in wanted]
    return verified_root(needed, data_dir, version) / inside


def verified_root(
    needed: list[DataFile], data_dir: AnyPath | None, version: str = DEFAULT_VERSION
) -> Path:
    """The folder in which the ``needed`` files are, relative to which they have their names."""
    manifest = manifest_of(version)
    place = _place(data_dir, manifest)
    lacking = place.folder.lacking(needed)
    if lacking and place.is_cache:
        # The guidelines come along, so that a run started now needs no network later.
        _fetch(place, [*needed, *_guidelines(manifest)], lacking, Progress())
    elif lacking:
        _refuse_wrong_files(place, lacking)
        raise DataUnavailableError(
            f"{place.folder.root} has no {lacking[0].name}; "
            f"{_call(str(data_dir), version)} fetches what is missing there, "
            "and without a data_dir the cache is used"
        )
    return place.folder.root


def _call(data_dir: str, version: str, *options: str) -> str:
    plain = known_version(version)
    other = () if f"v{plain}" == DEFAULT_VERSION else (f"version={plain!r}",)
    return f"ensure_data_exists({', '.join((repr(data_dir), *options, *other))})"


def _fetch(
    place: _Place, files: list[DataFile], lacking: list[DataFile], progress: Progress
) -> None:
    if place.is_cache:
        others = [_cache_of(manifest_of(version)) for version in VERSIONS]
        link_equal_files(place.folder, lacking, others)
    fill(place.folder, files, place.sources, progress)


def _place(data_dir: AnyPath | None, manifest: Manifest) -> _Place:
    if data_dir is None:
        return _Place(_cache_of(manifest), default_sources(manifest), True)
    path = Path(data_dir).expanduser()
    if path.is_file():
        archive: list[Source] = [LocalSource(path, inside=manifest.inside)]
        return _Place(_cache_of(manifest), archive, True)
    root = data_root(path, manifest.inside)
    # Stamps of a folder that is not ours are kept in the cache: we leave no trace in it.
    key = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:16]
    stamps = default_data_dir(manifest.version) / "folders" / f"{key}.json"
    return _Place(DataFolder(root, manifest, stamps), default_sources(manifest), False)


def _cache_of(manifest: Manifest) -> DataFolder:
    root = default_data_dir(manifest.version)
    return DataFolder(root, manifest, root / "verified.json")


def _refuse_wrong_files(place: _Place, lacking: Iterable[DataFile]) -> None:
    if place.is_cache:
        return
    version = place.folder.manifest.version
    for file in lacking:
        found = place.folder.found(file)
        if found is not None:
            raise ChecksumError(
                f"in {place.folder.root}, {file.mismatch(found['sha256'], found['size'])}; remove "
                f"it, or replace it with {_call(str(place.folder.root), version, _ANEW)}"
            )
