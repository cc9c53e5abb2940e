"""``maseval show``: a run, or one of its simulations, for a reader."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Unpack

from maseval.app.benchmarks import Diagnosis, OnProgress, support_for
from maseval.app.results.clean import PolicyCheck, RunCompliance
from maseval.app.results.examined import (
    LINE,
    REASONS,
    VERDICT,
    ExaminedRun,
    examine_run,
)
from maseval.app.results.finding import open_recording, trial_numbered, trials_named, warn_of_damage
from maseval.app.results.recording import line_of, notes_on, simulation_in
from maseval.app.results.results import RunSummary, run_summary
from maseval.app.results.sound import ScoreBeside, SoundCheck, scores_beside, scores_in_json
from maseval.app.results.task_names import TaskName
from maseval.app.results.user_faults import UserCheck, UserScore, played_users, user_scores
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import RecordedReport, SimulationLine
from maseval.core.recorded import Shape
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.core.storage.redaction import redact
from maseval.report.checks import shown_verdicts, state_changes
from maseval.report.conversation import conversation
from maseval.runs import Annotations, Remark, Simulation
from maseval.runs.annotations import annotations_or_problem
from maseval.runs.live import WorkerHistory
from maseval.runs.recording import Recording
from maseval.runs.remarks import remarks_by_simulation
from maseval.runs.verdict_check import VerdictCheck, doubt_in
from maseval.stats.failure_labels import LabelSummary
from maseval.stats.first_failures import summarise_run
from maseval.stats.summary import Ks


@dataclass(frozen=True)
class RunView:
    """A run: its configuration, its numbers, and every simulation in a line.

    ``labels`` counts who failed, and ``label_of`` names it for each simulation, if that was asked
    for and the benchmark can say; ``unexplained`` is why it cannot. ``chosen`` are the lines that
    were asked for, all of them by default. ``workers`` tells of processes on other machines.
    ``check`` compares the recorded verdicts with recomputed ones, ``compliance`` says which
    simulations kept the policy, and ``sound`` has the sound verdicts, if the benchmark can do that;
    ``beside`` has the numbers beside the official one.
    """

    folder: Recording
    summary: RunSummary
    lines: Sequence[SimulationLine]
    chosen: Sequence[SimulationLine] = ()
    labels: LabelSummary | None = None
    label_of: Mapping[Simulation, str] = field(default_factory=dict)
    unexplained: str | None = None
    annotations: Annotations = field(default_factory=Annotations)
    unreadable_annotations: str | None = None
    workers: WorkerHistory = field(default_factory=WorkerHistory)
    check: VerdictCheck | None = None
    compliance: RunCompliance | None = None
    sound: Mapping[Simulation, SoundCheck] = field(default_factory=dict)
    beside: Sequence[ScoreBeside] = ()
    users: Sequence[UserScore] = ()
    reading: str | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the numbers, and a row for each chosen simulation, as JSON without secrets."""
        scores = [] if self.compliance is None else self.compliance.scores
        return redact(
            {
                "path": str(self.folder.path),
                **self.summary.to_dict(),
                "notes": notes_on(self.folder),
                "verdicts": None if self.check is None else self.check.to_dict(),
                "labels": self.labels,
                "reading": self.reading,
                "clean": [each.to_dict() for each in scores],
                **scores_in_json(self.beside),
                "simulations": [
                    {
                        **_row(line),
                        "label": self.label_of.get(simulation_in(line)),
                        "sound": _sound_form(self.sound.get(simulation_in(line))),
                    }
                    for line in self.chosen
                ],
            }
        )


@dataclass(frozen=True)
class SimulationView:
    """One simulation: the conversation, the changes it made, and the reasons of its verdict.

    ``messages``, ``verdicts`` and ``changes`` have the form that the HTML report shows. ``trials``
    are all recorded trials of the same task. ``diagnosis`` says who failed, and why, and ``policy``
    which of its rules were broken; ``sound`` is the sound verdict, and ``title`` what the task is
    about. ``misstatement`` says how the recorded verdict differs from the recomputed one, if it
    does, and ``doubt`` why the verdict is not to be believed: for that reason, or because the task
    is not that of the conversation.
    """

    line: SimulationLine
    trials: Sequence[SimulationLine]
    task: Shape
    messages: Sequence[Shape]
    verdicts: Sequence[Shape]
    changes: Sequence[Shape]
    error: Shape | None
    title: str | None = None
    diagnosis: Diagnosis | None = None
    unexplained: str | None = None
    misstatement: str | None = None
    doubt: str | None = None
    policy: PolicyCheck | None = None
    sound: SoundCheck | None = None
    user: UserCheck | None = None
    remarks: Sequence[Remark] = ()

    def to_dict(self) -> dict[str, object]:
        """Return all that is shown of it as JSON without secrets."""
        return redact(
            {
                **_row(self.line),
                "title": self.title,
                "label": None if self.diagnosis is None else self.diagnosis.name,
                "misstatement": self.misstatement,
                "doubt": self.doubt,
                "policy": None if self.policy is None else self.policy.to_dict(),
                "sound": _sound_form(self.sound),
                "user": None if self.user is None else self.user.to_dict(),
                "remarks": [each.to_dict() for each in self.remarks],
                "verdicts": self.verdicts,
                "changes": self.changes,
                "messages": self.messages,
            }
        )


def _sound_form(check: SoundCheck | None) -> dict[str, object] | None:
    return None if check is None else check.to_dict()


def _row(line: SimulationLine) -> dict[str, object]:
    return {**line._asdict(), "passed": line.passed}


def show(
    run: str | os.PathLike[str],
    task: str | None = None,
    trial: int | None = None,
    *,
    failed: bool = False,
    label: str | None = None,
    explain: bool = True,
    all_k: bool = False,
    on_progress: OnProgress | None = None,
    **scoring: Unpack[ScoringKeywords],
) -> RunView | SimulationView:
    """Return a run, or with ``task`` one of its simulations; by default the task's first trial.

    With ``explain`` failures are labelled and explained, if the benchmark can do that. ``failed``,
    ``domain`` and ``label`` (or a part of one) choose among the simulations; of a task, the first
    trial that fits. Of a run's pass^k the usual ones are found, or ``all_k``. ``scoring`` also
    says how a results file is scored: the fields of ``ScoringOptions``.
    """
    folder, domain = open_recording(run, ScoringOptions(**scoring)), scoring.get("domain")
    if label is not None and not explain:
        raise ConfigurationError(
            f"label is {label!r}, but labels come from explaining the failures; leave out "
            "--no-explain (explain=False)"
        )
    wanted = _Wanted(failed, domain, label)
    if task is None:
        return _run_view(folder, wanted, explain, on_progress, "all" if all_k else None)
    warn_of_damage(folder)
    planned = [one for one in folder.planned if domain in (None, one.domain)]
    trials = trials_named(task, planned, folder.recorded, folder.path)
    if trial is None:
        chosen = _first_wanted(folder, trials, wanted)
    else:
        chosen = trial_numbered(trial, trials)
    return _simulation_view(folder, chosen, trials, explain)


class _Wanted(NamedTuple):
    """The filters that choose among the simulations of a run."""

    failed: bool
    domain: str | None
    label: str | None

    def includes(self, line: SimulationLine, label: str) -> bool:
        return (
            (not self.failed or line.outcome != "pass")
            and self.domain in (None, line.domain)
            and (self.label is None or self.label.casefold() in label.casefold())
        )


def _first_wanted(folder: Recording, trials: Sequence[Simulation], wanted: _Wanted) -> Simulation:
    run, parts = ExaminedRun(folder), (*LINE, *(REASONS[:1] if wanted.label else ()))
    for each in trials:
        line, found = (examined := run.examine(each, parts)).line, examined.diagnosis
        if line is not None and wanted.includes(line, found.name if found else ""):
            return each
    task = TaskName(trials[0].domain, trials[0].task_id)
    raise ConfigurationError(f"none of the {len(trials)} trials of {task} matches")


def _run_view(
    folder: Recording, wanted: _Wanted, explain: bool, on_progress: OnProgress | None, ks: Ks
) -> RunView:
    if wanted.domain is not None and wanted.domain not in {one.domain for one in folder.planned}:
        domains = ", ".join(dict.fromkeys(one.domain for one in folder.planned))
        raise ConfigurationError(f"{folder.path} has no domain {wanted.domain!r}; it has {domains}")
    found = examine_run(folder, REASONS if explain else (), on_progress)
    folder, lines, reasons = found.folder, found.lines, found.diagnosis
    label_of = {one: each.name for one, each in reasons.found.items() if each} if reasons else {}
    conventions = support_for(folder).conventions(folder, lines)
    outcomes, k = [line.to_outcome() for line in lines], folder.config.stops_at_failure
    summary = summarise_run(outcomes, folder.planned, k, ks)
    return RunView(
        folder,
        run_summary(lines, folder.planned, conventions, folder.config, summary),
        lines,
        [line for line in lines if wanted.includes(line, label_of.get(simulation_in(line), ""))],
        None if reasons is None else reasons.labels,
        label_of,
        found.unexplained,
        *annotations_or_problem(folder.path),
        WorkerHistory.of(folder.path),
        found.check,
        found.compliance,
        found.sound or {},
        scores_beside(
            outcomes,
            folder.planned,
            user_faults=None if reasons is None else reasons.user_faults,
            checks=found.sound,
        ),
        user_scores(
            played_users(found.users, [simulation_in(line) for line in lines if line.passed])
        ),
        _reading(folder, lines),
    )


def _reading(folder: Recording, lines: Sequence[SimulationLine]) -> str | None:
    """Say how many verdicts readers disagree with, or why their remarks cannot be read."""
    remarks, problem = remarks_by_simulation(folder.path)
    if not remarks:
        return problem
    from maseval.report.index import reading_note  # all of a page, for a sentence

    own = ((line.outcome, remarks.get(simulation_in(line), ())) for line in lines)
    return reading_note((now, each.to_dict()) for now, some in own for each in some)


def _simulation_view(
    folder: Recording, chosen: Simulation, recorded: Sequence[Simulation], explain: bool
) -> SimulationView:
    report, run = folder.report(chosen), ExaminedRun(folder)
    parsed = RecordedReport(report)
    messages = conversation(parsed)
    unexplained = run.obstacle("explanation_obstacle") if explain else None
    checking = run.begin_check()
    checked = checking is not None and checking.obstacle is None
    verdict = run.examine(chosen, VERDICT, report).verdict if checked else None
    reasons = REASONS if explain and unexplained is None else ()
    # The reasons are those of the verdict as it is recorded, which the page shows as well.
    found = run.examine(chosen, reasons, report)
    lines = [line for one in recorded if (line := run.examine(one, LINE).line) is not None]
    run.save()
    doubt = doubt_in(report) if verdict is None else verdict.doubt
    return SimulationView(
        line=line_of(report),
        trials=lines,
        task=report["task"],
        messages=messages,
        verdicts=shown_verdicts(parsed, messages),
        changes=state_changes(parsed),
        error=report["error"],
        title=run.support.task_title(report),
        diagnosis=found.diagnosis,
        policy=found.policy,
        sound=found.sound,
        user=found.model_user,
        unexplained=unexplained,
        misstatement=None if verdict is None else verdict.text,
        doubt=None if doubt is None else doubt.text,
        remarks=remarks_by_simulation(folder.path)[0].get(chosen, ()),
    )
