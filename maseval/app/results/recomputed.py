"""Runs with the verdicts that hold: what is recorded is recomputed, and replaced where it differs.

Whatever shows numbers of a run takes it from here, so that an edited log has the same numbers
wherever it is read.
"""

from maseval.app.results.recording import ReadOnce
from maseval.core.report import Report, TaskExecutionStatus
from maseval.runs import Simulation
from maseval.runs.recording import Recording, report_key
from maseval.runs.verdict_check import VerdictCheck


class RecomputedRun(ReadOnce):
    """A run in which the recorded verdicts that do not hold are replaced by recomputed ones."""

    def __init__(self, recording: Recording, check: VerdictCheck) -> None:
        super().__init__(recording)
        self._differing = check.differing
        for at, report in enumerate(self._reports):
            one = Simulation.of(report)
            if one in check.differing:
                self._reports[at] = _with_verdict(report, *check.differing[one])

    def content_key(self, simulation: Simulation) -> str:
        if simulation in self._differing:
            return report_key(self.report(simulation))
        return super().content_key(simulation)


def _with_verdict(report: Report, words: str, passed: bool | None) -> Report:
    """Return a report with the recomputed verdict in place of the recorded one."""
    new = report.copy()
    note = f"recomputed, as the recorded verdict does not hold: {words}"
    new["error"] = None
    new["status"] = (
        TaskExecutionStatus.EVALUATION_FAILED if passed is None else TaskExecutionStatus.SUCCESS
    ).value
    new["eval"] = [] if passed is None else [{"passed": passed, "reward": +passed, "note": note}]
    return new
