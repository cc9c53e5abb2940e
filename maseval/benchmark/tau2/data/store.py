"""The folder with a domain's files: verified, and fetched first if need be."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from maseval.benchmark.tau2.data.files import (
    DEFAULT_VERSION,
    MANIFEST,
    VERSIONS,
    default_data_dir,
    known_version,
    manifest_of,
)
from maseval.core.exceptions import ConfigurationError
from maseval.data.files import DataFile, Manifest
from maseval.data.folder import fill
from maseval.data.progress import FetchProgress
from maseval.data.sharing import link_equal_files
from maseval.data.store import (
    AnyPath,
    DataPlace,
    cache_folder,
    place_of,
    refuse_missing_files,
    refuse_wrong_files,
)


class DomainFiles(Protocol):
    """The part of a ``Domain`` that says where its files are; domains stand above this package."""

    @property
    def name(self) -> str: ...
    @property
    def folder_name(self) -> str: ...
    @property
    def data_dir(self) -> Path | None: ...
    @property
    def version(self) -> str: ...
    @property
    def task_files(self) -> Mapping[str, str]: ...
    @property
    def splits_file(self) -> str | None: ...


def fetch_files(
    files: list[DataFile],
    data_dir: AnyPath | None,
    manifest: Manifest,
    *,
    force: bool = False,
    verbose: int = 1,
) -> Path:
    """Fetch those of the files that are missing, or all if ``force``; return the root folder."""
    place = _place(data_dir, manifest)
    if force:
        fill(place.folder, files, place.sources, _progress(verbose), force=True)
    elif lacking := place.folder.lacking(files):
        _refuse_wrong_files(place, lacking)
        _fetch(place, files, lacking, _progress(verbose))
    return place.folder.root


def published_files(folder: str, manifest: Manifest) -> list[DataFile]:
    """Return the files that the benchmark publishes in a domain's folder."""
    return manifest.below(f"domains/{folder}")


def files_of(domain: str | DomainFiles, manifest: Manifest = MANIFEST) -> list[DataFile]:
    """Return the published files of a domain, or of a folder, with the customer's guidelines."""
    own = published_files(domain if isinstance(domain, str) else domain.folder_name, manifest)
    if not own:
        name = domain if isinstance(domain, str) else domain.name
        raise ConfigurationError(
            f"domain {name!r} has no published files to fetch; give it a data_dir"
        )
    return [*own, *_guidelines(manifest)]


def _guidelines(manifest: Manifest) -> list[DataFile]:
    return manifest.below("user_simulator")


def domain_folder(
    domain: DomainFiles,
    names: Iterable[str],
    data_dir: AnyPath | None,
    version: str = DEFAULT_VERSION,
) -> Path:
    """The folder of the domain's files, where those called ``names`` are certain to be right."""
    if domain.data_dir is not None:
        return domain.data_dir
    inside = f"domains/{domain.folder_name}"
    wanted = tuple(f"{inside}/{name}" for name in names)
    below = tuple(f"{name}/" for name in wanted)
    needed = [
        file
        for file in files_of(domain, manifest_of(version))
        if file.name in wanted or file.name.startswith(below)
    ]
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
        _fetch(place, [*needed, *_guidelines(manifest)], lacking, _progress())
    elif lacking:
        _refuse_wrong_files(place, lacking)
        call = _call(str(data_dir), version)
        refuse_missing_files(place, lacking, f"{call} fetches what is missing there")
    return place.folder.root


def _call(data_dir: str, version: str, *options: str) -> str:
    plain = known_version(version)
    other = () if f"v{plain}" == DEFAULT_VERSION else (f"version={plain!r}",)
    return f"ensure_data_exists({', '.join((repr(data_dir), *options, *other))})"


def _fetch(
    place: DataPlace, files: list[DataFile], lacking: list[DataFile], progress: FetchProgress
) -> None:
    if place.is_cache:
        others = [
            cache_folder(default_data_dir(version), manifest_of(version)) for version in VERSIONS
        ]
        link_equal_files(place.folder, lacking, others)
    fill(place.folder, files, place.sources, progress)


def _place(data_dir: AnyPath | None, manifest: Manifest) -> DataPlace:
    return place_of(data_dir, manifest, default_data_dir(manifest.version))


def _refuse_wrong_files(place: DataPlace, lacking: list[DataFile]) -> None:
    call = _call(str(place.folder.root), place.folder.manifest.version, "force_download=True")
    refuse_wrong_files(place, lacking, call)


def _progress(verbose: int = 1) -> FetchProgress:
    return FetchProgress(verbose, MANIFEST.benchmark)
