"""``maseval tau2 score --under``: the same conversations under several releases."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import add
from pathlib import Path

from maseval.benchmark.tau2.app.results.score import FileScore, UnreadableFile
from maseval.benchmark.tau2.app.results.sources import (
    SimulationSource,
    files_below,
    judge_models,
    open_source,
    panel_for,
)
from maseval.benchmark.tau2.rescoring.causes import Cause
from maseval.benchmark.tau2.rescoring.releases import ReleaseTotals, ScoredUnder, VerdictChange
from maseval.benchmark.tau2.rescoring.releases import score_under as score_one_under
from maseval.core.exceptions import MASEvalError
from maseval.core.scoring_options import ScoringOptions


@dataclass(frozen=True)
class FileUnder:
    """One file or run under several releases, the first of which the others are compared with."""

    path: Path
    found: ScoredUnder

    @property
    def scores(self) -> dict[str, FileScore]:
        """The numbers under each release."""
        return {name: FileScore(self.path, each) for name, each in self.found.recounts.items()}

    @property
    def totals(self) -> dict[str, ReleaseTotals]:
        """How many verdicts change, under each release but the first."""
        return self.found.totals

    def changes(self, version: str) -> list[VerdictChange]:
        """The simulations whose verdict changes under a release, or depends on a judge."""
        return self.found.changes(version)

    @property
    def causes(self) -> list[Cause]:
        """What is wrong with the record, whichever release it is judged by."""
        kinds = [{cause.kind for cause in each.causes} for each in self.scores.values()]
        common = set.intersection(*kinds) - {"not recomputed"}
        return [each for each in self.scores[self.found.first].causes if each.kind in common]

    def to_dict(self) -> dict[str, object]:
        """In JSON's terms."""
        return {
            "path": str(self.path),
            "compared_with": self.found.first,
            "causes": [cause.to_dict() for cause in self.causes],
            "releases": {name: _numbers(each) for name, each in self.scores.items()},
            "totals": {name: each.to_dict() for name, each in self.totals.items()},
            **next(iter(self.found.recounts.values())).panel.to_dict(),
            "changes": {
                name: [each.to_dict() for each in self.changes(name)] for name in self.totals
            },
        }


def _numbers(score: FileScore) -> dict[str, object]:
    kept = ("planned", "simulations", "passed", "needs_judge", "not_replayable")
    return {
        key: value
        for key, value in score.to_dict().items()
        if key in kept or key.startswith("pass^")
    }


class ScoresUnder(list[FileUnder]):
    """The files that were judged, and in ``unreadable`` those that could not be."""

    def __init__(self) -> None:
        super().__init__()
        self.unreadable: list[UnreadableFile] = []

    @property
    def totals(self) -> dict[str, ReleaseTotals]:
        """How many verdicts change in all files together."""
        names = self[0].totals if self else ()
        return {name: reduce(add, (each.totals[name] for each in self)) for name in names}

    def to_dict(self) -> dict[str, object]:
        """In JSON's terms."""
        return {
            "files": [each.to_dict() for each in [*self, *self.unreadable]],
            "totals": {name: each.to_dict() for name, each in self.totals.items()},
        }


def score_under(
    files: Sequence[str | os.PathLike[str]],
    versions: Sequence[str],
    *,
    domain: str | None = None,
    strict: bool = False,
    embedded_tasks: bool = False,
    remap_tasks: bool = False,
    judge_model: Sequence[str] = (),
    base_url: str | None = None,
    on_progress: Callable[[int], object] | None = None,
) -> ScoresUnder:
    """Judge the simulations of run folders and results files under several releases.

    Files are found and read as by ``score``.

    Args:
        versions: The releases, such as ``0.2.0``, ``1.0.1`` or ``1.0.1+tasks.0.2.0``; changes are
            from the first to each of the others.
        domain: The domain, whatever the files call theirs.
        strict: Replay as the original does in a run, also under releases that can be lenient.
        embedded_tasks: Judge by the tasks in the file: only the rules are those of the releases.
        remap_tasks: Judge each simulation by the task to which its recorded checks belong.
        judge_model: Models that judge natural-language assertions, as for ``score``.
        base_url: The address of an OpenAI-compatible server for the judges.
        on_progress: Gets the number of simulations judged so far of the file at hand.
    """
    options = ScoringOptions(False, embedded_tasks, remap_tasks, domain, strict=strict)
    models, scores = judge_models(judge_model, base_url), ScoresUnder()

    def judged(source: SimulationSource) -> FileUnder:
        found = score_one_under(
            lambda version: source.simulations(options.domain, version),
            versions,
            options=options,
            panel=panel_for(source, models),
            on_progress=on_progress,
        )
        return FileUnder(source.path, found)

    for file in chain.from_iterable(map(files_below, files)):
        try:
            scores.append(judged(open_source(file)))
        except (MASEvalError, OSError) as error:
            scores.unreadable.append(UnreadableFile(Path(file), error))
    if scores.unreadable and not scores:
        raise scores.unreadable[0].error
    return scores
