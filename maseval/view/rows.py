"""A run in numbers: its row in the list of all runs, and its state at one moment.

Progress and scores come from the log; what a running run does now comes from its ``live.json``.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from maseval.core.recorded import mapping
from maseval.runs import RunState
from maseval.runs.annotations import Annotations, annotations_or_problem
from maseval.runs.config import cell_of, mark_of
from maseval.runs.config_file import LOCK, LOG
from maseval.runs.lock import holder_of, read_live
from maseval.runs.verdict_check import RunDoubt, recall_check
from maseval.view.viewed import ViewedRun

_NAMES = ("function", "model", "model_id", "player")
_COUNTS = ("done", "failed", "planned", "cost", "tokens")
_UNKNOWN = {**dict.fromkeys(_COUNTS[:3], 0), "cost": None, "tokens": None, "pass_1": None}

RunFacts = dict[str, Any]
"""All of a row that does not change with the file's name and what people wrote about it.

Costs are in usd. ``estimate`` is set if the tasks were chosen, or the run stopped early, and says
so. Of a results file all is known once everything in it was judged.
"""

RunRow = dict[str, Any]
"""One run in the list of all."""


def row_of_folder(name: str, state: RunState) -> RunRow:
    """Return a run folder, by what its files say."""
    numbers = {key: getattr(state, key) for key in _COUNTS}
    numbers["pass_1"] = state.recomputed or state.pass_1
    doubt = recall_check(state.path / LOG) if state.unconfirmed else None
    return {
        **_facts(numbers, state.config or {}, state.started, doubt),
        **{"name": name, "kind": "run", "state": state.state, "updated": state.updated},
        **_remarks(state.annotations),
        "problem": state.problem,
    }


def row_of_file(name: str, path: Path, judged: RunFacts | None, problem: str | None) -> RunRow:
    """Return a results file; without numbers until it was judged."""
    annotations, damage = annotations_or_problem(path)
    state = "damaged" if problem else _condition(judged) if judged else "reading"
    return {
        **(judged or _facts(_UNKNOWN, {}, "", None)),
        **{"name": name, "kind": "results", "state": state, "updated": changed_at(path)},
        **_remarks(annotations),
        "problem": problem or damage,
    }


def _remarks(annotations: Annotations) -> RunFacts:
    return {"tags": list(annotations.tags), "note": annotations.note}


def facts_of(run: ViewedRun) -> RunFacts:
    """Return what the list shows of a results file."""
    started = min((entry.started for entry in run.entries() if entry.started), default="")
    return _facts(numbers_of(run), run.source.config.values, started, run.doubt)


def _facts(
    numbers: RunFacts, config: Mapping[str, Any], started: str, doubt: RunDoubt | None
) -> RunFacts:
    agent, user = (_names(config.get(side)) for side in ("agent", "user"))
    return {
        **numbers,
        "cell": cell_of(config) or None,
        "estimate": mark_of(config),
        "models": list(dict.fromkeys([*agent, *user])),
        "agent": ", ".join(agent),
        "user": ", ".join(user),
        "domains": [str(name) for name in mapping(config, "tasks") if name],
        "started": started,
        "doubt": doubt,
    }


def _names(given: object) -> list[str]:
    """Return a model's name, or what plays a side."""
    named = mapping(given)
    names = [str(named[kind]) for kind in _NAMES if named.get(kind)]
    return [given] if isinstance(given, str) else names


def numbers_of(run: ViewedRun) -> RunFacts:
    """Return the progress and the score of a run."""
    planned, estimate = len(run.source.planned), mark_of(run.source.config.values)
    return {
        **run.tally(),
        **{"planned": planned, "pass_1": run.pass_1(), "estimate": estimate},
    }


def changed_at(path: Path) -> str:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime).isoformat()
    except OSError:
        return ""


def live_of(run: ViewedRun) -> dict[str, Any]:
    """Return the progress of a run; what is in flight only while it is running."""
    path, numbers = run.source.path, numbers_of(run)
    ended = "damaged" if getattr(run.source, "damage", ()) else _condition(numbers)
    now = read_live(path) if path.is_dir() else None
    running = path.is_dir() and holder_of(path / LOCK) is not None
    cost, tokens = numbers["cost"], numbers["tokens"]
    return {
        "state": "running" if running else ended,
        **{key: numbers[key] for key in ("done", "failed", "planned")},
        # What is in flight was paid for as well, which only the run itself knows.
        "cost": max(cost or 0.0, now["cost"]) or cost if now else cost,
        "tokens": max(tokens, now["tokens"]) if now else tokens,
        "in_flight": now["in_flight"] if now else [],
        "elapsed": now.get("elapsed") if now else None,
        "left": now.get("left") if now else None,
        "labelled": run.labelled,
        "doubted": run.doubted,
    }


def _condition(numbers: RunFacts) -> str:
    """Return "complete" if every planned simulation has a verdict, else "incomplete"."""
    score, planned = numbers["pass_1"], numbers["planned"]
    judged = 0 if score is None else score.get("verdicts", planned)
    return "complete" if judged >= planned else "incomplete"
