"""MACS in the commands that take any run: failures are explained by the assertions."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from maseval.app.benchmarks import (
    BenchmarkSupport,
    ExportedPath,
    JudgeAnswers,
    JudgedShareKind,
    LabelQuestion,
    OnProgress,
    RecordedOutcomes,
)
from maseval.app.results.explained import Review
from maseval.benchmark.macs.metrics import RecordedGoals, judge_problems
from maseval.core.finding import Finding, Who
from maseval.core.outcome import RecordedReport, Simulation
from maseval.core.recorded import mapping
from maseval.core.report import Report, TaskExecutionStatus
from maseval.core.scoring_options import ScoringOptions
from maseval.core.words import count_of
from maseval.runs.recording import Recording
from maseval.stats import Measure

_TITLE_LENGTH = 200
_RULE = "answer of the judge"


MET, UNMET = "met", "unmet"
_JUDGED = (
    ("goals", "Were all assertions about the conversation met?", "overall_gsr"),
    ("user", "Were all assertions met that the user can see?", "user_gsr"),
    ("system", "Were all assertions met about what happened inside?", "system_gsr"),
)
LABEL_QUESTIONS = tuple(
    LabelQuestion(
        name,
        text,
        (MET, UNMET),
        lambda line: line.passed is not None,
        (JudgedShareKind(rate, (MET,)),),
    )
    for name, text, rate in _JUDGED
)


MEASURES = (
    Measure("overall_gsr", "all assertions are met, seen by the user or not", decides=True),
    Measure("overall_partial_gsr", "the share of all assertions that are met", kind="share"),
    Measure("user_gsr", "all assertions are met that the user can see"),
    Measure("system_gsr", "all assertions are met about what happened inside"),
)
"""The four rates of the original, the first of them the official one."""


def cause_of_failure(report: Report) -> Finding | None:
    """Return who failed a simulation, and how; None if it passed."""
    parsed = RecordedReport(report)
    if parsed.kind == "pass":
        return None
    for goals in RecordedGoals.all_in(parsed):
        return _of_verdict(goals)
    evidence = (f"{parsed.status}: {parsed.error.message}",)
    if parsed.status == TaskExecutionStatus.AGENT_ERROR.value:
        return _cause("agent", "raised an error", "status of the run", evidence)
    return _cause("infrastructure", "did not finish", "status of the run", evidence)


def _cause(who: Who, kind: str, rule: str, evidence: tuple[str, ...]) -> Finding:
    return Finding("cause", who, kind, rule, f"{who}: {kind}", "proven", evidence=evidence)


def _of_verdict(goals: RecordedGoals) -> Finding:
    if goals.errors:
        evidence = tuple(f"{side} side: {error}" for side, error in goals.errors.items())
        return _cause("infrastructure", "judge's answer unreadable", _RULE, evidence)
    # Only a false row can fail a conversation; any other answer counts for neither side.
    unmet = [row for row in goals.rows if str(row.get("answer")).lower() == "false"]
    evidence = tuple(
        f"{row.get('assertion_type')}: {row.get('assertion')} ({row.get('evidence')})"
        for row in unmet
    )
    visible = any(row.get("assertion_type") == "user" for row in unmet)
    what = "goal not met" if visible else "goal met, but not as asserted"
    return _cause("agent", what, _RULE, evidence)


class MACSSupport(BenchmarkSupport):
    """Explains failures by the assertions that do not hold."""

    def review(self, report: Report, *, explain_pass: bool = False) -> Review:
        return Review([*filter(None, [cause_of_failure(report)])])

    has_judged_verdicts = True

    def label_questions(self, folder: Recording) -> Sequence[LabelQuestion]:
        return LABEL_QUESTIONS

    def judges(self, folder: Recording, about: str) -> Mapping[str, JudgeAnswers]:
        rate = {name: rate for name, _, rate in _JUDGED}[about]
        judge = mapping(folder.config.values, "judge").get("model") or "its judge"
        answers: dict[Simulation, str | None] = {}
        for report in map(RecordedReport, folder.reports()):
            for goals in RecordedGoals.all_in(report):
                met = MET if getattr(goals, rate) == 1.0 else UNMET
                # An unreadable answer is counted neither as met nor as unmet.
                answers[report.key] = None if goals.errors else met
        return {str(judge): answers} if answers else {}

    def measures(self, folder: Recording) -> Sequence[Measure]:
        return MEASURES

    exports = "macs"

    def export(
        self, run: str | os.PathLike[str], output: Path | None, *, overwrite: bool
    ) -> list[ExportedPath]:
        # Every command asks a benchmark for its support, and few of them export.
        from maseval.benchmark.macs.app.results import export

        return export(run, output, overwrite=overwrite)

    def task_title(self, report: Report) -> str | None:
        scenario = " ".join(str(report["task"]["metadata"].get("scenario") or "").split())
        short = scenario[:_TITLE_LENGTH]
        return (f"{short}..." if short != scenario else short) or None

    def run_outcomes(
        self, folder: Recording, options: ScoringOptions, on_progress: OnProgress | None = None
    ) -> RecordedOutcomes:
        found = super().run_outcomes(folder, options, on_progress)
        problems = judge_problems(folder.reports())
        if not problems:
            return found
        first = problems[0]
        note = (
            f"{count_of(len(problems), 'doubt')} about the judge's answers, such as "
            f"{first['task']}, trial "
            f"{first['repeat']}: {first['problem']}"
        )
        return found._replace(notes=[*found.notes, note])


SUPPORT = MACSSupport()
