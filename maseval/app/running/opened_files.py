"""The files that code opens or starts, as Python's audit events tell.

No import statement leads to a file that is run by ``runpy.run_path``, ``exec(open(...))`` or a
subprocess, or to one that is read. What happens past Python, or in another process, is not seen.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache

_WRITING = os.O_WRONLY | os.O_RDWR
_STARTS = frozenset({"subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn"})
_open_lists: list[dict[str, None]] = []


@contextmanager
def opened_files() -> Iterator[dict[str, None]]:
    """Yield the absolute paths of the files that are opened to be read, or started, meanwhile."""
    _install()
    found: dict[str, None] = {}
    _open_lists.append(found)
    try:
        yield found
    finally:
        # By identity: two lists may have equal content.
        _open_lists[:] = [each for each in _open_lists if each is not found]


@cache
def _install() -> None:
    sys.addaudithook(_note)  # for as long as the process lives


def _note(event: str, args: tuple[object, ...]) -> None:
    # Python calls this at every audit event of the process, and nearly all are of no interest.
    if not _open_lists or (event != "open" and event not in _STARTS):
        return
    try:
        if event == "open":
            path, _, flags = args
            writes = isinstance(flags, int) and flags & _WRITING
            names: Iterable[object] = () if writes else (path,)
        else:
            started = args[1]
            names = started if isinstance(started, list | tuple) else str(started).split()
        for name in names:
            if isinstance(name, str | os.PathLike):
                for found in _open_lists:
                    found[os.path.abspath(name)] = None
    except Exception:  # whoever opens a file must not fail because of this
        return
