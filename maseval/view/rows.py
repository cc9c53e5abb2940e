"""A run in numbers: its row in the list of all runs, and its state at one moment.

Progress and scores come from the log; what a running run does now comes from its ``live.json``.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TypedDict

from maseval.core.outcome import Score
from maseval.core.recorded import mapping
from maseval.runs import RunState
from maseval.runs.annotations import annotations_or_problem
from maseval.runs.config import mark_of
from maseval.runs.config_file import LOCK, LOG
from maseval.runs.live import InFlight, read_live
from maseval.runs.lock import holder_of
from maseval.runs.verdict_check import RunDoubt, recall_check
from maseval.view.viewed import ViewedRun

_NAMES = ("function", "model", "model_id", "player")


class Numbers(TypedDict):
    """The progress and the score of a run; costs are in usd.

    ``estimate`` is set if the tasks were chosen, or the run stopped early, and says so.
    """

    pass_1: Score | None
    estimate: str | None
    done: int
    failed: int
    planned: int
    cost: float | None
    tokens: int | None


class RunFacts(Numbers):
    """All of a row that does not change with the file's name and what people wrote about it.

    Of a results file it is known once everything in it was judged.
    """

    models: list[str]
    agent: str
    user: str
    domains: list[str]
    started: str
    doubt: RunDoubt | None


_UNKNOWN: RunFacts = {
    "pass_1": None,
    "estimate": None,
    "done": 0,
    "failed": 0,
    "planned": 0,
    "cost": None,
    "tokens": None,
    "models": [],
    "agent": "",
    "user": "",
    "domains": [],
    "started": "",
    "doubt": None,
}


class RunRow(RunFacts):
    """One run in the list of all."""

    name: str
    kind: str
    state: str
    updated: str
    tags: list[str]
    note: str | None
    problem: str | None


def row_of_folder(name: str, state: RunState) -> RunRow:
    """Return a run folder, by what its files say."""
    numbers: Numbers = {
        "pass_1": state.recomputed or state.pass_1,
        "estimate": mark_of(state.config or {}),
        "done": state.done,
        "failed": state.failed,
        "planned": state.planned,
        "cost": state.cost,
        "tokens": state.tokens,
    }
    doubt = recall_check(state.path / LOG) if state.unconfirmed else None
    return {
        **_facts(numbers, state.config or {}, state.started, doubt),
        "name": name,
        "kind": "run",
        "state": state.state,
        "updated": state.updated,
        "tags": list(state.annotations.tags),
        "note": state.annotations.note,
        "problem": state.problem,
    }


def row_of_file(name: str, path: Path, judged: RunFacts | None, problem: str | None) -> RunRow:
    """Return a results file; without numbers until it was judged."""
    annotations, damage = annotations_or_problem(path)
    return {
        **(judged or _UNKNOWN),
        "name": name,
        "kind": "results",
        "state": "damaged" if problem else _condition(judged) if judged else "reading",
        "updated": changed_at(path),
        "tags": list(annotations.tags),
        "note": annotations.note,
        "problem": problem or damage,
    }


def facts_of(run: ViewedRun) -> RunFacts:
    """Return what the list shows of a results file."""
    started = min((entry.started for entry in run.entries() if entry.started), default="")
    return _facts(numbers_of(run), run.source.config.values, started, run.doubt)


def _facts(
    numbers: Numbers, config: Mapping[str, Any], started: str, doubt: RunDoubt | None
) -> RunFacts:
    sides = {side: _names(config, side) for side in ("agent", "user")}
    return {
        **numbers,
        # A model's name, or what plays that side.
        "models": list(dict.fromkeys([*sides["agent"], *sides["user"]])),
        "agent": ", ".join(sides["agent"]),
        "user": ", ".join(sides["user"]),
        "domains": [str(name) for name in mapping(config, "tasks") if name],
        "started": started,
        "doubt": doubt,
    }


def numbers_of(run: ViewedRun) -> Numbers:
    known = run.tally()
    return {
        "pass_1": run.scores().get(1),
        "estimate": mark_of(run.source.config.values),
        "done": known.done,
        "failed": known.failed,
        "planned": len(run.source.planned),
        "cost": known.cost,
        "tokens": known.tokens,
    }


def changed_at(path: Path) -> str:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime).isoformat()
    except OSError:
        return ""


def _names(config: Mapping[str, Any], side: str) -> list[str]:
    given = config.get(side)
    named = mapping(given)
    names = [str(named[kind]) for kind in _NAMES if named.get(kind)]
    return [given] if isinstance(given, str) else names


class Live(TypedDict):
    """The progress of a run; rate limits and ``in_flight`` are of this moment, if it is running.

    ``labelled`` is the number of simulations whose labels are known.
    """

    state: str
    done: int
    failed: int
    planned: int
    pass_k: dict[str, Score]
    estimate: str | None
    cost: float | None
    tokens: int
    rate_limits: int | None
    in_flight: list[InFlight]
    elapsed: float | None
    left: float | None
    labelled: int
    doubted: int


def live_of(run: ViewedRun) -> Live:
    path, numbers = run.source.path, numbers_of(run)
    ended = "damaged" if getattr(run.source, "damage", ()) else _condition(numbers)
    now = read_live(path) if path.is_dir() else None
    running = path.is_dir() and holder_of(path / LOCK) is not None
    cost, tokens = numbers["cost"], numbers["tokens"] or 0
    return {
        "state": "running" if running else ended,
        "done": numbers["done"],
        "failed": numbers["failed"],
        "planned": numbers["planned"],
        "pass_k": {str(k): score for k, score in run.scores().items()},
        "estimate": numbers["estimate"],
        # What is in flight was paid for as well, which only the run itself knows.
        "cost": max(cost or 0.0, now["cost"]) or cost if now else cost,
        "tokens": max(tokens, now["tokens"]) if now else tokens,
        "rate_limits": now["rate_limits"] if now else None,
        "in_flight": now["in_flight"] if now else [],
        "elapsed": now.get("elapsed") if now else None,
        "left": now.get("left") if now else None,
        "labelled": run.labelled,
        "doubted": run.doubted,
    }


def _condition(numbers: Numbers) -> str:
    """Return "complete" if every planned simulation has a verdict, else "incomplete"."""
    score, planned = numbers["pass_1"], numbers["planned"]
    judged = 0 if score is None else score.get("verdicts", planned)
    return "complete" if judged >= planned else "incomplete"
