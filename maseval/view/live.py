"""A run at one moment: its progress and numbers from the log, what it does now from live.json."""

from typing import TypedDict

from maseval.report.index import Entry
from maseval.runs.config_file import LOCK
from maseval.runs.live import InFlight, read_live
from maseval.runs.lock import holder_of
from maseval.runs.log import RERUN_STATUSES, Score
from maseval.view.viewed import ViewedRun


class Live(TypedDict):
    """How far a run is; rate limits and what is in flight are of this moment, if it is running.

    ``labelled`` is of how many failures the labels are known.
    """

    state: str
    done: int
    failed: int
    planned: int
    pass_k: dict[str, Score]
    cost: float
    tokens: int
    rate_limits: int
    in_flight: list[InFlight]
    labelled: int


def live_of(run: ViewedRun) -> Live:
    """The run as it is now."""
    known, path = run.entries(), run.source.path
    planned = len(run.source.planned)
    failed = _failed(known)
    done = len(known) - failed
    now = read_live(path) if path.is_dir() else None
    cost = sum(entry.cost or 0.0 for entry in known)
    tokens = sum(entry.tokens for entry in known)
    return {
        "state": _state_of(run, done),
        "done": done,
        "failed": failed,
        "planned": planned,
        "pass_k": {str(k): score for k, score in run.scores().items()},
        # A simulation that was run again was paid for twice, which only the run itself knows.
        "cost": max(cost, now["cost"]) if now else cost,
        "tokens": max(tokens, now["tokens"]) if now else tokens,
        "rate_limits": now["rate_limits"] if now else 0,
        "in_flight": now["in_flight"] if now else [],
        "labelled": run.labelled,
    }


def _failed(known: list[Entry]) -> int:
    return sum(entry.status in RERUN_STATUSES for entry in known)


def _state_of(run: ViewedRun, done: int) -> str:
    """Whether a run is running, finished or interrupted; a results file is finished."""
    path = run.source.path
    if not path.is_dir():
        return "finished"
    if holder_of(path / LOCK) is not None:
        return "running"
    return "finished" if done >= len(run.source.planned) else "interrupted"
