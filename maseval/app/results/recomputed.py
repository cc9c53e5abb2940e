"""Runs with the verdicts that hold: what is recorded is recomputed, and replaced where it differs.

Whatever shows numbers of a run takes it from here, so that an edited log has the same numbers
wherever it is read.
"""

from maseval.app.benchmarks import check_verdicts, support_for
from maseval.app.results.recording import ReadOnce
from maseval.core.report import Report, TaskExecutionStatus
from maseval.core.scoring_options import ScoringOptions
from maseval.runs import RunFolder, Simulation
from maseval.runs.recording import Recording
from maseval.runs.verdict_check import VerdictCheck


class RecomputedRun(ReadOnce):
    """A run in which the recorded verdicts that do not hold are replaced by recomputed ones."""

    def __init__(self, recording: Recording, check: VerdictCheck) -> None:
        super().__init__(recording)
        found = support_for(recording).run_outcomes(
            RunFolder.read(recording.path), ScoringOptions()
        )
        passed = {Simulation(*each.key, each.trial): each.passed for each in found.outcomes}
        for at, report in enumerate(self._reports):
            one = Simulation.of(report)
            if one in check.differing:
                self._reports[at] = _with_verdict(report, passed.get(one), check.differing[one])


def _with_verdict(report: Report, passed: bool | None, words: str) -> Report:
    """Return a report with the recomputed verdict in place of the recorded one."""
    new = report.copy()
    note = f"recomputed, as the recorded verdict does not hold: {words}"
    new["error"] = None
    new["status"] = (
        TaskExecutionStatus.EVALUATION_FAILED if passed is None else TaskExecutionStatus.SUCCESS
    ).value
    new["eval"] = [] if passed is None else [{"passed": passed, "reward": +passed, "note": note}]
    return new


def recompute_verdicts(recording: Recording) -> tuple[Recording, VerdictCheck | None]:
    """Return a run with the verdicts that hold, and the check of those that are recorded."""
    check = check_verdicts(recording)
    if check is None or not check.differing:
        return recording, check
    return RecomputedRun(recording, check), check
