"""Switch off what only Linux has, as `make quick-elsewhere` does: ``pytest -p tests.elsewhere``.

This stands in for macOS, on which no test runs: children are new Pythons instead of forks, the end
of a process is seen by its pipe alone, and there is no sandbox. It must be loaded before anything
of maseval looks for these.
"""

import os
import shutil
from pathlib import Path

from maseval.core.engine import children

_which = shutil.which


def _which_without_sandbox(program: str, *options: object, **more: object) -> str | None:
    return None if program == "bwrap" else _which(program, *options, **more)


for name in ("pidfd_open", "sched_getaffinity"):
    if hasattr(os, name):
        delattr(os, name)
children._THREADS = Path("/nowhere")
shutil.which = _which_without_sandbox
