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


_NO_NUMBERS: Numbers = {
    "pass_1": None,
    "estimate": None,
    "done": 0,
    "failed": 0,
    "planned": 0,
    "cost": None,
    "tokens": None,
}


class RunRow(Numbers):
    """One run in the list of all."""

    name: str
    kind: str
    state: str
    models: list[str]
    agent: str
    user: str
    domains: list[str]
    started: str
    updated: str
    tags: list[str]
    note: str | None
    problem: str | None
    doubt: RunDoubt | None


def row_of_folder(name: str, state: RunState) -> RunRow:
    """Return a run folder, by what its files say."""
    config = state.config or {}
    return {
        "name": name,
        "kind": "run",
        "state": state.state,
        "pass_1": state.recomputed or state.pass_1,
        "estimate": mark_of(config),
        "done": state.done,
        "failed": state.failed,
        "planned": state.planned,
        "cost": state.cost,
        "tokens": state.tokens,
        "models": _models(config),
        "agent": _side(config, "agent"),
        "user": _side(config, "user"),
        "domains": _domains(config),
        "started": state.started,
        "updated": state.updated,
        "tags": list(state.annotations.tags),
        "note": state.annotations.note,
        "problem": state.problem,
        "doubt": recall_check(state.path / LOG) if state.unconfirmed else None,
    }


class FileSummary(TypedDict):
    """The numbers of a results file, known once everything in it was judged."""

    numbers: Numbers
    models: list[str]
    agent: str
    user: str
    domains: list[str]
    started: str
    doubt: RunDoubt | None


def row_of_file(name: str, path: Path, judged: FileSummary | None, problem: str | None) -> RunRow:
    """Return a results file; without numbers until it was judged."""
    annotations, damage = annotations_or_problem(path)
    numbers = _NO_NUMBERS if judged is None else judged["numbers"]
    return {
        "name": name,
        "kind": "results",
        "state": "damaged" if problem else _condition(numbers) if judged else "reading",
        **numbers,
        "models": judged["models"] if judged else [],
        "agent": judged["agent"] if judged else "",
        "user": judged["user"] if judged else "",
        "domains": judged["domains"] if judged else [],
        "started": judged["started"] if judged else "",
        "updated": changed_at(path),
        "tags": list(annotations.tags),
        "note": annotations.note,
        "problem": problem or damage,
        "doubt": judged["doubt"] if judged else None,
    }


def summary_of(run: ViewedRun) -> FileSummary:
    config = run.source.config.values
    started = min((entry.started for entry in run.entries() if entry.started), default="")
    return {
        "numbers": numbers_of(run),
        "models": _models(config),
        "agent": _side(config, "agent"),
        "user": _side(config, "user"),
        "domains": _domains(config),
        "started": started,
        "doubt": run.doubt,
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


def _models(config: Mapping[str, Any]) -> list[str]:
    """Return the agent and the user: a model's name, or what plays it."""
    return list(dict.fromkeys([*_names(config, "agent"), *_names(config, "user")]))


def _side(config: Mapping[str, Any], side: str) -> str:
    return ", ".join(_names(config, side))


def _names(config: Mapping[str, Any], side: str) -> list[str]:
    given = config.get(side)
    named = mapping(given)
    names = [str(named[kind]) for kind in _NAMES if named.get(kind)]
    return [given] if isinstance(given, str) else names


def _domains(config: Mapping[str, Any]) -> list[str]:
    return [str(name) for name in mapping(config, "tasks") if name]


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
    now = read_live(path) if path.is_dir() else None
    running = path.is_dir() and holder_of(path / LOCK) is not None
    cost, tokens = numbers["cost"], numbers["tokens"] or 0
    return {
        "state": "running" if running else _condition(numbers),
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
