"""The errors of run folders, and the one that the disk leads to."""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from maseval.core.exceptions import MASEvalError


class RunFolderError(MASEvalError):
    """The path is not that of a run folder, or the folder is damaged."""


class RunConfigError(RunFolderError, ValueError):
    """The folder holds a run with another configuration; ``differences`` lists how it differs."""

    def __init__(self, message: str, differences: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.differences = list(differences)


class RunLockedError(RunFolderError, RuntimeError):
    """Another process is writing to the folder."""


class RunWriteError(RunFolderError, OSError):
    """Something could not be written; what was written before is intact."""

    def __init__(self, message: str, *, errno: int | None = None) -> None:
        super().__init__(message)
        self.errno = errno


_WAYS_OUT = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EFBIG: "allow larger files",
    errno.EROFS: "make it writable",
    errno.EACCES: "make it writable",
    errno.EPERM: "make it writable",
    errno.ENOENT: "put the folder back where it was",
}


@contextmanager
def writing(folder: Path, failure: str) -> Iterator[None]:
    """Turn an ``OSError`` of the block into a ``RunWriteError``."""
    try:
        yield
    except RunWriteError:
        raise
    except OSError as error:
        # Without the name of the file, which may be a hidden one.
        cause = os.strerror(error.errno) if error.errno else str(error)
        way_out = _WAYS_OUT.get(error.errno or 0, "fix the cause")
        if _has_results(folder):
            rest = f"The results written so far are intact; {way_out}, then start the run again to "
            rest += "resume it"
        else:
            rest = f"Nothing was written yet; {way_out}, then start the run again"
        raise RunWriteError(f"{folder} {failure}: {cause}. {rest}", errno=error.errno) from error


def _has_results(folder: Path) -> bool:
    try:
        return (folder / "log.jsonl").stat().st_size > 0
    except OSError:
        return False
