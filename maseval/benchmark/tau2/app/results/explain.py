"""``maseval tau2 explain``: the reasons for a verdict, and the diagnosis of every failure of a run.

A diagnosis is the rule-based label of a failure, with the explanation where there is a verdict to
explain. Reports, the viewer and ``maseval show`` get it by way of ``Tau2Support``.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from maseval.app.results.explained import Section, VerdictExplanation, sections_of
from maseval.app.results.finding import trial_numbered, trials_named
from maseval.app.results.recording import line_of
from maseval.benchmark.tau2.app.results.comply import check_item, check_report
from maseval.benchmark.tau2.app.results.findings import cause_of
from maseval.benchmark.tau2.app.results.sound import errata_of_report
from maseval.benchmark.tau2.app.results.sources import (
    SimulationSource,
    open_source,
    read_report,
    simulation_id,
)
from maseval.benchmark.tau2.data_loader import UnknownTaskError
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.rescoring.findings import record_findings
from maseval.benchmark.tau2.rescoring.record import RecordItem, SimulationRecord
from maseval.benchmark.tau2.rescoring.record_finding import in_words
from maseval.benchmark.tau2.rescoring.rescore import RescoredRecord
from maseval.benchmark.tau2.rescoring.verdict import RescoredSimulation
from maseval.benchmark.tau2.results import Omitted, RecordedSimulation
from maseval.benchmark.tau2.review.explain import Explanation, WrongField
from maseval.benchmark.tau2.review.explain.explanation import (
    CHECKS,
    END_STATE,
    format_value,
    render_call,
)
from maseval.benchmark.tau2.review.explain.scored_case import score_opened
from maseval.benchmark.tau2.review.labels import Label, explain_and_label
from maseval.benchmark.tau2.review.labels.label import explain_and_label_scored
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.core.exceptions import ConfigurationError
from maseval.core.finding import Finding
from maseval.core.outcome import RecordedReport, is_successful
from maseval.core.report import Report, TaskExecutionStatus
from maseval.core.scoring_options import ScoringOptions
from maseval.runs import RunFolder, Simulation
from maseval.stats.failure_labels import misfit_label

# The page shows the checks with the verdict, and the fields of the end state as a table.
_SHOWN_ELSEWHERE = (CHECKS, END_STATE)


@dataclass(frozen=True)
class Explained:
    """A simulation, the reasons for its verdict, and the label of its failure, if it failed.

    ``causes`` say why its record is not what was recomputed, and ``marks`` by which task it was
    judged if not by the benchmark's own. ``policy`` says which rules of the policy it broke.
    """

    path: Path
    simulation: Simulation
    explanation: Explanation
    label: Label | None
    causes: tuple[Finding, ...] = ()
    marks: tuple[str, ...] = ()
    policy: Sequence[Finding] = ()

    def sections(self) -> list[Section]:
        """Return the explanation in words, the faults of the record first."""
        faults = [Section("What is wrong with the record", list(map(in_words, self.causes)))]
        marks = [Section(mark) for mark in self.marks]
        causes = [] if self.label is None else [cause_of(self.label)]
        explained = VerdictExplanation(self.explanation.summary, _sections(self.explanation))
        words = sections_of([*causes, *self.policy], explained)
        return [*(faults if self.causes else ()), *marks, *words]

    def to_dict(self) -> dict[str, object]:
        """Return the explanation as JSON."""
        return {
            "path": str(self.path),
            **self.simulation._asdict(),
            "causes": [cause.to_dict() for cause in self.causes],
            "marks": list(self.marks),
            "label": None if self.label is None else self.label.to_dict(),
            "explanation": self.explanation.to_dict(),
            "policy": [each.to_dict() for each in self.policy],
        }


def explain(
    run: str | os.PathLike[str],
    task: str,
    trial: int | None = None,
    *,
    domain: str | None = None,
    embedded_tasks: bool = False,
    remap_tasks: bool = False,
    data_version: str | None = None,
) -> Explained:
    """Explain a simulation of a run, or of a results file of tau2-bench.

    Without ``trial`` it is the task's first trial that did not pass, or the first if all did.
    ``domain`` is used whatever the file calls its own. A file's simulation is judged by the
    benchmark's task, with ``embedded_tasks`` by the file's, and with ``remap_tasks`` by the one to
    which its recorded checks belong. ``data_version`` names the release by which it is judged.
    """
    source = open_source(run)
    options = ScoringOptions(False, embedded_tasks, remap_tasks, domain, data_version)
    if source.folder is None:
        return _explain_in_file(source, task, trial, options)
    chosen, recorded, rules = _choose_trial(source.folder, task, trial)
    explanation, label = _explain(chosen, recorded, rules)
    policy = check_report(source.folder.report(chosen))
    return Explained(source.path, chosen, explanation, label, policy=policy)


def _explain(
    simulation: Simulation,
    recorded: RecordedSimulation | RecordItem,
    domain: Domain,
    task: Mapping[str, object] | None = None,
) -> tuple[Explanation, Label | None]:
    solo, version = recorded.solo, recorded.version
    try:
        return explain_and_label(
            recorded.simulation, domain=domain, task=task, solo=solo, version=version
        )
    except NoJudgeError as error:
        raise ConfigurationError(
            f"{simulation}: every check passes but that of a judge model, which alone decides; "
            "`maseval tau2 score` with --judge-model asks one"
        ) from error


RunTrial = tuple[Simulation, RecordedSimulation, Domain]


def _choose_trial(folder: RunFolder, task: str, trial: int | None) -> RunTrial:
    trials = trials_named(task, folder.planned, folder.recorded, folder.path)
    if trial is not None:
        trials = [trial_numbered(trial, trials)]
    first: RunTrial | None = None
    for each in trials:
        found = read_report(folder.report(each))
        if isinstance(found, Omitted):
            if trial is not None:
                raise ConfigurationError(
                    f"{each} {_status(folder, each)}, so there is no verdict to explain; "
                    f"`maseval show {folder.path} {task} {trial}` shows what happened"
                )
            continue
        recorded = found.recorded
        if first is None or (_is_passed(first[1]) and not _is_passed(recorded)):
            first = each, recorded, found.parsed.world
    if first is None:
        raise ConfigurationError(
            f"no trial of {trials[0].domain}/{trials[0].task_id} finished (trial "
            f"{trials[0].trial} {_status(folder, trials[0])}), so there is no verdict to explain; "
            f"`maseval show {folder.path} {task}` shows what happened"
        )
    return first


def _status(folder: RunFolder, simulation: Simulation) -> str:
    line = line_of(folder.report(simulation))
    return f"ended with {line.status}: {line.error}" if line.error else f"ended with {line.status}"


def _is_passed(recorded: RecordedSimulation) -> bool:
    return recorded.verdict is not None and is_successful(recorded.verdict["reward"])


def _explain_in_file(
    source: SimulationSource, task: str, trial: int | None, options: ScoringOptions
) -> Explained:
    every = source.simulations(options.domain, options.data_version).items
    ids = [simulation_id(item) for item in every]
    trials = trials_named(task, ids, ids, source.path)
    if trial is not None:
        trials = [trial_numbered(trial, trials)]
    whole = source.simulations(options.domain, options.data_version)
    chosen = [
        _judge_alone(item, whole, options) for item in whole.items if simulation_id(item) in trials
    ]
    one = next((each for each in chosen if not each.judged.passed), chosen[0])
    simulation = simulation_id(one.item)
    if one.item.problem is not None:
        raise ConfigurationError(f"{simulation} cannot be explained: it is {one.item.problem}")
    explanation, label = _explain(simulation, one.item, one.item.domain, one.task)
    policy = check_item(one.item, one.task)
    if one.misfit is not None:
        label, policy = label and misfit_label(one.misfit), ()
    marks = tuple(options.marks)
    return Explained(source.path, simulation, explanation, label, one.causes, marks, policy)


class _FileTrial(NamedTuple):
    """A trial of a file with its new verdict, the task it was judged by, and its faults."""

    item: RecordItem
    judged: RescoredSimulation
    task: Mapping[str, object] | None
    causes: tuple[Finding, ...]
    misfit: str | None


def _judge_alone(item: RecordItem, whole: SimulationRecord, options: ScoringOptions) -> _FileTrial:
    task_id = str(item.simulation.get("task_id"))
    embedded = {task_id: whole.tasks[task_id]} if task_id in whole.tasks else {}
    alone = SimulationRecord(
        iter(()), domain_name=whole.domain_name, tasks=embedded, policy=whole.policy
    )
    found = RescoredRecord(alone, options)
    again = found.judge(item)
    reasons = tuple(
        each
        for each in record_findings(found)
        if each.weight != "remark" and each.kind != "missing simulations"
    )
    return _FileTrial(item, again.simulation, again.task, reasons, found.misfit(again.simulation))


def _sections(explanation: Explanation) -> list[Section]:
    return [
        Section(each.title, each.lines, each.title not in _SHOWN_ELSEWHERE)
        for each in explanation.sections()
    ]


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


class Diagnosis(NamedTuple):
    """The finding on who failed, and the explanation where there is a verdict to explain."""

    cause: Finding
    explanation: VerdictExplanation | None = None


_last: tuple[Report, Diagnosis | None] | None = None


def diagnose(report: Report) -> Diagnosis | None:
    """Return who failed a simulation and why; None if it passed.

    The finding and the explanation are asked for in turn, so that the last one is kept.
    """
    global _last
    last = _last
    if last is None or last[0] is not report:
        _last = last = report, _diagnose(report)
    return last[1]


def _diagnose(report: Report) -> Diagnosis | None:
    if RecordedReport(report).kind == "pass":
        return None
    found = read_report(report)
    if isinstance(found, Omitted):
        return Diagnosis(cause_of(_label_unfinished(found)))
    try:
        errata = errata_of_report(found)
        explanation, label = explain_and_label_scored(score_opened(found.case, errata))
    except UnknownTaskError as error:
        return Diagnosis(cause_of(Label("unclear", "unknown task", "no such task", (str(error),))))
    except NoJudgeError as error:
        return Diagnosis(cause_of(_label_by_judge(found.recorded, error)))
    if label is None:
        seen = ("recorded as failed, but it passes when it is judged again",)
        label = Label("infrastructure", "verdict not reproduced", "judged again", seen)
    # Passes have sound verdicts as well, so that commands and pages tell them apart from this.
    explanation = replace(explanation, sound=None)
    fields = [_field(each) for each in explanation.wrong_fields]
    explained = VerdictExplanation(explanation.summary, _sections(explanation), fields)
    return Diagnosis(cause_of(label), explained)


def _label_by_judge(recorded: RecordedSimulation, error: NoJudgeError) -> Label:
    """Return the label where only the judge's part is left: by its replies, if it was asked."""
    replies = recorded.verdict and recorded.verdict.get("nl_assertions")
    unmet = [each for each in replies or () if each["met"] is False]
    if not unmet:
        return Label("unclear", "needs a judge", "no judge", (str(error),))
    evidence = tuple(f"{each['nl_assertion']}: {each['justification']}" for each in unmet)
    return Label("unclear", "assertion not met", "what the judge said", evidence)


def _label_unfinished(omitted: Omitted) -> Label:
    evidence = (f"{omitted.status}: {omitted.reason}",)
    if omitted.status == TaskExecutionStatus.AGENT_ERROR.value:
        return Label("agent", "raised an error", "status of the run", evidence)
    if omitted.status == TaskExecutionStatus.CONTEXT_OVERFLOW.value:
        return Label("agent", "context overflow", "status of the run", evidence)
    return Label("infrastructure", "did not finish", "status of the run", evidence)
