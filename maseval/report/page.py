"""The page as data: an index of all simulations, and what is shown when one is opened.

The index is read when the page opens; the details of a task's simulations lie in a packet of
their own, which the page unpacks when one of them is opened.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from maseval.core.exceptions import ConfigurationError
from maseval.core.storage.redaction import redact, redact_text
from maseval.report.checks import judged, state_changes
from maseval.report.conversation import Messages, conversation, simulation
from maseval.report.drawings import drawing
from maseval.report.explanation import explanation
from maseval.report.facts import run_facts, total_cost, usage_rows
from maseval.report.results import outcome, reward, success_rates, summary_table, verdicts
from maseval.report.shapes import Shape, entries, mapping, number, text, text_or_none

_NOTE_LENGTH = 200


@dataclass(frozen=True)
class Page:
    """What the page knows at once, and one packet of details for each task."""

    index: dict[str, Any]
    packets: list[list[dict[str, Any]]]


def build_page(
    reports: Iterable[Shape],
    title: str,
    summary: Shape | None = None,
    plots: Iterable[str] = (),
) -> Page:
    """The page of these reports, ordered by domain, task and trial."""
    known = [_checked(position, report) for position, report in enumerate(reports)]
    tasks = _by_task(known)
    rows = [
        {**_row(report), "task": position, "trial": trial}
        for position, trials in enumerate(tasks.values())
        for trial, report in _trials(trials)
    ]
    index = {
        "title": title,
        "facts": run_facts(known),
        "results": summary_table(_success_rates(tasks) if summary is None else summary),
        "plots": [drawing(plot) for plot in plots],
        "tasks": [_task(key, trials[0]) for key, trials in tasks.items()],
        "simulations": rows,
    }
    packets = [[_detail(report) for _, report in _trials(trials)] for trials in tasks.values()]
    return Page(index, packets)


def _checked(position: int, report: object) -> Shape:
    if isinstance(report, Mapping) and report.get("task_id") is not None:
        return report
    raise ConfigurationError(
        f"reports[{position}] is {str(report)[:80]!r}, not a report with a task_id; "
        "give what benchmark.run() or read_reports() returned"
    )


TaskKey = tuple[str, str]
Tasks = dict[TaskKey, list[Shape]]


def _by_task(reports: list[Shape]) -> Tasks:
    tasks: Tasks = {}
    for report in reports:
        tasks.setdefault((_domain(report), text(report["task_id"])), []).append(report)
    return dict(sorted(tasks.items(), key=lambda item: _reading_order(item[0])))


def _domain(report: Shape) -> str:
    domain = mapping(report, "task", "metadata").get("domain")
    return text(
        mapping(report, "traces", "environment").get("domain", "") if domain is None else domain
    )


def _reading_order(key: TaskKey) -> list[list[tuple[int, int, str]]]:
    """Numbers by value, so that task 10 comes after task 9."""
    return [
        [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in _parts(name)]
        for name in key
    ]


def _parts(name: str) -> list[str]:
    # Python refuses to read numbers of many thousand digits; so long a name is no number.
    return [part for part in re.split(r"(\d{1,18})", name) if part]


def _trials(reports: list[Shape]) -> list[tuple[str, Shape]]:
    """Each report with the name of its trial; the same number twice becomes 0, 0-2."""
    named: dict[str, Shape] = {}
    for report in sorted(reports, key=lambda each: number(each.get("repeat_idx")) or 0):
        name, times = text(report.get("repeat_idx", 0)), 2
        unique = name
        while unique in named:
            unique, times = f"{name}-{times}", times + 1
        named[unique] = report
    return list(named.items())


def _success_rates(tasks: Tasks) -> dict[str, Any]:
    domains: dict[str, list[Any]] = {}
    for key, reports in tasks.items():
        domains.setdefault(key[0], []).extend((key, outcome(report)) for report in reports)
    overall = ("all", [counted for each in domains.values() for counted in each])
    return success_rates([*domains.items(), overall] if len(domains) > 1 else [overall])


def _task(key: TaskKey, report: Shape) -> dict[str, Any]:
    description = mapping(report, "task", "metadata", "description")
    note = description.get("purpose") or mapping(report, "task").get("query") or ""
    return {"domain": key[0], "id": key[1], "note": text(note)[:_NOTE_LENGTH]}


def _row(report: Shape) -> dict[str, Any]:
    return {
        "outcome": outcome(report),
        "status": text_or_none(report.get("status")),
        "reward": reward(report),
        "ended": _ended(report),
        "labels": [text(label) for label in entries(report.get("labels"))],
        "cost": total_cost(report),
        "seconds": number(report.get("duration_seconds")),
    }


def _ended(report: Shape) -> str | None:
    """Why the conversation was over; where nobody says so, how the repetition ended."""
    reasons = [each.get("termination_reason") for each in verdicts(report)]
    known = [simulation(report).get("termination_reason"), *reasons, report.get("status")]
    return next((text(reason) for reason in known if reason), None)


def _detail(report: Shape) -> dict[str, Any]:
    messages = conversation(report)
    parts = {name: part(report, messages) for name, part in _PARTS.items()}
    return {name: part for name, part in parts.items() if part}


# To show something more of a simulation, add its part here and a section to the page's script.
_PARTS: dict[str, Callable[[Shape, Messages], object]] = {
    "error": lambda report, _: _error(mapping(report, "error")),
    "attempts": lambda report, _: [_attempt(mapping(e)) for e in entries(report.get("attempts"))],
    "verdicts": judged,
    "explanation": lambda report, _: explanation(report),
    "state": lambda report, _: state_changes(report),
    "task": lambda report, _: _instructions(report),
    "messages": lambda _, messages: messages,
    "answer": lambda report, messages: (
        None if messages else text_or_none(report.get("final_answer"))
    ),
    "usage": lambda report, _: usage_rows(report),
    "record": lambda report, _: _record(report),
}


def _error(error: Shape) -> dict[str, Any] | None:
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


def _attempt(attempt: Shape) -> dict[str, Any]:
    return {"status": text(attempt.get("status")), "error": _error(mapping(attempt, "error"))}


def _instructions(report: Shape) -> list[tuple[str, str]]:
    task = mapping(report, "task")
    metadata = {key: value for key, value in mapping(task, "metadata").items() if value is not None}
    told = [
        ("Query", text_or_none(task.get("query"))),
        ("What the user was told", text_or_none(mapping(report, "config", "user").get("scenario"))),
        ("Metadata", text(metadata) if metadata else None),
    ]
    return [(name, words) for name, words in told if words]


def _record(report: Shape) -> list[tuple[str, str]]:
    models = mapping(report, "config", "models")
    known = [
        ("Status", report.get("status")),
        ("Started", report.get("started_at")),
        ("Seed", report.get("seed")),
        ("Run", report.get("run_id")),
        *((f"Model: {name}", mapping(model).get("model_id")) for name, model in models.items()),
    ]
    return [(name, redact_text(text(value))) for name, value in known if value is not None]
