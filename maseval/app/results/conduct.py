"""``maseval comply`` and ``users``: did agents keep the policy, and users their task?

A benchmark's findings decide (``BenchmarkSupport.findings``).
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Unpack

from maseval.app.benchmarks import OnProgress, support_for, support_that_answers
from maseval.app.results.examined import FINDINGS, examine_run
from maseval.app.results.files import Files, FilesRead
from maseval.app.results.finding import open_recording
from maseval.app.results.recording import notes_on
from maseval.app.results.users import PlayedUser, UserScore, played_users, user_scores
from maseval.app.results.variants import SOUND, VariantScore
from maseval.core.finding import Finding
from maseval.core.outcome import Simulation
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.runs.recording import Recording
from maseval.runs.verdict_check import VerdictCheck


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
        return _users(folder, on_progress)

    found.add_files(files, read)
    return found


def _users(folder: Recording, on_progress: OnProgress | None) -> UsersOfRun:
    found = examine_run(folder, FINDINGS, on_progress)
    model = support_for(folder).user_model(folder.config.values)
    played = played_users(found.lines, found.findings, model)
    return UsersOfRun(folder.path, played, notes_on(folder))
