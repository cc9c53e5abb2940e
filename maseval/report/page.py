"""The page as data: an index of all simulations, and the details of each.

The index is read when the page opens; the details of a task's simulations lie in a packet of
their own, which the page unpacks when one of them is opened.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypedDict

from maseval.core.outcome import checked_report
from maseval.core.shapes import Shape, entries, mapping, text, text_or_none
from maseval.core.storage.redaction import redact, redact_text
from maseval.report.checks import shown_explanation, shown_verdicts, state_changes
from maseval.report.conversation import ShownMessage, conversation
from maseval.report.index import (
    Fact,
    TaskFindings,
    by_task,
    entry_of,
    index_of,
    task_title,
    usage_rows,
)
from maseval.report.results import ComparedTask
from maseval.report.simulations import is_simulation, report_of_simulation

Detail = dict[str, object]
"""The details of a simulation that the page shows, part by part."""


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
    """The index of the page, and the reports of each task in the order of the index."""

    index: dict[str, object]
    reports: Sequence[Sequence[NamedReport]]

    def packets(self) -> Iterator[Packet]:
        """Return the details of each task's simulations, made one task at a time."""
        return map(packet_of, self.reports)


def build_page(
    reports: Iterable[Shape],
    title: str,
    summary: Shape | None = None,
    plots: Iterable[str] = (),
    findings: TaskFindings | None = None,
    facts: Iterable[Fact] = (),
    compared: Sequence[ComparedTask] | None = None,
) -> Page:
    """Return the page of these reports, ordered by domain, task and trial."""
    known = [_check_report(report, f"reports[{i}]") for i, report in enumerate(reports)]
    tasks = by_task(entry_of(report, i) for i, report in enumerate(known))
    benchmarks = (mapping(each, "config", "benchmark") for each in known)
    index = index_of(tasks, title, summary, plots, findings, facts, benchmarks, compared)
    named = [[(name, known[entry.at]) for name, entry in trials] for trials in tasks.values()]
    return Page(index, named)


def _check_report(report: object, name: str) -> Shape:
    checked = checked_report(report, name)
    return report_of_simulation(checked) if is_simulation(checked) else checked


def packet_of(reports: Sequence[NamedReport]) -> Packet:
    """Return the details of one task's simulations, from its reports in order."""
    _, first = reports[0]
    trials = [
        _detail(each) if _same_task(each, first) else {**_task_detail(each), **_detail(each)}
        for _, each in reports
    ]
    return {"common": _task_detail(first), "names": [name for name, _ in reports], "trials": trials}


def _same_task(one: Shape, other: Shape) -> bool:
    """Return whether ``_task_detail`` is the same, without the trouble of writing it out."""
    try:
        return _task_parts(one) == _task_parts(other)
    except (ValueError, RecursionError):  # arrays, and what contains itself
        return False


def _task_parts(report: Shape) -> tuple[object, ...]:
    return report.get("task"), report.get("title"), mapping(report, "config").get("user")


def _task_detail(report: Shape) -> Detail:
    return {"wish": task_title(report), "task": _instructions(report)}


def _detail(report: Shape) -> Detail:
    messages = conversation(report)
    parts = {name: part(report, messages) for name, part in _PARTS.items()}
    return {name: part for name, part in parts.items() if part}


# To show something more of a simulation, add its part here and a section to the page's script.
_PARTS: dict[str, Callable[[Shape, list[ShownMessage]], object]] = {
    "error": lambda report, _: _error(mapping(report, "error")),
    "attempts": lambda report, _: [
        {"status": text(each.get("status")), "error": _error(mapping(each, "error"))}
        for each in map(mapping, entries(report.get("attempts")))
    ],
    "verdicts": shown_verdicts,
    "explanation": lambda report, _: shown_explanation(report),
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
