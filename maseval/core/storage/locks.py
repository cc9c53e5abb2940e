"""The operating system's lock on an open file.

It ends when the file is closed or the process dies, however that happens, and also keeps two
openings within one process apart. On POSIX it is advisory: others can still read and write.
"""

import errno
import os
import sys

from maseval.core.exceptions import MASEvalError

_HELD = frozenset({errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK})


class LocksUnavailableError(MASEvalError, OSError):
    """The file system, or the platform, has no locks."""


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int, shared: bool, wait: bool) -> None:
        # Locked bytes cannot be read by others there, so lock one far behind the content.
        position = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, 1 << 30, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(descriptor, position, os.SEEK_SET)

else:
    import fcntl

    def _lock(descriptor: int, shared: bool, wait: bool) -> None:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(descriptor, kind if wait else kind | fcntl.LOCK_NB)


def lock(descriptor: int, *, shared: bool = False, wait: bool = False) -> bool:
    """Whether the open file is locked now, or somebody else holds it.

    With ``wait``, until it is free. Any number of ``shared`` locks can be held at the same time.
    Raises ``LocksUnavailableError`` where there are no locks.
    """
    try:
        _lock(descriptor, shared, wait)
    except OSError as error:
        if error.errno in _HELD:
            return False
        raise LocksUnavailableError(f"the file system has no locks: {error}") from error
    return True
