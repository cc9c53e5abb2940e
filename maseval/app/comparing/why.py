"""Compare why the simulations of several runs failed, and how often each tool was called."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from maseval.app.benchmarks import OnProgress
from maseval.app.results.examined import CALLS, FINDINGS, ExaminedRun
from maseval.app.results.explained import cause_in
from maseval.core.finding import Source
from maseval.core.outcome import Outcome, RecordedReport, Simulation
from maseval.report.checks import shown_verdicts
from maseval.runs.recording import Recording


class FailureReasons(NamedTuple):
    """The simulations of a run that failed, of so many with a verdict, by what was wrong.

    ``labels`` has who failed and how; ``checks`` counts for each kind the simulations in which one
    that counts was not met. ``unexplained`` says why there are no labels, if so.
    """

    failed: int
    verdicts: int
    labels: Mapping[str, int]
    checks: Mapping[str, int]
    unexplained: str | None = None


def failure_reasons(
    recording: Recording | None,
    outcomes: Iterable[Outcome],
    passes: Collection[Simulation] = (),
    source: Source = "cause",
    on_progress: OnProgress | None = None,
) -> FailureReasons:
    """Find out why the ``outcomes`` of a run that did not pass are failures.

    Of these, ``passes`` are passes by the official number, and fail only for findings of this
    ``source``.
    """
    labels, checks = Counter[str](), Counter[str]()
    judged = [each for each in outcomes if each.passed is not None]
    failed = [each for each in judged if not each.passed]
    if recording is None:
        obstacle = "its file has only outcomes, which cannot be explained"
        return FailureReasons(len(failed), len(judged), labels, checks, obstacle)
    run = ExaminedRun(recording)
    unexplained = run.support.explanation_obstacle(recording)
    for number, each in enumerate(failed):
        if on_progress is not None:
            on_progress(number, len(failed))
        one = each.simulation
        if one not in recording.recorded:  # a trial after a task's first failure, which settled it
            continue
        if one in passes:
            every = run.examine(one, FINDINGS).findings
            labels.update({e.name for e in every if e.source == source and e.weight == "state"})
            continue
        report = recording.report(one)
        cause = None if unexplained else cause_in(run.examine(one, FINDINGS, report).findings)
        labels.update([] if cause is None else [cause.name])
        checks.update(_unmet_checks(RecordedReport(report)))
    run.save()
    return FailureReasons(len(failed), len(judged), labels, checks, unexplained)


def _unmet_checks(report: RecordedReport) -> set[str]:
    every = [check for each in shown_verdicts(report, ()) for check in each.get("checks", ())]
    return {check["kind"] for check in every if check["counts"] and not check["met"]}


def side_by_side(counts: Iterable[Mapping[str, int]]) -> list[tuple[str, list[int]]]:
    """Put the counts of several runs into rows, those that differ most first."""
    runs = list(counts)
    names = dict.fromkeys(name for each in runs for name in each)
    rows = [(name, [each.get(name, 0) for each in runs]) for name in names]
    return sorted(rows, key=lambda row: (min(row[1]) - max(row[1]), -max(row[1])))


class ToolUse(NamedTuple):
    """The calls of each tool, and those that were answered with an error."""

    calls: Mapping[str, int]
    errors: Mapping[str, int]


def tool_use(recording: Recording, simulations: Collection[Simulation]) -> ToolUse:
    """Count the tool calls in these simulations of a run."""
    run, wanted = ExaminedRun(recording), [one for one in recording.recorded if one in simulations]
    calls, errors = Counter[str](), Counter[str]()
    for found in run.examine_all(wanted, CALLS):
        for name, (made, failed) in (found.calls or {}).items():
            calls[name] += made
            errors[name] += failed
    run.save()
    return ToolUse(calls, +errors)
