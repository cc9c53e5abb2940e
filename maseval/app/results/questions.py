"""The questions that commands ask of any recording, and its benchmark answers.

``maseval explain``, ``comply``, ``users``, ``score``, and ``export`` in the original form: what
cannot be read among several files stops no other.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, Unpack

from maseval.app.benchmarks import (
    ExportedPath,
    OnProgress,
    all_support,
    support_that_answers,
)
from maseval.app.results.examined import FINDINGS, examine_run
from maseval.app.results.explained import Explained
from maseval.app.results.finding import (
    UnknownRunError,
    open_recording,
    open_run_or_file,
    trial_numbered,
    trials_named,
    warn_of_damage,
)
from maseval.app.results.recording import notes_on
from maseval.app.results.users import PlayedUser, UserScore, played_users, user_scores
from maseval.app.results.variants import SOUND, VariantScore
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.finding import Finding
from maseval.core.outcome import RecordedReport, Simulation
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.runs import RunFolder
from maseval.runs.config_file import is_run_folder
from maseval.runs.recording import Recording
from maseval.runs.verdict_check import VerdictCheck

ReadT = TypeVar("ReadT")
Files = Sequence[str | os.PathLike[str]]


def files_below(name: str | os.PathLike[str]) -> list[str | os.PathLike[str]]:
    """Return the results files below a folder that is not a run; anything else is itself."""
    folder = Path(name)
    if not folder.is_dir() or is_run_folder(folder) or (folder / "results.json").exists():
        return [name]
    return [path for each in all_support() for path in each.results_below(folder)] or [name]


class UnreadableFile(NamedTuple):
    """A file among several that could not be read, and why."""

    path: Path
    error: Exception

    def __str__(self) -> str:
        path, words = str(self.path), str(self.error)
        return words if words.startswith(path) else f"{path}: {words}"

    def to_dict(self) -> dict[str, object]:
        return {"path": str(self.path), "error": str(self.error)}


class FilesRead(list[ReadT], Generic[ReadT]):
    """The runs and files that were read, and in ``unreadable`` those that could not be."""

    def __init__(self) -> None:
        super().__init__()
        self.unreadable: list[UnreadableFile] = []

    def add_files(self, files: Files, read: Callable[[str | os.PathLike[str]], ReadT]) -> None:
        """Read every file, and every results file below a folder that is not a run.

        If none can be read, the first error is raised.
        """
        for file in (each for name in files for each in files_below(name)):
            try:
                self.append(read(file))
            except (MASEvalError, OSError) as error:
                self.unreadable.append(UnreadableFile(Path(file), error))
        if self.unreadable and not self:
            raise self.unreadable[0].error


def explain(
    run: str | os.PathLike[str],
    task: str,
    trial: int | None = None,
    **scoring: Unpack[ScoringKeywords],
) -> Explained:
    """Explain a simulation of a run or of a results file.

    Without ``trial`` it is the task's first trial that did not pass, or the first if all did.
    ``scoring`` are the fields of ``ScoringOptions``.
    """
    options = ScoringOptions(**scoring)
    recording = open_recording(run, options)
    warn_of_damage(recording)
    support = support_that_answers(recording, "findings", built_on=True)
    trials = trials_named(task, recording.planned, recording.recorded, recording.path)
    if trial is None:
        kinds = {one: RecordedReport(recording.report(one)).kind for one in trials}
        chosen = min(trials, key=lambda one: _EXPLAINED_FIRST.index(kinds[one]))
    else:
        chosen = trial_numbered(trial, trials)
    return support.explain(recording, chosen, options)


_EXPLAINED_FIRST = ("fail", "unjudged", "pass", "error")


class RuleCount(NamedTuple):
    """The number of passes, and of all simulations, in which a rule came to one kind of finding."""

    rule: str
    kind: str
    passes: int
    simulations: int


@dataclass(frozen=True)
class CompliedRun:
    """A run or results file, and what the rules of the policy found in its simulations.

    ``without_rules`` names the domains that have no rules, so nothing is known of their passes.
    ``check`` compares the recorded verdicts with recomputed ones. ``estimate`` says that the tasks
    were chosen, if they were. ``notes`` say what is wrong with the record.
    """

    path: Path
    found: Mapping[Simulation, Sequence[Finding]]
    passes: AbstractSet[Simulation]
    scores: Sequence[VariantScore]
    without_rules: Sequence[str] = ()
    check: VerdictCheck | None = None
    estimate: str | None = None
    notes: Sequence[str] = ()

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
            "without_rules": list(self.without_rules),
            "verdicts": None if self.check is None else self.check.note_on_recomputed,
            "estimate": self.estimate,
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
) -> FilesRead[CompliedRun]:
    """Check the simulations of runs and results files against the rules of their policy.

    A file that cannot be read does not stop the others; if none can, the first error is raised.
    ``scoring`` are the fields of ``ScoringOptions``.
    """
    found, options = FilesRead[CompliedRun](), ScoringOptions(**scoring)
    found.add_files(files, lambda file: _comply(open_recording(file, options), on_progress))
    return found


def _comply(folder: Recording, on_progress: OnProgress | None) -> CompliedRun:
    support = support_that_answers(folder, "findings")
    found = examine_run(folder, FINDINGS, on_progress)
    without_rules = support.domains_without_rules(folder)
    return CompliedRun(
        folder.path,
        {
            one: [each for each in findings if each.source == "policy"]
            for one, findings in found.findings.items()
            if one.domain not in without_rules
        },
        found.passes,
        [each for each in found.scores if each.counted != SOUND.name],
        without_rules,
        found.check,
        folder.config.subset and folder.config.subset.note,
        [*notes_on(folder), *support.conduct_notes(folder)],
    )


@dataclass(frozen=True)
class UsersOfRun:
    """A run or results file, and what was found about the user of each of its simulations."""

    path: Path
    played: Sequence[PlayedUser]
    notes: Sequence[str] = ()

    def to_dict(self) -> dict[str, object]:
        return {
            "path": str(self.path),
            "notes": list(self.notes),
            "simulations": [
                {
                    **each.simulation._asdict(),
                    "model": each.model,
                    "passed": each.passed,
                    "findings": [finding.to_dict() for finding in each.findings],
                }
                for each in self.played
            ],
        }


class UsersOfRuns(FilesRead[UsersOfRun]):
    """The runs and files whose users were checked."""

    looked_for = ""

    @property
    def scores(self) -> list[UserScore]:
        """The numbers of each user model, over all runs and files together."""
        return user_scores(each for run in self for each in run.played)


def users(
    files: Files,
    *,
    on_progress: OnProgress | None = None,
    **scoring: Unpack[ScoringKeywords],
) -> UsersOfRuns:
    """Look for faults of the simulated user in runs and results files, passes and failures alike.

    A file that cannot be read does not stop the others; if none can, the first error is raised.
    ``scoring`` are the fields of ``ScoringOptions``.
    """
    found, options = UsersOfRuns(), ScoringOptions(**scoring)

    def read(file: str | os.PathLike[str]) -> UsersOfRun:
        folder = open_recording(file, options)
        support = support_that_answers(folder, "findings")
        found.looked_for = found.looked_for or support.user_faults()
        run = examine_run(folder, FINDINGS, on_progress)
        played = played_users(run.lines, run.findings, support.user_model(folder.config.values))
        return UsersOfRun(folder.path, played, notes_on(folder))

    found.add_files(files, read)
    return found


def score(files: Files, **options: Any) -> Any:
    """Judge runs and results files again; ``options`` are those of the benchmark's ``score``."""
    for file in files:
        try:
            found = open_run_or_file(file)
        except UnknownRunError:  # a folder of files, or nothing: whoever judges says so
            continue
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
