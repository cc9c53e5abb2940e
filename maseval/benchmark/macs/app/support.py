"""MACS in the commands that take any run: failures are explained by the assertions."""

from maseval.app.benchmarks import (
    BenchmarkSupport,
    Diagnosis,
    OnScored,
    RecordedOutcomes,
)
from maseval.benchmark.macs.metrics import judge_problems
from maseval.core.outcome import evaluations, kind_of
from maseval.core.report import Report, TaskExecutionStatus
from maseval.core.scoring_options import ScoringOptions
from maseval.core.shapes import Shape, entries, mapping
from maseval.runs import RunFolder
from maseval.stats.failure_labels import Label

_TITLE_LENGTH = 200


def diagnose(report: Report) -> Diagnosis | None:
    """Return the diagnosis of one simulation, or None if it passed."""
    if kind_of(report) == "pass":
        return None
    for evaluation in evaluations(report):
        return _of_verdict(evaluation)
    error = mapping(report.get("error"))
    evidence = (f"{report['status']}: {error.get('error_message')}",)
    if report["status"] == TaskExecutionStatus.AGENT_ERROR.value:
        return Diagnosis(Label("agent", "raised an error", "status of the run", evidence))
    return Diagnosis(Label("infrastructure", "did not finish", "status of the run", evidence))


def _of_verdict(evaluation: Shape) -> Diagnosis:
    errors = mapping(evaluation, "judge_errors")
    if errors:
        evidence = tuple(f"{side} side: {error}" for side, error in errors.items())
        return Diagnosis(
            Label("infrastructure", "judge's answer unreadable", "answer of the judge", evidence)
        )
    rows = (mapping(row) for row in entries(evaluation.get("report")))
    unmet = [row for row in rows if str(row.get("answer")).lower() == "false"]
    evidence = tuple(
        f"{row.get('assertion_type')}: {row.get('assertion')} ({row.get('evidence')})"
        for row in unmet
    )
    visible = any(row.get("assertion_type") == "user" for row in unmet)
    what = "goal not met" if visible else "goal met, but not as asserted"
    return Diagnosis(Label("agent", what, "answer of the judge", evidence))


class MACSSupport(BenchmarkSupport):
    """Explains failures by the assertions that do not hold."""

    def diagnosis(self, report: Report) -> Diagnosis | None:
        return diagnose(report)

    def task_title(self, report: Report) -> str | None:
        scenario = " ".join(str(report["task"]["metadata"].get("scenario") or "").split())
        short = scenario[:_TITLE_LENGTH]
        return (f"{short}..." if short != scenario else short) or None

    def run_outcomes(
        self, folder: RunFolder, options: ScoringOptions, on_progress: OnScored | None = None
    ) -> RecordedOutcomes:
        found = super().run_outcomes(folder, options, on_progress)
        problems = judge_problems(folder.reports())
        if not problems:
            return found
        first = problems[0]
        note = (
            f"{len(problems)} doubts about the judge's answers, such as {first['task']}, trial "
            f"{first['repeat']}: {first['problem']}"
        )
        return found._replace(notes=[*found.notes, note])


SUPPORT = MACSSupport()
