"""A run in numbers: its row in the list of all runs, and its state at one moment.

Progress and scores come from the log; what a running run does now comes from its ``live.json``.
"""

from collections.abc import Mapping
from dataclasses import replace

from maseval.core.recorded import mapping
from maseval.runs import RunState
from maseval.runs.config import cell_of, mark_of, names_of_side
from maseval.runs.config_file import LOCK
from maseval.runs.listing import change_time
from maseval.runs.lock import holder_of, read_live
from maseval.view.viewed import ViewedRun

_NUMBERS = ("done", "failed", "planned", "cost", "tokens")

RunRow = Mapping[str, object]
"""One run in the list of all, as JSON: costs are in usd, and ``estimate`` is set if the tasks were
chosen, or the run stopped early, and says so."""


def row_of(name: str, run: RunState) -> RunRow:
    """Return the row of a run or results file."""
    config = run.config or {}
    agent, user = (names_of_side(config.get(side)) for side in ("agent", "user"))
    return {
        **{key: getattr(run, key) for key in (*_NUMBERS, "state", "started", "updated", "problem")},
        "name": name,
        "kind": "run" if run.path.is_dir() else "results",
        "pass_1": run.recomputed or run.pass_1,
        "cell": cell_of(config) or None,
        "estimate": mark_of(config),
        "models": list(dict.fromkeys([*agent, *user])),
        "agent": ", ".join(agent),
        "user": ", ".join(user),
        "domains": [str(name) for name in mapping(config, "tasks") if name],
        "doubt": run.doubt if run.unconfirmed else None,
        "tags": list(run.annotations.tags),
        "note": run.annotations.note,
    }


def counted(state: RunState, run: ViewedRun) -> RunState:
    """Return the state of a run with the numbers of all that was read of it by now."""
    planned, config = len(run.source.planned), run.source.config.values
    pass_1 = run.pass_1()
    return replace(state, **run.tally(), planned=planned, config=config, pass_1=pass_1)


def state_of(run: ViewedRun) -> RunState:
    """Return the state of a run by what was read of it; that of a results file, whole."""
    path = run.source.path
    found = counted(RunState(path, "incomplete"), run)
    if path.is_dir() and holder_of(path / LOCK) is not None:
        return replace(found, state="running")
    if getattr(run.source, "damage", ()):
        return replace(found, state="damaged")
    # A run is complete when every trial has a verdict, not only a report.
    judged = 0 if found.pass_1 is None else found.pass_1.get("verdicts", found.planned)
    return replace(found, state="complete" if judged >= found.planned else "incomplete")


def state_of_file(run: ViewedRun) -> RunState:
    """Return what the list shows of a results file that was judged."""
    started = min((entry.started for entry in run.entries() if entry.started), default="")
    updated = change_time(run.source.path)
    return replace(state_of(run), started=started, updated=updated, doubt=run.doubt)


def live_of(run: ViewedRun) -> dict[str, object]:
    """Return the progress of a run; what is in flight only while it is running."""
    found, path = state_of(run), run.source.path
    now = read_live(path) if path.is_dir() else None
    cost, tokens = found.cost, found.tokens or 0
    return {
        **{key: getattr(found, key) for key in ("state", "done", "failed", "planned")},
        # What is in flight was paid for as well, which only the run itself knows.
        "cost": max(cost or 0.0, now["cost"]) or cost if now else cost,
        "tokens": max(tokens, now["tokens"]) if now else tokens,
        "in_flight": now["in_flight"] if now else [],
        "elapsed": now.get("elapsed") if now else None,
        "left": now.get("left") if now else None,
        "labelled": run.labelled,
        "doubted": run.doubted,
    }
