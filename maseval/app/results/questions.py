"""The questions that commands ask of any recording, and its benchmark answers.

``maseval show``, also with ``--errors``, ``explain``, ``comply`` and ``score``.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from maseval.app.benchmarks import (
    BenchmarkSupport,
    OnProgress,
    all_support,
    support_that_answers,
)
from maseval.app.results.examined import (
    REVIEW,
    TITLE,
    VERDICT,
    ExaminedRun,
    RunFindings,
    examine_run,
    row_of,
)
from maseval.app.results.explained import Review, VerdictExplanation, cause_in
from maseval.app.results.measured import SOUND, MeasuredScore
from maseval.app.results.names import (
    Files,
    each_of,
    open_recording,
    open_run_or_file,
    trial_numbered,
    trials_named,
    warn_of_damage,
)
from maseval.app.results.recording import notes_on
from maseval.core.exceptions import ConfigurationError
from maseval.core.finding import Finding, Section
from maseval.core.outcome import Outcome, RecordedReport, Simulation
from maseval.core.perturbation import mark_of_perturbation
from maseval.core.recorded import RecordedMessage, Shape
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.core.storage.redaction import redact
from maseval.core.teamwork import AgentWork
from maseval.core.words import excerpt
from maseval.report.checks import shown_verdicts
from maseval.report.conversation import ShownMessage, conversation
from maseval.runs import RunFolder
from maseval.runs.recording import Recording
from maseval.runs.verdict_check import doubt_in


class RuleCount(NamedTuple):
    """The number of passes, and of all simulations, in which a rule came to one kind of finding."""

    rule: str
    kind: str
    passes: int
    simulations: int


@dataclass(frozen=True)
class ReviewedRun:
    """A run or results file, and what the rules of the policy found in its simulations.

    ``scores`` are the numbers that follow. ``notes`` say how its verdicts came about, and what the
    rules do not cover.
    """

    path: Path
    found: Mapping[Simulation, Sequence[Finding]]
    passes: AbstractSet[Simulation]
    notes: Sequence[str]
    scores: Sequence[MeasuredScore] = ()

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
    # Every file is opened before any is examined, so that a wrong name is told at once.
    opened = [open_recording(file, ScoringOptions(**scoring)) for file in each_of(files)]
    return [_review(each, on_progress) for each in opened]


def _review(folder: Recording, on_progress: OnProgress | None) -> ReviewedRun:
    support = support_that_answers(folder, "review")
    found = examine_run(folder, REVIEW, on_progress)
    notes: list[str | None] = [
        None if found.check is None else found.check.note_on_recomputed,
        *notes_on(folder),
        *support.limits(folder),
        folder.config.subset and folder.config.subset.note,
        mark_of_perturbation(folder.config.values),
    ]
    findings = {
        one: [each for each in some if each.source == "policy"]
        for one, some in found.findings.items()
    }
    scores = [each for each in found.scores if each.counted != SOUND.name]
    return ReviewedRun(folder.path, findings, found.passes, [*filter(None, notes)], scores)


def score(files: Files, **options: Any) -> Any:
    """Judge runs and results files again; ``options`` are those of the benchmark's ``score``."""
    files = each_of(files)
    for found in map(open_run_or_file, files):
        if isinstance(found, RunFolder):
            support = support_that_answers(found, "score", built_on=True)
            return support.score(files, **options)
    for support in all_support():
        if support.answers("score"):
            return support.score(files, **options)
    raise ConfigurationError("no installed benchmark can judge recorded conversations again")


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
    misstatement: str | None = None
    doubt: str | None = None
    notes: Sequence[str] = ()
    team: Sequence[AgentWork] = ()
    decider: str | None = None

    @property
    def sections(self) -> list[Section]:
        return Review(self.findings, self.explanation).sections

    def to_dict(self) -> dict[str, object]:
        return redact(
            {
                **row_of(self.line),
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


def show(
    run: str | os.PathLike[str],
    task: str | None = None,
    trial: int | None = None,
    *,
    failed: bool = False,
    explain: bool = True,
    on_progress: OnProgress | None = None,
    **scoring: Unpack[ScoringKeywords],
) -> RunFindings | SimulationView:
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
        found = examine_run(folder, REVIEW if explain else (), on_progress)
        chosen = [
            line
            for line in found.lines
            if domain in (None, line.domain) and not (failed and line.kind == "pass")
        ]
        return replace(found, chosen=chosen)
    warn_of_damage(folder)
    planned = [one for one in folder.planned if domain in (None, one.domain)]
    trials = trials_named(task, planned, folder.recorded, folder.path)
    if trial is not None:
        return _simulation_view(folder, trial_numbered(trial, trials), explain)
    for one in trials:
        if not failed or RecordedReport(folder.report(one)).kind != "pass":
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
    support = support_that_answers(folder, "review", built_on=True)
    trials = trials_named(task, folder.planned, folder.recorded, folder.path)
    lines = [RecordedReport(folder.report(one)).outcome for one in trials]
    first = min(lines, key=lambda line: _EXPLAINED_FIRST.index(line.kind)).simulation
    chosen = first if trial is None else trial_numbered(trial, trials)
    view = _simulation_view(folder, chosen, True, support)
    # A pass is explained on demand alone: a page of a run would hold far too much.
    if view.explanation is None and view.line.kind == "pass" and not view.doubt:
        told = support.review(folder.report(chosen), explain_pass=True)
        view = replace(view, explanation=told.explanation)
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
    checking = run.begin_check()
    checked = checking is not None and checking.obstacle is None
    verdict = run.examine(chosen, VERDICT, report).verdict if checked else None
    reasons = REVIEW if explain else ()
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
        explanation=found.review and found.review.explanation,
        misstatement=None if verdict is None else verdict.text,
        doubt=None if doubt is None else doubt.text,
        notes=notes_on(folder),
        team=parsed.work(),
        decider=None if cause is None else parsed.decider(cause.message),
    )


class ToolError(NamedTuple):
    """An error that a tool answered with: how often, in how many simulations, first in which."""

    tool: str
    text: str
    times: int
    simulations: int
    first: Simulation

    def to_dict(self) -> dict[str, object]:
        return {**self._asdict(), "first": list(self.first)}


def tool_errors(recording: Recording) -> list[ToolError]:
    """List the errors of tools in a run, the most frequent first."""
    found: dict[tuple[str, str], list[Simulation]] = {}
    for report in recording.reports():
        for error in _errors_in(RecordedReport(report).simulation.messages):
            found.setdefault(error, []).append(Simulation.of(report))
    errors = [ToolError(*key, len(each), len({*each}), each[0]) for key, each in found.items()]
    return sorted(errors, key=lambda each: -each.times)


def _errors_in(messages: list[RecordedMessage]) -> Iterator[tuple[str, str]]:
    names: dict[object, str] = {}
    for message in messages:
        names |= {call.id: str(call.name) for call in message.calls}
        if message.role == "tool" and message.error:
            yield names.get(message.call_id, "?"), excerpt(message.content)
