"""The page as data: an index of all simulations, and what is shown when one is opened.

The index is read when the page opens; the details of a task's simulations lie in a packet of
their own, which the page unpacks when one of them is opened.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypedDict

from maseval.core.outcome import (
    TaskKey,
    checked_report,
    kind_of,
    reward_of,
    spent,
    task_key,
    termination_of,
)
from maseval.core.shapes import Shape, entries, mapping, number, text, text_or_none
from maseval.core.storage.redaction import redact, redact_text
from maseval.report.checks import judged, state_changes
from maseval.report.conversation import ShownMessage, conversation
from maseval.report.drawings import drawing
from maseval.report.explanation import explanation
from maseval.report.facts import Fact, run_facts, usage_rows
from maseval.report.results import success_rates, summary_table
from maseval.report.simulations import is_simulation, report_of_simulation

_NOTE_LENGTH = 200

TaskFindings = Mapping[tuple[str, str], Sequence[tuple[str, str]]]
"""What is wrong with tasks, by domain and id: pairs of a name and an explanation."""


Detail = dict[str, object]
"""What is shown of a simulation, part by part."""


class Packet(TypedDict):
    """The details of a task's trials in order, and apart from them what they have in common.

    ``names`` are those of the trials: while a run goes on, a packet may hold more of them than an
    index that was read before.
    """

    common: Detail
    names: list[str]
    trials: list[Detail]


NamedReport = tuple[str, Shape]
"""A report with the name of its trial."""


@dataclass(frozen=True)
class Page:
    """What the page knows at once, and the reports of each task, in its order."""

    index: dict[str, object]
    reports: Sequence[Sequence[NamedReport]]

    def packets(self) -> Iterator[Packet]:
        """The details of each task's simulations, made one task at a time."""
        return map(_packet, self.reports)

    def packet(self, position: int) -> Packet:
        """The details of one task's simulations."""
        return _packet(self.reports[position])


def build_page(
    reports: Iterable[Shape],
    title: str,
    summary: Shape | None = None,
    plots: Iterable[str] = (),
    findings: TaskFindings | None = None,
    facts: Iterable[Fact] = (),
) -> Page:
    """The page of these reports, ordered by domain, task and trial."""
    known = [_known(report, f"reports[{i}]") for i, report in enumerate(reports)]
    runs = _runs(known)
    tasks = {key: _trials(trials, runs) for key, trials in _by_task(known).items()}
    rows = [
        {**_row(report, runs), "task": position, "trial": trial}
        for position, trials in enumerate(tasks.values())
        for trial, report in trials
    ]
    ordered = [report for trials in tasks.values() for _, report in trials]
    index: dict[str, object] = {
        "title": title,
        "facts": run_facts(known, facts),
        "results": summary_table(success_rates(ordered) if summary is None else summary),
        "plots": [drawing(plot) for plot in plots],
        "runs": runs,
        "tasks": [_task(key, trials[0][1], findings or {}) for key, trials in tasks.items()],
        "simulations": rows,
    }
    return Page(index, list(tasks.values()))


def _known(report: object, name: str) -> Shape:
    checked = checked_report(report, name)
    return report_of_simulation(checked) if is_simulation(checked) else checked


def _by_task(reports: list[Shape]) -> dict[TaskKey, list[Shape]]:
    tasks: dict[TaskKey, list[Shape]] = {}
    for report in reports:
        tasks.setdefault(task_key(report), []).append(report)
    return dict(sorted(tasks.items(), key=lambda item: _reading_order(item[0])))


def _reading_order(key: TaskKey) -> list[list[tuple[int, int, str]]]:
    """Numbers by value, so that task 10 comes after task 9."""
    return [
        [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in _parts(name)]
        for name in key
    ]


def _parts(name: str) -> list[str]:
    # Python refuses to read numbers of many thousand digits; so long a name is no number.
    return [part for part in re.split(r"(\d{1,18})", name) if part]


def _runs(reports: Iterable[Shape]) -> list[str]:
    """The names of the runs, if there are several."""
    names = list(dict.fromkeys(text(report["run"]) for report in reports if "run" in report))
    return names if len(names) > 1 else []


def _trials(reports: list[Shape], runs: list[str]) -> list[NamedReport]:
    """Each report with the name of its trial; the same number twice becomes 0, 0-2."""
    named: dict[str, Shape] = {}
    for report in sorted(reports, key=lambda each: number(each.get("repeat_idx")) or 0):
        name, times = text(report.get("repeat_idx", 0)), 2
        if runs:
            name = f"{report.get('run')}.{name}"
        unique = name
        while unique in named:
            unique, times = f"{name}-{times}", times + 1
        named[unique] = report
    return list(named.items())


def _task(key: TaskKey, report: Shape, findings: TaskFindings) -> dict[str, object]:
    description = mapping(report, "task", "metadata", "description")
    query = mapping(report, "task").get("query")
    note = _wish(report) or description.get("purpose") or query or ""
    shown: dict[str, object] = {
        "domain": key.group,
        "id": key.task,
        "note": text(note)[:_NOTE_LENGTH],
    }
    if found := findings.get(key):
        shown["findings"] = [{"name": name, "text": words} for name, words in found]
    return shown


def _wish(report: Shape) -> str | None:
    """What the customer wants: as the report says, or the task that it brings along."""
    scenario = mapping(report, "task", "metadata", "user_scenario")
    told = mapping(scenario, "instructions").get("reason_for_call")
    return text_or_none(report.get("title") or told)


def _row(report: Shape, runs: list[str]) -> dict[str, object]:
    used = spent(report)
    return {
        **({"run": runs.index(text(report.get("run")))} if runs else {}),
        "outcome": kind_of(report),
        "status": text_or_none(report.get("status")),
        "reward": reward_of(report),
        "ended": termination_of(report) or text_or_none(report.get("status")),
        "labels": [text(label) for label in entries(report.get("labels"))],
        "cost": used.cost,
        "tokens": used.tokens,
        "seconds": number(report.get("duration_seconds")),
    }


def _packet(reports: Sequence[NamedReport]) -> Packet:
    _, first = reports[0]
    trials = [
        _detail(each) if _same_task(each, first) else {**_of_task(each), **_detail(each)}
        for _, each in reports
    ]
    return {"common": _of_task(first), "names": [name for name, _ in reports], "trials": trials}


def _same_task(one: Shape, other: Shape) -> bool:
    """Whether ``_of_task`` is the same, without the trouble of writing it out."""
    try:
        return _told(one) == _told(other)
    except (ValueError, RecursionError):  # arrays, and what contains itself
        return False


def _told(report: Shape) -> tuple[object, ...]:
    return report.get("task"), report.get("title"), mapping(report, "config").get("user")


def _of_task(report: Shape) -> Detail:
    return {"wish": _wish(report), "task": _instructions(report)}


def _detail(report: Shape) -> Detail:
    messages = conversation(report)
    parts = {name: part(report, messages) for name, part in _PARTS.items()}
    return {name: part for name, part in parts.items() if part}


# To show something more of a simulation, add its part here and a section to the page's script.
_PARTS: dict[str, Callable[[Shape, list[ShownMessage]], object]] = {
    "error": lambda report, _: _error(mapping(report, "error")),
    "attempts": lambda report, _: [_attempt(mapping(e)) for e in entries(report.get("attempts"))],
    "verdicts": judged,
    "explanation": lambda report, _: explanation(report),
    "state": lambda report, _: state_changes(report),
    "messages": lambda _, messages: messages,
    "answer": lambda report, messages: (
        None if messages else text_or_none(report.get("final_answer"))
    ),
    "usage": lambda report, _: usage_rows(report),
    "record": lambda report, _: _record(report),
}


def _error(error: Shape) -> dict[str, object] | None:
    if not error:
        return None
    shown = ("error_type", "error_message", "traceback")
    more = {key: value for key, value in error.items() if key not in shown and value}
    return {
        "type": text(error.get("error_type", "Error")),
        "message": text(error.get("error_message", "")),
        "traceback": text_or_none(error.get("traceback")),
        "more": text(redact(more)) if more else None,
    }


def _attempt(attempt: Shape) -> dict[str, object]:
    return {"status": text(attempt.get("status")), "error": _error(mapping(attempt, "error"))}


def _instructions(report: Shape) -> list[tuple[str, str]]:
    task = mapping(report, "task")
    metadata = {key: value for key, value in mapping(task, "metadata").items() if value is not None}
    shown = [
        ("Query", text_or_none(task.get("query"))),
        ("User instructions", text_or_none(mapping(report, "config", "user").get("scenario"))),
        ("Metadata", text(metadata) if metadata else None),
    ]
    return [(name, words) for name, words in shown if words]


def _record(report: Shape) -> list[tuple[str, str]]:
    models = mapping(report, "config", "models")
    known = [
        ("Status", report.get("status")),
        ("Started", report.get("started_at")),
        ("Seed", report.get("seed")),
        ("Run", report.get("run_id")),
        *((f"Model: {name}", mapping(model).get("model_id")) for name, model in models.items()),
    ]
    return [(name, _redacted(text(value))) for name, value in known if value is not None]


# The names of a run and of its models are the same in thousands of reports.
_redacted = lru_cache(maxsize=256)(redact_text)
