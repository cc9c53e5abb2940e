"""What tau2 adds to the commands that take any run: labels, explanations, and its results files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from maseval.app.benchmarks import (
    BenchmarkSupport,
    OnProgress,
    OnScored,
    RecordedOutcomes,
    RunDiagnosis,
    Section,
)
from maseval.app.results.counting import ConventionScore
from maseval.app.results.recording import SimulationLine
from maseval.benchmark.tau2.app.results.audit import audit
from maseval.benchmark.tau2.app.results.certify import certify, verify
from maseval.benchmark.tau2.app.results.comparable import (
    differing_data,
    digest,
    outcomes_of_file,
    outcomes_of_run,
)
from maseval.benchmark.tau2.app.results.results_run import JUDGED_BY, ResultsRun
from maseval.benchmark.tau2.app.results.score import conventions_of_lines
from maseval.benchmark.tau2.app.results.sources import record_of
from maseval.benchmark.tau2.app.running.tasks import reason_for_call
from maseval.benchmark.tau2.data_loader import UnknownTaskError, load_raw_task
from maseval.benchmark.tau2.domains import Domain, domain_names
from maseval.benchmark.tau2.explain import CheckSummary, Explanation, WrongField
from maseval.benchmark.tau2.explain.explanation import format_value, render_call
from maseval.benchmark.tau2.labels import (
    Label,
    Labelled,
    LabelSummary,
    explain_and_label,
    summarise_labels,
)
from maseval.benchmark.tau2.results import Omitted, RecordedSimulation, has_simulations
from maseval.benchmark.tau2.results.reports import release_of_report
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.benchmark.tau2.texts.original import format_texts_config
from maseval.benchmark.tau2.timeline import Timeline, timeline
from maseval.benchmark.tau2.timeline.timeline import search_form
from maseval.core.exceptions import MASEvalError
from maseval.core.outcome import kind_of, recorded_simulation
from maseval.core.report import Report, TaskExecutionStatus
from maseval.core.scoring_options import ScoringOptions
from maseval.core.shapes import entries, mapping
from maseval.report.index import TaskFindings
from maseval.runs import RunFolder, Simulation
from maseval.runs.folder import Recording

# What an audit finds that may make a verdict mean something else.
_BADGES = ("error", "warning")
# The page shows the checks with the verdict, and the fields of the end state as a table.
_SHOWN_ELSEWHERE = (CheckSummary, WrongField)


@dataclass(frozen=True)
class FailureDiagnosis:
    """A failed simulation's label, and the explanation where there is a verdict to explain."""

    label: Label
    explanation: Explanation | None = None

    @property
    def name(self) -> str:
        """``agent: wrong arguments`` and the like."""
        return f"{self.label.who}: {self.label.what}"

    def sections(self) -> list[Section]:
        """In words, the label first."""
        return sections_of(self.label, self.explanation)

    def for_page(self) -> dict[str, object]:
        """The label, the wrong fields, and all else in words."""
        form: dict[str, object] = {
            "label": {
                "name": self.name,
                "rule": self.label.rule,
                "evidence": list(self.label.evidence),
            }
        }
        if self.explanation is not None:
            form["summary"] = self.explanation.summary
            form["fields"] = [_field(each) for each in self.explanation.wrong_fields]
            form["sections"] = [
                {"title": each.title, "lines": list(each.lines)}
                for each in self.explanation.sections()
                if each.kind not in _SHOWN_ELSEWHERE
            ]
        return form


def sections_of(label: Label | None, explanation: Explanation | None) -> list[Section]:
    """A verdict explained in words, who failed first."""
    found = []
    if label is not None:
        title = f"{label.who}: {label.what} (rule: {label.rule})"
        found.append(Section(title, label.evidence))
    if explanation is not None:
        found.append(Section(explanation.summary))
        found += [Section(each.title, each.lines) for each in explanation.sections()]
    return found


def _field(field: WrongField) -> dict[str, object]:
    wrote, action = field.written_by, field.gold_action
    return {
        "place": str(field.place),
        "expected": format_value(field.expected),
        "found": format_value(field.found),
        "message": None if wrote is None else wrote.message_index,
        "call": None if wrote is None else render_call(wrote.call),
        "remedy": None if action is None else render_call(action.model_dump()),
    }


def diagnosed(report: Report) -> FailureDiagnosis | None:
    """The diagnosis of one simulation; None if it passed."""
    if kind_of(report) == "pass":
        return None
    found = record_of(report)
    if isinstance(found, Omitted):
        return FailureDiagnosis(_broken(found))
    return _explained(*found, mapping(report, "task").get(JUDGED_BY))


def _explained(
    recorded: RecordedSimulation, domain: Domain, judged_by: object = None
) -> FailureDiagnosis:
    try:
        explanation, label = explain_and_label(
            recorded.simulation,
            domain=domain,
            task=mapping(judged_by) or None,
            solo=recorded.solo,
            version=recorded.version,
        )
    except UnknownTaskError as error:
        return FailureDiagnosis(Label("unclear", "unknown task", "no such task", (str(error),)))
    except NoJudgeError as error:
        return FailureDiagnosis(_left_to_a_judge(recorded, error))
    if label is None:
        seen = ("recorded as failed, but it passes when it is judged again",)
        label = Label("infrastructure", "verdict not reproduced", "judged again", seen)
    return FailureDiagnosis(label, explanation)


def _left_to_a_judge(recorded: RecordedSimulation, error: NoJudgeError) -> Label:
    """The label where only the judge's part is left: by what it said, if it was asked."""
    said = entries(mapping(recorded.verdict).get("nl_assertions"))
    unmet = [mapping(each) for each in said if mapping(each).get("met") is False]
    if not unmet:
        return Label("unclear", "needs a judge", "no judge", (str(error),))
    evidence = tuple(f"{each.get('nl_assertion')}: {each.get('justification')}" for each in unmet)
    return Label("unclear", "assertion not met", "what the judge said", evidence)


def _broken(omitted: Omitted) -> Label:
    """The label of a simulation that did not finish."""
    evidence = (f"{omitted.status}: {omitted.reason}",)
    if omitted.status == TaskExecutionStatus.AGENT_ERROR.value:
        return Label("agent", "raised an error", "status of the run", evidence)
    if omitted.status == TaskExecutionStatus.CONTEXT_OVERFLOW.value:
        return Label("agent", "context overflow", "status of the run", evidence)
    return Label("infrastructure", "did not finish", "status of the run", evidence)


def _label_counts(found: Mapping[Simulation, FailureDiagnosis | None]) -> LabelSummary:
    """The labels of a run counted, and pass^k with outer failures apart."""
    return summarise_labels(
        Labelled(f"{one.domain}/{one.task_id}", None if each is None else each.label)
        for one, each in found.items()
    )


@dataclass(frozen=True)
class ReportTimeline:
    """The world after each message, in the form that the viewer shows."""

    found: Timeline

    def to_dict(self) -> Mapping[str, object]:
        """The whole timeline in JSON's terms."""
        return self.found.to_dict()

    def search_form(self, words: str, message: int | None) -> Mapping[str, object]:
        """The records with these words in them after a message, or at the start."""
        return search_form(self.found.search(words, message))


class Tau2Support(BenchmarkSupport):
    """Explains failures, and reads results files of tau2-bench."""

    def diagnosis(self, report: Report) -> FailureDiagnosis | None:
        return diagnosed(report)

    def run_diagnosis(self, folder: Recording, on_progress: OnProgress | None) -> RunDiagnosis:
        found: dict[Simulation, FailureDiagnosis | None] = {}
        total = len(folder.recorded)
        for number, report in enumerate(folder.reports(), 1):
            found[Simulation.of(report)] = diagnosed(report)
            if on_progress is not None:
                on_progress(number, total)
        return RunDiagnosis(found, _label_counts(found))

    def unexplained(self, folder: Recording) -> str | None:
        unknown = sorted({one.domain for one in folder.planned} - set(domain_names()))
        if not unknown:
            return None
        own = mapping(folder.config.values, "own_domains", unknown[0])
        reference = own.get("reference") or "FILE.py:NAME"
        return (
            f"failures are not explained, because domain {unknown[0]!r} is not known here; "
            f"name its file: --domain {reference}"
        )

    def timeline(self, report: Report) -> ReportTimeline | None:
        return timeline_of_report(report)

    def conventions(
        self, folder: Recording, lines: Sequence[SimulationLine]
    ) -> list[ConventionScore]:
        return conventions_of_lines(lines, folder.config.values)

    def task_title(self, report: Report) -> str | None:
        domain, task_id, _ = Simulation.of(report)
        try:
            release = release_of_report(report)
            return reason_for_call(load_raw_task(domain, task_id, version=release)) or None
        except MASEvalError:  # the data is elsewhere, or the domain somebody else's
            return None

    def findings(self, folder: Recording) -> TaskFindings:
        wanted = {one[:2] for one in folder.recorded}
        domains = [*dict.fromkeys(domain for domain, _ in wanted)]
        release = release_of_report(next(iter(folder.reports())))
        found: dict[tuple[str, str], list[tuple[str, str]]] = {}
        try:
            remarks = audit(domains, data_version=release.name).remarks
        except MASEvalError:  # the data is elsewhere, or the domain somebody else's
            return found
        for remark in remarks:
            key = remark.domain, str(remark.task_id)
            if key in wanted and remark.severity in _BADGES:
                found.setdefault(key, []).append((remark.kind, f"{remark.meaning}: {remark.text}"))
        return found

    def certificate(self, folder: RunFolder) -> str:
        return certify(folder.path, partial=True).certificate.to_json()

    def uncertified(self, certificate: Path, folder: RunFolder) -> list[str]:
        return verify(certificate, folder.path).differences

    def other_data(self, folder: RunFolder) -> list[str]:
        return differing_data(folder.config.values)

    def settings(self, folder: RunFolder) -> dict[str, object]:
        config = super().settings(folder)
        data = config.get("data")
        if isinstance(data, Mapping):
            # One word for each domain, so that other data takes one line to report.
            config["data"] = {domain: digest(files) for domain, files in data.items()}
        texts = config.get("texts")
        if isinstance(texts, Mapping):
            config["texts"] = format_texts_config(texts)
        return config

    def holds_results(self, path: Path) -> bool:
        return has_simulations(path)

    def recording(self, path: Path, options: ScoringOptions) -> ResultsRun:
        return ResultsRun(path, options)

    def recorded_outcomes(
        self, path: Path, options: ScoringOptions, on_progress: OnScored | None = None
    ) -> RecordedOutcomes:
        return outcomes_of_file(path, options, on_progress)

    def run_outcomes(
        self, folder: RunFolder, options: ScoringOptions, on_progress: OnScored | None = None
    ) -> RecordedOutcomes:
        return outcomes_of_run(folder, self.settings(folder), options, on_progress)


SUPPORT = Tau2Support()


def timeline_of_report(report: Report) -> ReportTimeline | None:
    """The timeline of a simulation, also of one that was cut off; None without a conversation."""
    recorded = recorded_simulation(report)
    if not recorded.get("messages"):
        return None
    environment = mapping(report, "config", "environment")
    release = release_of_report(report)
    domain = release.domain(str(environment["domain"]))
    if mapping(report, "config", "benchmark", "tau2").get("lenient_order_ids"):
        domain = domain.lenient
    judged_by = mapping(report, "task").get(JUDGED_BY)
    found = timeline(
        {**recorded, "task_id": report["task_id"]},
        domain,
        cast(Mapping[str, Any], judged_by) if judged_by else None,
        solo=bool(environment.get("solo")),
        version=release,
    )
    return ReportTimeline(found)
