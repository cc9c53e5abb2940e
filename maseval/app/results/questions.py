"""The questions that commands ask of any recording, and its benchmark answers.

``maseval show``, ``explain``, ``comply``, ``users``, ``score``, and ``export`` in original form.
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from maseval.app.benchmarks import (
    BenchmarkSupport,
    ExportedPath,
    OnProgress,
    all_support,
    support_that_answers,
)
from maseval.app.results.examined import (
    FINDINGS,
    REASONS,
    TITLE,
    VERDICT,
    ExaminedRun,
    RunFindings,
    examine_run,
)
from maseval.app.results.explained import VerdictExplanation, cause_in, sections_of
from maseval.app.results.finding import (
    open_recording,
    open_run_or_file,
    trial_numbered,
    trials_named,
    warn_of_damage,
)
from maseval.app.results.recording import notes_on
from maseval.app.results.results import RunSummary
from maseval.app.results.variants import SOUND, UserScore, VariantScore
from maseval.core.exceptions import ConfigurationError
from maseval.core.finding import Finding, Section
from maseval.core.outcome import Outcome, RecordedReport, Simulation
from maseval.core.recorded import Shape
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.core.storage.redaction import redact
from maseval.core.teamwork import AgentWork
from maseval.report.checks import shown_verdicts
from maseval.report.conversation import ShownMessage, conversation
from maseval.runs import RunFolder
from maseval.runs.config_file import is_run_folder
from maseval.runs.recording import Recording
from maseval.runs.verdict_check import doubt_in

Files = Sequence[str | os.PathLike[str]]


def files_below(files: Files) -> Files:
    """Return these runs and files; of a folder that is not a run, the results files in it."""
    found: list[str | os.PathLike[str]] = []
    for name in files:
        folder = Path(name)
        below: list[Path] = []
        if folder.is_dir() and not is_run_folder(folder) and not (folder / "results.json").exists():
            below = [path for each in all_support() for path in each.results_below(folder)]
        found += below or [name]
    return found


class RuleCount(NamedTuple):
    """The number of passes, and of all simulations, in which a rule came to one kind of finding."""

    rule: str
    kind: str
    passes: int
    simulations: int


@dataclass(frozen=True)
class ReviewedRun:
    """A run or results file, and what rules found about the agent or the user of its simulations.

    ``scores`` are the numbers that follow for the agent; ``user`` is how often the simulated user
    was at fault. ``notes`` say how its verdicts came about, and what the rules do not cover.
    """

    path: Path
    found: Mapping[Simulation, Sequence[Finding]]
    passes: AbstractSet[Simulation]
    notes: Sequence[str]
    scores: Sequence[VariantScore] = ()
    user: UserScore | None = None

    @property
    def rules(self) -> list[RuleCount]:
        """The number of simulations by rule and kind; each counts once, however often it is so."""
        every, passing = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        for one, findings in self.found.items():
            keys = {(each.rule, each.kind) for each in findings}
            every.update(keys)
            passing.update(keys if one in self.passes else ())
        ranked = sorted(every, key=lambda key: (key[1], -every[key], key[0]))
        return [RuleCount(*key, passing[key], every[key]) for key in ranked]

    def to_dict(self) -> dict[str, object]:
        return {
            "path": str(self.path),
            "notes": list(self.notes),
            "scores": [each.to_dict() for each in self.scores],
            "user": self.user and self.user.to_dict(),
            "rules": [each._asdict() for each in self.rules],
            "simulations": [
                {
                    **one._asdict(),
                    "passed": one in self.passes,
                    "findings": [each.to_dict() for each in findings],
                }
                for one, findings in self.found.items()
            ],
        }


def comply(
    files: Files,
    *,
    on_progress: OnProgress | None = None,
    **scoring: Unpack[ScoringKeywords],
) -> list[ReviewedRun]:
    """Check the simulations of runs and results files against the rules of their policy.

    ``scoring`` are the fields of ``ScoringOptions``.
    """
    return [_comply(each, on_progress) for each in _open_all(files, scoring)]


def users(
    files: Files,
    *,
    on_progress: OnProgress | None = None,
    **scoring: Unpack[ScoringKeywords],
) -> list[ReviewedRun]:
    """Look for faults of the simulated user in runs and results files, passes and failures alike.

    ``scoring`` are the fields of ``ScoringOptions``.
    """
    return [_check_users(each, on_progress) for each in _open_all(files, scoring)]


def _open_all(files: Files, scoring: ScoringKeywords) -> list[Recording]:
    """Open every file before any is examined, so that a wrong name is told at once."""
    return [open_recording(file, ScoringOptions(**scoring)) for file in files_below(files)]


def _comply(folder: Recording, on_progress: OnProgress | None) -> ReviewedRun:
    support = support_that_answers(folder, "findings")
    found = examine_run(folder, FINDINGS, on_progress)
    without_rules = support.domains_without_rules(folder)
    notes: list[str | None] = [
        None if found.check is None else found.check.note_on_recomputed,
        *notes_on(folder),
        *support.conduct_notes(folder),
        folder.config.subset and folder.config.subset.note,
        *(
            f"the domain {each} has no rules: its passes cannot be checked"
            for each in without_rules
        ),
    ]
    return ReviewedRun(
        folder.path,
        {
            one: [each for each in findings if each.source == "policy"]
            for one, findings in found.findings.items()
            if one.domain not in without_rules
        },
        found.passes,
        [note for note in notes if note],
        [each for each in found.scores if each.counted != SOUND.name],
    )


def _check_users(folder: Recording, on_progress: OnProgress | None) -> ReviewedRun:
    support = support_that_answers(folder, "findings")
    found = examine_run(folder, FINDINGS, on_progress)
    notes = [*filter(None, [support.user_faults()]), *notes_on(folder)]
    played = found.user_findings
    return ReviewedRun(folder.path, played, found.passes, notes, user=found.user_score)


def score(files: Files, **options: Any) -> Any:
    """Judge runs and results files again; ``options`` are those of the benchmark's ``score``."""
    files = files_below(files)
    for found in map(open_run_or_file, files):
        if isinstance(found, RunFolder):
            support = support_that_answers(found, "score", built_on=True)
            return support.score(files, **options)
    for support in all_support():
        if support.answers("score"):
            return support.score(files, **options)
    raise ConfigurationError("no installed benchmark can judge recorded conversations again")


def export_formats() -> list[str]:
    """Return the names of the forms that the installed benchmarks write."""
    return [each.exports for each in all_support() if each.exports]


def export(
    run: str | os.PathLike[str],
    form: str,
    output: str | os.PathLike[str] | None = None,
    *,
    overwrite: bool = False,
) -> Sequence[ExportedPath]:
    """Write a run as the files of its original benchmark, such as ``tau2-bench``."""
    target = None if output is None else Path(output)
    for each in all_support():
        if each.exports == form:
            return each.export(run, target, overwrite=overwrite)
    raise ConfigurationError(f"form is {form!r}; give one of {', '.join(export_formats())}")


@dataclass(frozen=True)
class RunView:
    """A run: its configuration, its numbers, and every simulation in a line.

    ``found`` has the findings about each simulation, and the numbers beside the official one.
    ``chosen`` are the lines that were asked for, all of them by default.
    """

    found: RunFindings
    summary: RunSummary
    chosen: Sequence[Outcome] = ()

    @property
    def folder(self) -> Recording:
        return self.found.folder

    @property
    def lines(self) -> Sequence[Outcome]:
        return self.found.lines

    def findings_on(self, line: Outcome) -> Sequence[Finding]:
        return self.found.findings.get(line.simulation, ())

    def to_dict(self) -> dict[str, object]:
        """Return the numbers, and a row for each chosen simulation, as JSON without secrets."""
        check = self.found.check
        return redact(
            {
                "path": str(self.folder.path),
                **self.summary.to_dict(),
                "notes": notes_on(self.folder),
                "verdicts": None if check is None else check.to_dict(),
                "causes": self.found.causes,
                "scores": [each.to_dict() for each in self.found.scores],
                "simulations": [
                    {**_row(line), "findings": [e.to_dict() for e in self.findings_on(line)]}
                    for line in self.chosen
                ],
            }
        )


@dataclass(frozen=True)
class SimulationView:
    """One simulation: the conversation, and the reasons of its verdict.

    ``messages`` and ``verdicts`` have the form that the HTML report shows. ``findings`` say who
    failed, which rules were broken, and what is known of the task, and ``explanation`` why the
    verdict is what it is; ``title`` is what the task is about. ``misstatement`` says how the
    recorded verdict differs from the recomputed one, if it does, and ``doubt`` why the verdict is
    not to be believed: for that reason, or because the task is not that of the conversation.
    ``notes`` say what is wrong with the record. ``team`` has the part of each of several agents,
    and ``decider`` is the one whose message decided a failure.
    """

    line: Outcome
    task: Shape
    messages: Sequence[ShownMessage]
    verdicts: Sequence[Shape]
    error: Shape | None
    title: str | None = None
    findings: Sequence[Finding] = ()
    explanation: VerdictExplanation | None = None
    unexplained: str | None = None
    misstatement: str | None = None
    doubt: str | None = None
    notes: Sequence[str] = ()
    team: Sequence[AgentWork] = ()
    decider: str | None = None

    @property
    def sections(self) -> list[Section]:
        """The findings and the explanation in words."""
        return sections_of(self.findings, self.explanation)

    def to_dict(self) -> dict[str, object]:
        """Return all that is shown of it as JSON without secrets."""
        return redact(
            {
                **_row(self.line),
                "title": self.title,
                "misstatement": self.misstatement,
                "doubt": self.doubt,
                "notes": list(self.notes),
                "findings": [each.to_dict() for each in self.findings],
                "explanation": self.explanation and self.explanation.to_dict(),
                "verdicts": self.verdicts,
                "team": [each._asdict() for each in self.team],
                "decider": self.decider,
                "messages": self.messages,
            }
        )


def _row(line: Outcome) -> dict[str, object]:
    row = line._asdict()
    row["outcome"] = row.pop("kind")
    del row["reason"]  # which the status says
    return row


def show(
    run: str | os.PathLike[str],
    task: str | None = None,
    trial: int | None = None,
    *,
    failed: bool = False,
    explain: bool = True,
    on_progress: OnProgress | None = None,
    **scoring: Unpack[ScoringKeywords],
) -> RunView | SimulationView:
    """Return a run, or with ``task`` one of its simulations; by default the task's first trial.

    With ``explain`` findings are looked for, and failures explained, if the benchmark can do that.
    ``failed`` and ``domain`` choose among the simulations; of a task, the first trial that fits.
    ``scoring`` also says how a results file is scored: the fields of ``ScoringOptions``.
    """
    folder, domain = open_recording(run, ScoringOptions(**scoring)), scoring.get("domain")
    domains = list(dict.fromkeys(one.domain for one in folder.planned))
    if task is None:
        if domain is not None and domain not in domains:
            listed = ", ".join(domains)
            raise ConfigurationError(f"{folder.path} has no domain {domain!r}; it has {listed}")
        found = examine_run(folder, FINDINGS if explain else (), on_progress)
        chosen = [
            line
            for line in found.lines
            if domain in (None, line.domain) and not (failed and line.kind == "pass")
        ]
        return RunView(found, found.summarise(), chosen)
    warn_of_damage(folder)
    planned = [one for one in folder.planned if domain in (None, one.domain)]
    trials = trials_named(task, planned, folder.recorded, folder.path)
    lines = [RecordedReport(folder.report(one)).outcome for one in trials]
    if trial is not None:
        return _simulation_view(folder, trial_numbered(trial, trials), explain)
    for one, line in zip(trials, lines, strict=True):
        if not failed or line.kind != "pass":
            return _simulation_view(folder, one, explain)
    raise ConfigurationError(f"none of the {len(trials)} trials of {trials[0].task} failed")


def explain(
    run: str | os.PathLike[str],
    task: str,
    trial: int | None = None,
    **scoring: Unpack[ScoringKeywords],
) -> SimulationView:
    """Explain a simulation of a run or of a results file, also one that passed.

    Without ``trial`` it is the task's first trial that did not pass, or the first if all did.
    ``scoring`` are the fields of ``ScoringOptions``.
    """
    folder = open_recording(run, ScoringOptions(**scoring))
    warn_of_damage(folder)
    support = support_that_answers(folder, "findings", built_on=True)
    trials = trials_named(task, folder.planned, folder.recorded, folder.path)
    lines = [RecordedReport(folder.report(one)).outcome for one in trials]
    first = min(lines, key=lambda line: _EXPLAINED_FIRST.index(line.kind)).simulation
    chosen = first if trial is None else trial_numbered(trial, trials)
    view = _simulation_view(folder, chosen, True, support)
    if view.explanation is None and view.line.kind == "pass" and not view.doubt:
        report = folder.report(chosen)
        view = replace(view, explanation=support.explanation_of_pass(report))
    if not view.sections:
        raise ConfigurationError(
            f"nothing was found about {chosen}; "
            f"`maseval show {folder.path} {chosen.task}` shows what happened"
        )
    return view


_EXPLAINED_FIRST = ("fail", "unjudged", "pass", "error")


def _simulation_view(
    folder: Recording,
    chosen: Simulation,
    explain: bool,
    support: BenchmarkSupport | None = None,
) -> SimulationView:
    report, run = folder.report(chosen), ExaminedRun(folder, support)
    parsed = RecordedReport(report)
    messages = conversation(parsed)
    unexplained = run.obstacle("explanation_obstacle") if explain else None
    checking = run.begin_check()
    checked = checking is not None and checking.obstacle is None
    verdict = run.examine(chosen, VERDICT, report).verdict if checked else None
    reasons = REASONS if explain and unexplained is None else ()
    # The reasons are those of the verdict as it is recorded, which the page shows as well.
    found = run.examine(chosen, (*TITLE, *reasons), report)
    run.save()
    doubt = doubt_in(report) if verdict is None else verdict.doubt
    cause = cause_in(found.findings)
    return SimulationView(
        line=parsed.outcome,
        task=report["task"],
        messages=messages,
        verdicts=shown_verdicts(parsed, messages),
        error=report["error"],
        title=found.title,
        findings=found.findings,
        explanation=found.explanation,
        unexplained=unexplained,
        misstatement=None if verdict is None else verdict.text,
        doubt=None if doubt is None else doubt.text,
        notes=notes_on(folder),
        team=parsed.work(),
        decider=None if cause is None else parsed.decider(cause.message),
    )
