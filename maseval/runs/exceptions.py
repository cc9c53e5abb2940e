"""Why a run folder cannot be used.

::

    MASEvalError
    └── RunFolderError                      not a run folder, or a damaged one
        ├── BundleError (ValueError)        not a bundle of a run, or a changed one; in bundle.py
        ├── RunConfigError (ValueError)     it belongs to a run with another configuration
        ├── RunLockedError (RuntimeError)   another process is writing to it
        └── RunWriteError (OSError)         it cannot be written to
"""

from collections.abc import Sequence
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
    """Something could not be written; what was written before is intact.

    ``rescued`` names the files in which reports were kept instead.
    """

    def __init__(self, message: str, *, errno: int | None = None) -> None:
        super().__init__(message)
        self.errno = errno
        self.rescued: list[Path] = []
