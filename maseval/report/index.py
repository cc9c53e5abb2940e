"""The index of a page: one row for each simulation, grouped by task, and the facts of the run.

What the index says of a simulation is its *entry*. It is small, can be kept on the disk, and is
made once from a report, which may be many times larger.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from maseval.core.outcome import (
    OutcomeKind,
    TaskKey,
    kind_of,
    reward_of,
    spent,
    task_key,
    termination_of,
)
from maseval.core.shapes import Shape, entries, mapping, number, text, text_or_none
from maseval.report.drawings import drawing
from maseval.report.facts import Fact, facts_of, gathered
from maseval.report.results import success_rates, summary_table

_NOTE_LENGTH = 200

TaskFindings = Mapping[tuple[str, str], Sequence[tuple[str, str]]]
"""What is wrong with tasks, by domain and id: pairs of a name and an explanation."""


class Entry(NamedTuple):
    """What the index says of one simulation; ``at`` is where its report is.

    ``run`` is None unless reports name the run they belong to, and ``note`` is what its task is
    about.
    """

    at: int
    key: TaskKey
    trial: str
    run: str | None
    outcome: OutcomeKind
    status: str | None
    reward: float | None
    ended: str | None
    labels: tuple[str, ...]
    cost: float | None
    tokens: int
    seconds: float | None
    started: str
    note: str
    facts: tuple[Fact, ...]


def entry_of(report: Shape, at: int) -> Entry:
    """What the index says of a report."""
    used, status = spent(report), text_or_none(report.get("status"))
    return Entry(
        at,
        task_key(report),
        trial=text(report.get("repeat_idx", 0)),
        run=text(report["run"]) if "run" in report else None,
        outcome=kind_of(report),
        status=status,
        reward=reward_of(report),
        ended=termination_of(report) or status,
        labels=tuple(text(label) for label in entries(report.get("labels"))),
        cost=used.cost,
        tokens=used.tokens,
        seconds=number(report.get("duration_seconds")),
        started=text(report.get("started_at") or ""),
        note=_note(report),
        facts=tuple(facts_of(report)),
    )


def wish_of(report: Shape) -> str | None:
    """What the customer wants: as the report says, or the task that it brings along."""
    scenario = mapping(report, "task", "metadata", "user_scenario")
    told = mapping(scenario, "instructions").get("reason_for_call")
    return text_or_none(report.get("title") or told)


def _note(report: Shape) -> str:
    description = mapping(report, "task", "metadata", "description")
    query = mapping(report, "task").get("query")
    return text(wish_of(report) or description.get("purpose") or query or "")[:_NOTE_LENGTH]


Trials = Mapping[TaskKey, Sequence[tuple[str, Entry]]]
"""The simulations of each task, in the order of the page, each with the name of its trial."""


def by_task(known: Iterable[Entry]) -> Trials:
    """The simulations ordered by domain, task and trial."""
    tasks: dict[TaskKey, list[Entry]] = {}
    for entry in known:
        tasks.setdefault(entry.key, []).append(entry)
    runs = _runs(entry for trials in tasks.values() for entry in trials)
    return {key: _trials(tasks[key], runs) for key in sorted(tasks, key=_reading_order)}


def index_of(
    tasks: Trials,
    title: str,
    summary: Shape | None = None,
    plots: Iterable[str] = (),
    findings: TaskFindings | None = None,
    facts: Iterable[Fact] = (),
    benchmarks: Iterable[Shape] = (),
) -> dict[str, object]:
    """What a page knows at once; ``benchmarks`` are the settings that reports share."""
    known = [entry for trials in tasks.values() for _, entry in trials]
    runs = _runs(known)
    if summary is None:
        summary = success_rates((entry.key, entry.outcome) for entry in known)
    return {
        "title": title,
        "facts": gathered(
            (entry.started for entry in known),
            facts,
            (entry.facts for entry in known),
            benchmarks,
        ),
        "results": summary_table(summary),
        "plots": [drawing(plot) for plot in plots],
        "runs": runs,
        "tasks": [_task(key, trials[0][1], findings or {}) for key, trials in tasks.items()],
        "simulations": [
            row_of(entry, position, trial, runs)
            for position, trials in enumerate(tasks.values())
            for trial, entry in trials
        ],
    }


def row_of(entry: Entry, task: int, trial: str, runs: Sequence[str] = ()) -> dict[str, object]:
    """A simulation in the index: ``task`` is the position of its task there."""
    return {
        **({"run": runs.index(entry.run or "")} if runs else {}),
        "outcome": entry.outcome,
        "status": entry.status,
        "reward": entry.reward,
        "ended": entry.ended,
        "labels": list(entry.labels),
        "cost": entry.cost,
        "tokens": entry.tokens,
        "seconds": entry.seconds,
        "task": task,
        "trial": trial,
    }


def _reading_order(key: TaskKey) -> list[list[tuple[int, int, str]]]:
    """Numbers by value, so that task 10 comes after task 9."""
    return [
        [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in _parts(name)]
        for name in key
    ]


def _parts(name: str) -> list[str]:
    # Python refuses to read numbers of many thousand digits; so long a name is no number.
    return [part for part in re.split(r"(\d{1,18})", name) if part]


def _runs(known: Iterable[Entry]) -> list[str]:
    """The names of the runs, if there are several."""
    names = list(dict.fromkeys(entry.run for entry in known if entry.run is not None))
    return names if len(names) > 1 else []


def _trials(several: list[Entry], runs: list[str]) -> list[tuple[str, Entry]]:
    """Each simulation with the name of its trial; the same number twice becomes 0, 0-2."""
    named: dict[str, Entry] = {}
    for entry in sorted(several, key=lambda each: _number(each.trial)):
        name, times = entry.trial, 2
        if runs:
            name = f"{entry.run}.{name}"
        unique = name
        while unique in named:
            unique, times = f"{name}-{times}", times + 1
        named[unique] = entry
    return list(named.items())


def _number(trial: str) -> float:
    """The place of a trial among others; what is not a number comes first."""
    return float(trial) if trial.isdecimal() and trial.isascii() else 0.0


def _task(key: TaskKey, entry: Entry, findings: TaskFindings) -> dict[str, object]:
    shown: dict[str, object] = {"domain": key.group, "id": key.task, "note": entry.note}
    if found := findings.get(key):
        shown["findings"] = [{"name": name, "text": words} for name, words in found]
    return shown
