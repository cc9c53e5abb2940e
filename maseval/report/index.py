"""The index of a page: one row for each simulation, grouped by task, and the facts of the run.

The *entry* of a simulation in the index is small, can be kept on the disk, and is made once from a
report, which may be many times larger. The facts say what was run: models, domains, trials,
and the versions of rules, data and code.

Many rows that have much in common are written as columns, small and read fast. A column that holds
few different values is written as these ``values`` and the ``places`` of each row's among them,
without places if there is but one; any other as the value of ``each`` row. ``data.js`` reads them.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import chain, takewhile
from typing import NamedTuple

from maseval.core.index_line import Fact, IndexLine
from maseval.core.outcome import Outcome, OutcomeKind, RecordedReport, TaskKey
from maseval.core.recorded import Shape
from maseval.core.report_parts import ComponentUsage, RecordedSoftware
from maseval.core.storage.redaction import redact_text
from maseval.core.task import ChosenSubset
from maseval.core.words import count_of, first_few, text
from maseval.report.results import success_rates, summary_table

# A line of a wide window: the notes of all tasks are read when a page opens.
_NOTE_LENGTH = 200

TaskFindings = Mapping[tuple[str, str], Sequence[tuple[str, str]]]
"""The faults of tasks, by domain and id: pairs of a name and an explanation."""


ComparedDocument = Mapping[str, object]
"""Several runs as the page compares them (``maseval.app.comparing.page``)."""


EVALUATED = "Evaluated"
"""The fact that names the subject of a run's first sentence."""


class Entry(NamedTuple):
    """The entry of one simulation in the index: its row, and ``at``, the place of its report.

    ``trial`` is its number as recorded, ``run`` is None unless reports name the run they belong to,
    ``seconds`` is None if nobody measured them, ``note`` is what its task is about, ``steps``
    counts its messages, and ``tools`` names those that were called.
    """

    at: int
    row: Outcome
    trial: str
    run: str | None
    seconds: float | None
    labels: tuple[str, ...]
    started: str
    note: str
    facts: tuple[Fact, ...]
    steps: int | None = None
    tools: tuple[str, ...] = ()

    @property
    def key(self) -> TaskKey:
        return self.row.key

    @property
    def outcome(self) -> OutcomeKind:
        return self.row.kind


def pack(columns: Mapping[str, Sequence[object]]) -> dict[str, object]:
    """Return columns of equal length, with hashable values, in their small form."""
    length = len(next(iter(columns.values()), ()))
    return {"length": length, "columns": {name: _pack(each) for name, each in columns.items()}}


def _pack(column: Sequence[object]) -> dict[str, Sequence[object]]:
    numbers = {value: number for number, value in enumerate(dict.fromkeys(column))}
    if len(numbers) == 1:
        return {"values": list(numbers)}
    # Places cost a number for each row, which pays where a value is used at least twice.
    if 2 * len(numbers) <= len(column):
        return {"values": list(numbers), "places": [numbers[value] for value in column]}
    return {"each": column}


def entry_of(report: RecordedReport, at: int, title: str | None = None) -> Entry:
    """Return the entry of a report; ``title`` is what its task is about, if that is at hand."""
    return indexed_entry(IndexLine.of(report), at, note_of(report, title))._replace(
        trial=text(report.raw.get("repeat_idx", 0)),
        run=report.run,
        seconds=report.seconds,
        labels=tuple(report.labels),
    )


def indexed_entry(found: IndexLine, at: int, note: str) -> Entry:
    """Return the entry of a simulation whose report nobody needs to read for it."""
    row = found.outcome
    return Entry(
        at,
        # An error is read with its report.
        row._replace(ended=row.ended or row.status or None, error=None),
        trial=str(row.trial),
        run=None,
        seconds=row.seconds,
        labels=(),
        started=found.started,
        note=note,
        facts=found.facts,
        steps=found.steps,
        tools=found.tools,
    )


def note_of(report: RecordedReport, title: str | None = None) -> str:
    """Return what the task of a report is about, as the list of simulations shows it."""
    return (title or task_title(report) or report.purpose or report.query or "")[:_NOTE_LENGTH]


def task_title(report: RecordedReport) -> str | None:
    """Return what the customer wants, from the report's title or its task."""
    return report.title or report.reason_for_call


Trials = Mapping[TaskKey, Sequence[tuple[str, Entry]]]
"""The simulations of each task, in the order of the page, each with the name of its trial."""


def by_task(known: Iterable[Entry], planned: Iterable[TaskKey] = ()) -> Trials:
    """Return the simulations ordered by domain, task and trial; a planned task may have none."""
    tasks: dict[TaskKey, list[Entry]] = {key: [] for key in planned}
    for entry in known:
        tasks.setdefault(entry.key, []).append(entry)
    runs = _runs(entry for trials in tasks.values() for entry in trials)
    return {key: _trials(tasks[key], runs) for key in sorted(tasks, key=_reading_order)}


class Overview(NamedTuple):
    """All of a page but its simulations: see ``write_report`` for each part.

    ``benchmarks`` are the settings that reports share.
    """

    summary: Shape | None = None
    findings: TaskFindings | None = None
    facts: Iterable[Fact] = ()
    plots: Iterable[Sequence[object]] = ()
    benchmarks: Iterable[Shape] = ()
    compared: ComparedDocument | None = None
    policies: Mapping[str, Iterable[str]] | None = None
    unrecorded: Mapping[TaskKey, Sequence[str]] | None = None


def index_of(tasks: Trials, title: str, parts: Overview) -> dict[str, object]:
    """Return the index of a page."""
    known = [entry for trials in tasks.values() for _, entry in trials]
    runs, plan, findings = _runs(known), parts.unrecorded or {}, parts.findings or {}
    return {
        **results_of(known, title, parts),
        "runs": runs,
        **({} if not parts.compared else {"compared": parts.compared}),
        "tasks": [_task(key, trials, findings, plan.get(key, ())) for key, trials in tasks.items()],
        "simulations": _simulations(tasks, known, runs),
        # By the fingerprints under which records know them.
        "policies": {
            domain: [{"sha256": sha256(each.encode()).hexdigest(), "text": each} for each in texts]
            for domain, texts in (parts.policies or {}).items()
        },
    }


def results_of(known: Sequence[Entry], title: str, parts: Overview) -> dict[str, object]:
    """Return the part of an index that is about all simulations together."""
    shared, summary, compared = list(parts.benchmarks), parts.summary, parts.compared
    if summary is None and not compared:
        # Numbered anew: what is put on a page may have the same trial twice.
        outcomes = [entry.row._replace(trial=at) for at, entry in enumerate(known)]
        summary = success_rates(outcomes, next(filter(None, map(ChosenSubset.read, shared)), None))
    # Thousands of simulations have the same facts.
    each = dict.fromkeys(entry.facts for entry in known)
    return {
        "title": title,
        "facts": run_facts((entry.started for entry in known), parts.facts, each, shared),
        "results": compared["results"] if compared else summary_table(summary or {}),
        "plots": [*parts.plots],
    }


_IN_ROW: dict[str, Callable[[Entry], object]] = {
    "outcome": lambda entry: entry.row.kind,
    "status": lambda entry: entry.row.status or None,
    "reward": lambda entry: entry.row.reward,
    "ended": lambda entry: entry.row.ended,
    "labels": lambda entry: entry.labels,
    # Without digits that are shown to nobody, and are most of a number.
    "cost": lambda entry: entry.row.cost and round(entry.row.cost, 9),
    "tokens": lambda entry: entry.row.tokens,
    "seconds": lambda entry: entry.seconds and round(entry.seconds, 3),
    "steps": lambda entry: entry.steps,
    "tools": lambda entry: entry.tools,
}


def row_of(entry: Entry) -> dict[str, object]:
    """Return a simulation in the index, but for its task and trial."""
    return {name: read(entry) for name, read in _IN_ROW.items()}


def _simulations(tasks: Trials, known: Sequence[Entry], runs: Sequence[str]) -> dict[str, object]:
    """Return the rows of all simulations; ``task`` is the position of its task in the index."""
    columns: dict[str, Sequence[object]] = {
        name: [*map(read, known)] for name, read in _IN_ROW.items()
    }
    # Most pages have one run, and need no name for it.
    if runs:
        columns["run"] = [runs.index(entry.run or "") for entry in known]
    columns["task"] = [at for at, trials in enumerate(tasks.values()) for _ in trials]
    columns["trial"] = [trial for trials in tasks.values() for trial, _ in trials]
    return pack(columns)


def _reading_order(key: TaskKey) -> list[list[tuple[int, int, str]]]:
    """Order numbers by value, so that task 10 comes after task 9."""
    # Python refuses to read numbers of many thousand digits; so long a name is no number.
    parts = ([part for part in re.split(r"(\d{1,18})", name) if part] for name in key)
    return [
        [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in name]
        for name in parts
    ]


def _runs(known: Iterable[Entry]) -> list[str]:
    """Return the names of the runs, if there are several."""
    names = list(dict.fromkeys(entry.run for entry in known if entry.run is not None))
    return names if len(names) > 1 else []


def _trials(several: list[Entry], runs: list[str]) -> list[tuple[str, Entry]]:
    """Return each simulation with the name of its trial; the same number twice becomes 0, 0-2."""
    named: dict[str, Entry] = {}
    for entry in sorted(several, key=lambda each: _number(each.trial)):
        unique = name = f"{entry.run}.{entry.trial}" if runs else entry.trial
        times = 2
        while unique in named:
            unique, times = f"{name}-{times}", times + 1
        named[unique] = entry
    return list(named.items())


@lru_cache(maxsize=1024)
def _number(trial: str) -> float:
    """Return the place of a trial among others; what is not a number comes first."""
    return float(trial) if trial.isdecimal() and trial.isascii() else 0.0


def _task(
    key: TaskKey,
    trials: Sequence[tuple[str, Entry]],
    findings: TaskFindings,
    unrecorded: Sequence[str],
) -> dict[str, object]:
    note = trials[0][1].note if trials else ""
    shown: dict[str, object] = {"domain": key.domain, "id": key.task_id, "note": note}
    if unrecorded:
        shown["unrecorded"] = list(unrecorded)
    if found := findings.get(key):
        shown["findings"] = [{"name": name, "text": words} for name, words in found]
    return shown


# What the engine records of every machine; anything beside it was put there by the benchmark.
_MACHINE = frozenset({"environment", "git", "packages", "python", "system", "timestamp"})
_SHOWN, _NAMED = 6, 2
_MODEL_OF = "Model of "
# Scripted models are named after the simulations that they play in.
_SHORTEST_PREFIX = 4


def run_facts(
    started: Iterable[str],
    more: Iterable[Fact],
    each: Iterable[Iterable[Fact]],
    benchmarks: Iterable[Shape],
) -> list[Fact]:
    """Return the facts of a run, without anything that could be a secret.

    ``started`` says when each simulation was, ``each`` has the facts of each, and ``benchmarks``
    the settings that they share.
    """
    found: dict[str, dict[str, None]] = {}
    when = _dates(started)
    dated = [("Date", when)] if when else []
    own = chain.from_iterable(each)
    for name, value in chain(dated, more, own, _facts_of_benchmarks(benchmarks)):
        found.setdefault(name, {})[value] = None
    named = any(name.startswith(EVALUATED) for name in found)
    if not named and (who := _evaluated(found)):
        found = {EVALUATED: {who: None}, **found}
    return [(name, _first_few([*dict.fromkeys(map(redact_text, v))])) for name, v in found.items()]


def _evaluated(facts: Mapping[str, Collection[str]]) -> str | None:
    """Name what was evaluated, where only the reports say so: its models, or else its agents."""
    other = ("user", "judge", "simulator")
    roles = [r for r in facts if r.startswith(_MODEL_OF) and not any(word in r for word in other)]
    known = {model for role in roles for model in facts[role]} or set(facts.get("Agent", ()))
    if len(known) > _NAMED:
        return count_of(len(known), "model" if roles else "agent")
    return ", ".join(sorted(known)) or None


def _dates(started: Iterable[str]) -> str:
    """Return when the first simulation began, and the last one if that was another day."""
    known = [*filter(None, started)]
    if not known:
        return ""
    first, last = (moment[:16].replace("T", " ") for moment in (min(known), max(known)))
    # The day is enough to tell a run that was resumed later.
    return first if first[:10] == last[:10] else f"{first} to {last}"


def _facts_of_benchmarks(benchmarks: Iterable[Shape]) -> Iterator[Fact]:
    """Yield what reports share; those of one run have one object, which is looked at once."""
    shared = {id(each): each for each in benchmarks}
    for benchmark in shared.values():
        for name, part in benchmark.items():
            if name not in _MACHINE:
                yield from _settings(str(name), part)
        software = RecordedSoftware(benchmark)
        if "maseval" in software.packages:
            yield "maseval", software.packages["maseval"]
        if software.commit:
            yield "Commit", software.commit + (" with changes" if software.dirty else "")
        if software.python is not None:
            yield "Python", software.python


def _settings(name: str, value: object) -> Iterator[Fact]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _settings(f"{name} {str(key).replace('_', ' ')}", part)
    else:
        yield name, text(value)


def _common_start(values: list[str]) -> str:
    # What the first and the last in order begin with, all between them begin with, too.
    pairs = zip(min(values), max(values), strict=False)
    return "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _first_few(values: list[str]) -> str:
    common = _common_start(values)
    if len(values) > _NAMED and len(common) > _SHORTEST_PREFIX:
        return f"{common}… ({count_of(len(values), 'name')})"
    return first_few(values, _SHOWN)


def usage_rows(report: RecordedReport) -> list[dict[str, object]]:
    """Tokens and cost of each component that used any, with those of earlier attempts."""
    rows = [_usage_row(each, report.cost_of([each])) for each in report.usage]
    return [row for row in rows if any(value for key, value in row.items() if key != "name")]


def _usage_row(used: ComponentUsage, cost: float | None) -> dict[str, object]:
    category, _, name = used.component.partition(":")
    attempt = "" if used.attempt is None else f" (attempt {used.attempt})"
    return {
        "name": f"{name or category}{attempt}",
        "input": used.input_tokens,
        "cached": used.cached_input_tokens,
        "output": used.output_tokens,
        "cost": cost,
    }
