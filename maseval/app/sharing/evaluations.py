"""Evaluations of a simulation: its verdict, each check, findings, judgements."""

from collections.abc import Iterator
from contextlib import suppress

from maseval.app.results.examined import REVIEW, ExaminedRun
from maseval.core.exceptions import MASEvalError
from maseval.core.finding import Finding
from maseval.core.outcome import RecordedReport
from maseval.core.report import Report
from maseval.interface.telemetry.simulation import Evaluation
from maseval.report.checks import shown_verdicts


def evaluations_of(run: ExaminedRun, report: Report) -> Iterator[Evaluation]:
    """Yield every check of a report, and the findings about its simulation."""
    parsed = RecordedReport(report)
    for verdict in shown_verdicts(parsed, ()):
        for check in verdict.get("checks", ()):
            label = "met" if check["met"] else "not met"
            name = f"{check['kind']}: {check['name']}"
            yield Evaluation(name, float(check["met"]), label, check["evidence"])
    with suppress(MASEvalError):  # the data of the run is elsewhere
        for finding in run.examine(parsed.key, REVIEW, report).findings:
            yield _of_finding(finding)


def _of_finding(finding: Finding) -> Evaluation:
    by = f"judged by {finding.by}" if finding.by else finding.grade
    return Evaluation(f"{finding.source}: {finding.rule}", None, finding.name, f"{finding} ({by})")
