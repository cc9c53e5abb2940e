"""Compare why the simulations of several runs failed."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from maseval.app.results.examined import FINDINGS, ExaminedRun
from maseval.app.results.explained import cause_in
from maseval.core.finding import Source
from maseval.core.outcome import Outcome, RecordedReport, Simulation
from maseval.report.checks import ShownCheck, shown_verdicts
from maseval.report.conversation import conversation
from maseval.runs.config import cell_of
from maseval.runs.recording import Recording

# Simulations that agent or user ended; all others were cut off.
_OWN_ENDS = (None, "agent_stop", "user_stop")
_CUT_OFF = {"max_steps": "step limit reached", "too_many_errors": "limit of errors reached"}
_NOT_MADE = "reference call not made"
_REFUSED, _REPEATED = "call refused", "call repeated"


class FailureReasons(NamedTuple):
    """The simulations of a run that failed, of so many with a verdict, by what was wrong.

    ``labels`` has who failed and how; ``checks`` counts for each kind the simulations in which one
    that counts was not met. ``unexplained`` says why there are no labels, if so. ``proven`` counts
    the labels that are recomputed, the limits at which a simulation was cut off, and of the cell of
    a grid also simulations with a call that was refused or repeated.
    """

    failed: int
    verdicts: int
    labels: Mapping[str, int]
    checks: Mapping[str, int]
    unexplained: str | None = None
    proven: Mapping[str, int] = MappingProxyType({})


def failure_reasons(
    recording: Recording,
    outcomes: Iterable[Outcome],
    passes: Collection[Simulation] = (),
    source: Source = "cause",
) -> FailureReasons:
    """Find out why the ``outcomes`` of a run that did not pass are failures.

    Of these, ``passes`` are passes by the official number, and fail only for findings of this
    ``source``.
    """
    labels, checks, proven = Counter[str](), Counter[str](), Counter[str]()
    judged = [each for each in outcomes if each.passed is not None]
    failed = [each for each in judged if not each.passed]
    run = ExaminedRun(recording)
    unexplained = run.support.explanation_obstacle(recording)
    for each in failed:
        one = each.simulation
        if one in passes:
            every = run.examine(one, FINDINGS).findings
            labels.update({e.name for e in every if e.source == source and e.weight == "state"})
            continue
        report = recording.report(one)
        cause = None if unexplained else cause_in(run.examine(one, FINDINGS, report).findings)
        labels.update([] if cause is None else [cause.name])
        proven.update([cause.name] if cause is not None and cause.grade == "proven" else [])
        proven.update([_CUT_OFF.get(each.ended, each.ended)] if each.ended not in _OWN_ENDS else [])
        unmet = _unmet_checks(RecordedReport(report))
        checks.update({check["kind"] for check in unmet if check["counts"]})
        proven.update([_NOT_MADE] if any(check["kind"] == "ACTION" for check in unmet) else [])
    if cell_of(recording.config.values):
        wanted = {each.simulation for each in judged}
        proven.update({_REFUSED: 0, _REPEATED: 0})  # in this order, whichever comes first
        for one in wanted.intersection(recording.recorded):
            proven.update(_wrong_calls(RecordedReport(recording.report(one))))
    run.save()
    return FailureReasons(len(failed), len(judged), labels, checks, unexplained, proven)


def _wrong_calls(report: RecordedReport) -> set[str]:
    """Say if a call of a conversation was refused, and if one repeats the call just before."""
    found: set[str] = set()
    before: object = None
    for call in (call for each in conversation(report) for call in each.get("calls", ())):
        made = call["name"], call["arguments"]
        found |= {_REPEATED} if made == before else set()
        found |= {_REFUSED} if call["result"] and call["result"]["failed"] else set()
        before = made
    return found


def _unmet_checks(report: RecordedReport) -> list[ShownCheck]:
    every = [check for each in shown_verdicts(report, ()) for check in each.get("checks", ())]
    return [check for check in every if not check["met"]]


def side_by_side(counts: Iterable[Mapping[str, int]]) -> list[tuple[str, list[int]]]:
    """Put the counts of several runs into rows, those that differ most first."""
    runs = list(counts)
    names = dict.fromkeys(name for each in runs for name in each)
    rows = [(name, [each.get(name, 0) for each in runs]) for name in names]
    return sorted(rows, key=lambda row: (min(row[1]) - max(row[1]), -max(row[1])))
