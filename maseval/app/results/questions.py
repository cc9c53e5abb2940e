"""The questions that commands ask of any recording, and its benchmark answers.

``maseval comply``, ``users``, ``score``, and ``export`` in the original form.
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from maseval.app.benchmarks import (
    ExportedPath,
    OnProgress,
    all_support,
    support_that_answers,
)
from maseval.app.results.examined import FINDINGS, examine_run
from maseval.app.results.finding import (
    open_recording,
    open_run_or_file,
)
from maseval.app.results.recording import notes_on
from maseval.app.results.users import UserScore
from maseval.app.results.variants import SOUND, VariantScore
from maseval.core.exceptions import ConfigurationError
from maseval.core.finding import Finding
from maseval.core.outcome import Simulation
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.runs import RunFolder
from maseval.runs.recording import Recording

Files = Sequence[str | os.PathLike[str]]


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
    return [open_recording(file, ScoringOptions(**scoring)) for file in files]


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
