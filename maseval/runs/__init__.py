"""Run folders: every finished simulation is saved immediately, and a run can always be resumed."""

from maseval.runs.annotations import Annotations, change_note, change_tags, read_annotations
from maseval.runs.config import Simulation, task_ids
from maseval.runs.exceptions import (
    RunConfigError,
    RunFolderError,
    RunLockedError,
    RunWriteError,
)
from maseval.runs.folder import RunFolder
from maseval.runs.listing import RunState, default_root, list_runs, run_state
from maseval.runs.lock import Holder
from maseval.runs.log import DamagedRecord
from maseval.runs.resume import RunRecorder, run_into

__all__ = [
    "Annotations",
    "DamagedRecord",
    "Holder",
    "RunConfigError",
    "RunFolder",
    "RunFolderError",
    "RunLockedError",
    "RunRecorder",
    "RunState",
    "RunWriteError",
    "Simulation",
    "change_note",
    "change_tags",
    "default_root",
    "list_runs",
    "read_annotations",
    "run_into",
    "run_state",
    "task_ids",
]
