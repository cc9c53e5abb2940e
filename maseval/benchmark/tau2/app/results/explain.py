"""``maseval tau2 explain``: the reasons for a verdict, and the diagnosis of every failure of a run.

A diagnosis is the rule-based label of a failure, with the explanation where there is a verdict to
explain. Reports, the viewer and ``maseval show`` get it by way of ``Tau2Support``.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from maseval.app.results.explained import Section, VerdictExplanation, sections_of
from maseval.app.results.finding import (
    open_recording,
    trial_numbered,
    trials_named,
    warn_of_damage,
)
from maseval.app.results.recording import line_of
from maseval.benchmark.tau2.app.results.comply import check_report
from maseval.benchmark.tau2.app.results.findings import cause_of
from maseval.benchmark.tau2.app.results.recorded_setup import TAU2
from maseval.benchmark.tau2.app.results.results_file_run import ResultsFileRun
from maseval.benchmark.tau2.app.results.sound import errata_of_report
from maseval.benchmark.tau2.app.results.sources import ReadReport, read_report
from maseval.benchmark.tau2.data_loader import UnknownTaskError
from maseval.benchmark.tau2.rescoring.findings import in_words
from maseval.benchmark.tau2.results import Omitted
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
from maseval.core.recorded import entries, mapping
from maseval.core.report import Report, TaskExecutionStatus
from maseval.core.scoring_options import ScoringOptions
from maseval.runs import Simulation
from maseval.runs.recording import Recording
from maseval.runs.verdict_check import doubt_in
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
    options = ScoringOptions(False, embedded_tasks, remap_tasks, domain, data_version)
    recording = open_recording(run, options, TAU2)
    warn_of_damage(recording)
    chosen, found = _choose_trial(recording, task, trial)
    try:
        explanation, label = explain_and_label(
            found.simulation,
            domain=found.parsed.world,
            task=found.parsed.judged_by,
            solo=found.parsed.solo,
            version=found.parsed.release.name,
        )
    except NoJudgeError as error:
        raise ConfigurationError(
            f"{chosen}: every check passes but that of a judge model, which alone decides; "
            "`maseval tau2 score` with --judge-model asks one"
        ) from error
    report = recording.report(chosen)
    policy, doubt = check_report(report), doubt_in(report)
    if doubt is not None and doubt.is_misfit:
        label, policy = label and misfit_label(doubt.text), ()
    explained = Explained(recording.path, chosen, explanation, label, policy=policy)
    if isinstance(recording, ResultsFileRun):
        explained = replace(explained, causes=tuple(recording.faults), marks=tuple(options.marks))
    return explained


RunTrial = tuple[Simulation, ReadReport]


def _choose_trial(folder: Recording, task: str, trial: int | None) -> RunTrial:
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
        if first is None or (_is_passed(first[1]) and not _is_passed(found)):
            first = each, found
    if first is None:
        raise ConfigurationError(
            f"no trial of {trials[0].domain}/{trials[0].task_id} finished (trial "
            f"{trials[0].trial} {_status(folder, trials[0])}), so there is no verdict to explain; "
            f"`maseval show {folder.path} {task}` shows what happened"
        )
    return first


def _status(folder: Recording, simulation: Simulation) -> str:
    line = line_of(folder.report(simulation))
    return f"ended with {line.status}: {line.error}" if line.error else f"ended with {line.status}"


def _is_passed(found: ReadReport) -> bool:
    verdict = found.simulation["reward_info"]
    return verdict is not None and is_successful(verdict["reward"])


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
        return Diagnosis(cause_of(_label_by_judge(found, error)))
    if label is None:
        seen = ("recorded as failed, but it passes when it is judged again",)
        label = Label("infrastructure", "verdict not reproduced", "judged again", seen)
    # Passes have sound verdicts as well, so that commands and pages tell them apart from this.
    explanation = replace(explanation, sound=None)
    fields = [_field(each) for each in explanation.wrong_fields]
    explained = VerdictExplanation(explanation.summary, _sections(explanation), fields)
    return Diagnosis(cause_of(label), explained)


def _label_by_judge(found: ReadReport, error: NoJudgeError) -> Label:
    """Return the label where only the judge's part is left: by its replies, if it was asked."""
    replies = mapping(found.simulation, "reward_info").get("nl_assertions")
    unmet = [each for each in map(mapping, entries(replies)) if each["met"] is False]
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
