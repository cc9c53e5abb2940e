"""Errors of the disk, and things that are not files, as run errors that say what to do."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from maseval.runs.exceptions import RunFolderError, RunWriteError

ResultT = TypeVar("ResultT")

_WAYS_OUT = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EFBIG: "allow larger files",
    errno.EROFS: "make it writable",
    errno.EACCES: "make it writable",
    errno.EPERM: "make it writable",
    errno.ENOENT: "put the folder back where it was",
}


_KINDS = {stat.S_IFDIR: "folder", stat.S_IFIFO: "named pipe", stat.S_IFSOCK: "socket"}


def check_regular(path: Path) -> None:
    """Raise if something other than a file is there, such as a pipe, which would be waited for."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "device")
        raise RunFolderError(
            f"{path} is not a file but a {kind}; remove it, or restore the file from a copy"
        )


def writing(folder: Path, failure: str, action: Callable[[], ResultT]) -> ResultT:
    """The result of ``action``; an ``OSError`` becomes a ``RunWriteError`` naming the folder."""
    try:
        return action()
    except RunWriteError:
        raise
    except OSError as error:
        cause = os.strerror(error.errno) if error.errno else str(error)
        way_out = _WAYS_OUT.get(error.errno or 0, "fix the cause")
        raise RunWriteError(
            f"{folder} {failure}: {cause}. The results written so far are intact; "
            f"{way_out}, then start the run again to resume it",
            errno=error.errno,
        ) from error
