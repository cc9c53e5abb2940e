"""The page as data: an index of all simulations, and the details of each.

The index is read when the page opens; the details of a task's simulations lie in a packet of
their own, which the page unpacks when one of them is opened.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypedDict

from maseval.core.outcome import RecordedError, RecordedReport, parse_report
from maseval.core.recorded import Shape, entries, mapping
from maseval.core.storage.redaction import redact, redact_text
from maseval.core.words import text, text_or_none
from maseval.report.checks import shown_explanation, shown_verdicts, state_changes
from maseval.report.conversation import ShownMessage, conversation
from maseval.report.index import Overview, by_task, entry_of, index_of, task_title, usage_rows

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

TimelineOf = Callable[[Shape], Shape | None]
"""Returns the state of a simulation's world after each message, if its benchmark has one."""


@dataclass(frozen=True)
class Page:
    """The index of the page, and the reports of each task in the order of the index."""

    index: dict[str, object]
    reports: Sequence[Sequence[NamedReport]]
    timeline: TimelineOf

    def packets(self) -> Iterator[Packet]:
        """Return the details of each task's simulations, made one task at a time."""
        return (packet_of(each, self.timeline) for each in self.reports)


def build_page(
    reports: Iterable[Shape],
    title: str,
    parts: Overview = Overview(),  # noqa: B008 - it cannot change
    timeline: TimelineOf = lambda report: None,
) -> Page:
    """Return the page of these reports, ordered by domain, task and trial."""
    known = [parse_report(report, f"reports[{i}]").raw for i, report in enumerate(reports)]
    # Parsed anew for each use: what was read of thousands of reports would fill the memory.
    every = (entry_of(RecordedReport(report), i) for i, report in enumerate(known))
    tasks = by_task(every, parts.unrecorded or ())
    remarks = {
        at: list(map(mapping, entries(each.get("remarks")))) for at, each in enumerate(known)
    }
    benchmarks = (RecordedReport(each).benchmark for each in known)
    index = index_of(tasks, title, parts._replace(benchmarks=benchmarks), remarks)
    named = [[(name, known[entry.at]) for name, entry in trials] for trials in tasks.values()]
    return Page(index, named, timeline)


def packet_of(reports: Sequence[NamedReport], timeline: TimelineOf = lambda report: None) -> Packet:
    """Return the details of one task's simulations, from its reports in order."""
    if not reports:  # planned, and not run yet
        return {"common": {}, "names": [], "trials": []}
    parsed = [RecordedReport(report) for _, report in reports]
    first = parsed[0]
    trials = []
    for each in parsed:
        own = {} if _same_task(each, first) else _task_detail(each)
        found = timeline(each.raw)
        trials.append({**own, **_detail(each), **({"timeline": found} if found else {})})
    return {"common": _task_detail(first), "names": [name for name, _ in reports], "trials": trials}


def _same_task(one: RecordedReport, other: RecordedReport) -> bool:
    """Return whether ``_task_detail`` is the same, without the trouble of writing it out."""
    try:
        return _task_parts(one) == _task_parts(other)
    except (ValueError, RecursionError):  # arrays, and what contains itself
        return False


def _task_parts(report: RecordedReport) -> tuple[object, ...]:
    return report.raw.get("task"), report.title, report.user_scenario


def _task_detail(report: RecordedReport) -> Detail:
    return {"wish": task_title(report), "task": _instructions(report)}


def _detail(report: RecordedReport) -> Detail:
    messages = conversation(report)
    parts = {name: part(report, messages) for name, part in _PARTS.items()}
    return {name: part for name, part in parts.items() if part}


# To show something more of a simulation, add its part here and a section to the page's script.
_PARTS: dict[str, Callable[[RecordedReport, list[ShownMessage]], object]] = {
    "doubt": lambda report, _: text_or_none(report.raw.get("doubt")),
    "policy": lambda report, _: text_or_none(report.settings.get("policy_sha256")),
    "error": lambda report, _: _error(report.error),
    "attempts": lambda report, _: [
        {"status": text(each.status), "error": _error(each.error)} for each in report.attempts
    ],
    "verdicts": shown_verdicts,
    "explanation": lambda report, _: shown_explanation(report),
    "state": lambda report, _: state_changes(report),
    "messages": lambda _, messages: messages,
    "answer": lambda report, messages: None if messages else text_or_none(report.final_answer),
    "usage": lambda report, _: usage_rows(report),
    "team": lambda report, _: [each._asdict() for each in report.work()],
    "record": lambda report, _: _record(report),
}


def _error(error: RecordedError) -> dict[str, object] | None:
    if not error:
        return None
    return {
        "type": error.type or "Error",
        "message": error.message or "",
        "traceback": error.traceback,
        "more": text(redact(error.more)) if error.more else None,
    }


def _instructions(report: RecordedReport) -> list[tuple[str, str]]:
    metadata = {key: value for key, value in report.metadata.items() if value is not None}
    shown = [
        ("Query", report.query),
        ("User instructions", report.user_scenario),
        ("Metadata", text(metadata) if metadata else None),
    ]
    return [(name, words) for name, words in shown if words]


def _record(report: RecordedReport) -> list[tuple[str, str]]:
    known = [
        ("Status", report.status),
        ("Started", report.started_at),
        ("Seed", text_or_none(report.seed)),
        ("Run", report.run_id),
        ("Cache", report.outcome.cache_in_words),
        ("Code", report.code),
        *((f"Model: {name}", model.model_id) for name, model in report.models.items()),
    ]
    return [(name, _redacted(value)) for name, value in known if value is not None]


# The names of a run and of its models are the same in thousands of reports.
_redacted = lru_cache(maxsize=256)(redact_text)
