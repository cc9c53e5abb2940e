"""write_report: the page as one HTML file, and as the data that it shows.

An index of all simulations is read when the page opens; the details of a task's simulations lie in
a packet of their own, which the page unpacks when one of them is opened.

The file loads nothing from elsewhere, and nothing that a model said can run or become markup: data
is kept in script blocks that browsers do not execute, the content security policy admits only our
own script and style (by their hashes), and the script writes text, never markup.

A page opened from disk may load no module, not even from its own folder, so a report carries the
ES modules of the page as one script: each module after those it imports, without the words
``import`` and ``export``. No name is given twice in all modules, which a test makes sure of, and so
they may share one scope.
"""

import base64
import hashlib
import html
import os
import posixpath
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TypedDict

from maseval.core.engine.children import map_in_forks, may_fork, usable_cores
from maseval.core.exceptions import ConfigurationError
from maseval.core.index_line import Fact
from maseval.core.outcome import RecordedReport, TaskKey, parse_report
from maseval.core.recorded import Shape
from maseval.core.report_parts import RecordedError
from maseval.core.storage import strict_json
from maseval.core.storage.files import atomic_file
from maseval.core.storage.redaction import redact, redact_text
from maseval.core.words import text, text_or_none
from maseval.report.checks import shown_explanation, shown_verdicts
from maseval.report.conversation import ShownMessage, conversation
from maseval.report.index import (
    ComparedDocument,
    Entry,
    Overview,
    TaskFindings,
    by_task,
    entry_of,
    index_of,
    task_title,
    usage_rows,
)

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
    """The index of the page, and where the reports of each task are, in the order of the index.

    ``report_at`` returns the report at a place, so that no more than one need be in memory.
    """

    index: dict[str, object]
    tasks: Sequence[Sequence[tuple[str, int]]]
    report_at: Callable[[int], Shape]
    timeline: TimelineOf

    def packets(self) -> Iterator[Packet]:
        """Yield the details of each task's simulations."""
        for trials in self.tasks:
            yield packet_of([(name, self.report_at(at)) for name, at in trials], self.timeline)

    def packed(self) -> Iterator[str]:
        """Yield the packets as they stand on the page; all cores pack those of a large run."""
        if sum(map(len, self.tasks)) < _WORTH_SHARING or not may_fork():
            yield from map(self._pack, self.tasks)
            return
        with closing(map_in_forks(self._pack, self.tasks, usable_cores())) as mapped:
            for trials, packed in mapped:
                # What raised an error there raises it here.
                yield self._pack(trials) if packed is None else packed

    def _pack(self, trials: Sequence[tuple[str, int]]) -> str:
        """Return the packet of a task, with one simulation at a time in memory."""
        reports = (self.report_at(at) for _, at in trials)
        details = _details(reports, self.timeline)
        names = strict_json.dumps([name for name, _ in trials])
        common = strict_json.dumps(next(details, {}))

        def parts() -> Iterator[str]:
            yield f'{{"common": {common}, "names": {names}, "trials": ['
            for number, each in enumerate(details):
                yield f"{', ' if number else ''}{strict_json.dumps(each)}"
            yield "]}"

        return pack(parts())


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
    benchmarks = (RecordedReport(each).benchmark for each in known)
    return page_of(every, known.__getitem__, title, parts._replace(benchmarks=benchmarks), timeline)


def page_of(
    every: Iterable[Entry],
    report_at: Callable[[int], Shape],
    title: str,
    parts: Overview,
    timeline: TimelineOf,
) -> Page:
    """Return the page of simulations by their entries, whose ``at`` is for ``report_at``."""
    tasks = by_task(every, parts.unrecorded or ())
    places = [[(name, entry.at) for name, entry in trials] for trials in tasks.values()]
    return Page(index_of(tasks, title, parts), places, report_at, timeline)


def packet_of(reports: Sequence[NamedReport], timeline: TimelineOf = lambda report: None) -> Packet:
    """Return the details of one task's simulations, from its reports in order."""
    details = _details((report for _, report in reports), timeline)
    common = next(details, {})  # nothing for what is planned, and not run yet
    return {"common": common, "names": [name for name, _ in reports], "trials": [*details]}


def _details(reports: Iterable[Shape], timeline: TimelineOf) -> Iterator[Detail]:
    """Yield what the simulations of a task have in common, and then the details of each."""
    common: Detail | None = None
    for each in map(RecordedReport, reports):
        task, found = _task_detail(each), timeline(each.raw)
        if common is None:
            common = task
            yield common
        # Trials of a task nearly always have the same instructions, which a packet then holds once.
        own = {} if task == common else task
        yield {**own, **_detail(each), **({"timeline": found} if found else {})}


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
    "unexplained": lambda report, _: text_or_none(report.raw.get("unexplained")),
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


# A higher level takes twice as long for a few percent.
_LEVEL = 4
# By adding 16, zlib is asked for the header of gzip.
_GZIP = 16 + zlib.MAX_WBITS
# Fewer simulations are packed sooner than other processes begin.
_WORTH_SHARING = 2000
_UNSAFE = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
_INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u200b-\u200f\u2028-\u202e\u2060-\u206f]")


def write_report(
    reports: Iterable[Shape],
    path: str | os.PathLike[str],
    *,
    title: str = "maseval report",
    summary: Shape | None = None,
    plots: Iterable[Sequence[object]] = (),
    findings: TaskFindings | None = None,
    facts: Iterable[Fact] = (),
    compared: ComparedDocument | None = None,
    timeline: TimelineOf = lambda report: None,
    policies: Mapping[str, Iterable[str]] | None = None,
    unrecorded: Mapping[TaskKey, Sequence[str]] | None = None,
) -> Path:
    """Write the reports of a run as one HTML file, and return where it is.

    The file opens from disk without a server or network. It appears whole or not at all, and takes
    the place of an older one.

    Args:
        reports: What ``benchmark.run()`` or ``read_reports()`` returned. A report may carry
            ``labels``, a list of words to filter by, an ``explanation`` of its verdict, the
            ``title`` of its task (what the customer wants), and the name of its ``run``.
        path: The file to write.
        title: What the page is called.
        summary: The results to show: ``rows``, each with ``name``, ``tasks``, ``simulations`` and
            measures such as ``"pass^1": {"value": 0.5, "low": 0.4, "high": 0.6}``, and ``notes``.
            Rows ``beside`` the official ones and the ``meaning`` of numbers are folded. Without it
            the page shows success rates.
        plots: Drawings of ``maseval.stats``; all but the first are folded.
        findings: What is wrong with tasks themselves, by (domain, task id): pairs of a name, which
            is shown as a badge, and an explanation.
        facts: More facts of the run for the top of the page, as pairs of a name and a text: how it
            was started, for example.
        compared: The comparison of several runs, as ``maseval report`` makes it.
        timeline: Returns the databases of a report's simulation after each of its messages, in the
            form of ``Timeline.to_dict`` of tau2, or None.
        policies: The rules that agents are told to obey, by domain, as Markdown. Of several, a
            simulation shows the one whose SHA-256 its configuration has as ``policy_sha256``.
        unrecorded: The trials that are planned and have no report, by task.
    """
    parts = Overview(summary, findings, facts, plots, (), compared, policies, unrecorded)
    return write_page(build_page(reports, title, parts, timeline), path)


def write_page(page: Page, path: str | os.PathLike[str]) -> Path:
    """Write a page as one HTML file, packet by packet, and return where it is."""
    target = Path(path)
    if target.is_dir():
        raise ConfigurationError(f"{target} is a folder; name the file: {target / 'report.html'}")
    script, style = bundle_script("report.js"), asset("page.css")
    before, after = asset("page.html").split("$packets\n")
    parts = {
        # In the browser's tab no script can mark invisible characters.
        "title": html.escape(_INVISIBLE.sub(_escape, str(page.index["title"]))),
        "policy": _policy(script, style),
        "style": style,
        "script": script,
        # Nothing in it ends the script block or opens a comment.
        "index": strict_json.dumps(page.index).translate(_UNSAFE),
    }
    with atomic_file(target) as file:
        file.write(Template(before).substitute(parts).encode())
        for each in page.packed():
            file.write(f'<script type="text/plain" class="packet">{each}</script>\n'.encode())
        file.write(Template(after).substitute(parts).encode())
    return target


def _policy(script: str, style: str) -> str:
    """Forbid loads, all code but ours, and every way for a text to be parsed as markup."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _hash(source: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"


def pack(parts: str | Iterable[str], level: int = _LEVEL) -> str:
    """Return JSON, perhaps in parts, in gzip in base64, which the page's script unpacks."""
    packer = zlib.compressobj(level, zlib.DEFLATED, _GZIP)
    packed = [
        packer.compress(each.encode()) for each in ([parts] if isinstance(parts, str) else parts)
    ]
    return base64.b64encode(b"".join([*packed, packer.flush()])).decode()


def _escape(match: re.Match[str]) -> str:
    return f"\\u{{{ord(match[0]):X}}}"


_IMPORT = re.compile(r'^import \{[^}]*\} from "(\.\.?/\w+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)

ReadAsset = Callable[[str], str]
"""Returns a file of a page by its name, which may have folders in it."""


def asset(name: str) -> str:
    return files("maseval.report").joinpath("assets", name).read_text(encoding="utf-8")


def bundle_script(entry: str, read: ReadAsset = asset) -> str:
    """Return the module ``entry`` with all that it imports, as one script."""
    modules = map(read, module_order(entry, read))
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", module)) for module in modules)


def module_order(entry: str, read: ReadAsset = asset) -> list[str]:
    """Return the names of the modules, each after those that it imports."""
    ordered: dict[str, None] = {}
    for imported in _IMPORT.findall(read(entry)):
        name = posixpath.normpath(posixpath.join(posixpath.dirname(entry), imported))
        if name not in ordered:
            ordered |= dict.fromkeys(module_order(name, read))
    return [*ordered, entry]
