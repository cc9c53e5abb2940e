"""``maseval gate``: is a run worse than its baseline, beyond what chance explains?"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from maseval.app.benchmarks import OnScored
from maseval.app.comparing.compare import ComparedRun, RunComparison, compare
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome, TaskKey
from maseval.core.scoring_options import ScoringOptions
from maseval.stats import Comparison, Difference, Flip
from maseval.stats.planning import ALPHA, check_alpha

GateVerdict = Literal["worse", "not worse"]


class IncompleteRunError(ConfigurationError):
    """A run lacks simulations, so a gate on it would judge what happens to be there."""


@dataclass(frozen=True)
class Gate:
    """A run held against its baseline.

    It is worse if the test finds it lower and its interval lies below ``-margin``, each with a
    chance of at most ``alpha`` to err.
    """

    comparison: RunComparison
    two: Comparison
    margin: float
    alpha: float

    @property
    def main(self) -> Difference:
        """The difference that decides: run less baseline."""
        return self.two.main

    @property
    def verdict(self) -> GateVerdict:
        """Whether the run is shown to be worse."""
        found = self.main
        lower = found.difference < 0 and found.test.p_value / 2 <= self.alpha
        beyond = found.interval is not None and found.interval.high < -self.margin
        return "worse" if lower and beyond else "not worse"

    @property
    def baseline(self) -> ComparedRun:
        """The run that came before."""
        return self.comparison.runs[self.two.names[0]]

    @property
    def run(self) -> ComparedRun:
        """The run that is judged."""
        return self.comparison.runs[self.two.names[1]]

    @property
    def fell(self) -> list[Flip]:
        """The tasks that pass less often than before."""
        return [flip for flip in self.two.flipped if flip.change < 0]

    @property
    def rose(self) -> list[Flip]:
        """The tasks that pass more often than before."""
        return [flip for flip in self.two.flipped if flip.change > 0]

    def shown_trial(self, key: TaskKey) -> Outcome:
        """The trial of a task that says most: the first that failed, else the first."""
        trials = [each for each in self.run.outcomes if each.key == key]
        return next((each for each in trials if not each.passed), trials[0])

    def to_dict(self) -> dict[str, object]:
        """In JSON's terms."""
        return {
            "verdict": self.verdict,
            "margin": self.margin,
            "alpha": self.alpha,
            **self.comparison.to_dict(),
        }


def gate(
    run: str | os.PathLike[str],
    baseline: str | os.PathLike[str],
    *,
    k: int = 1,
    margin: float = 0.0,
    alpha: float = ALPHA,
    allow_incomplete: bool = False,
    options: ScoringOptions | None = None,
    on_progress: OnScored | None = None,
) -> Gate:
    """Compare ``run`` with ``baseline``, each a run folder or a results file, paired by task.

    ``margin`` is a loss of pass^k that is put up with, as a share: 0.02 is two percentage points.
    ``alpha`` is the chance that a run which is as good as its baseline is called worse.
    """
    check_alpha(alpha)
    if not 0 <= margin < 1:
        raise ConfigurationError(f"margin is {margin!r}; give a share from 0 to 1, like 0.02")
    # The upper end of this two-sided interval is wrong with a chance of alpha.
    level = 1 - 2 * alpha
    found = compare([baseline, run], k=k, options=options, level=level, on_progress=on_progress)
    if found.incomplete and not allow_incomplete:
        raise IncompleteRunError(
            f"{'; '.join(found.incomplete)}. Resume the run, or judge what is there with "
            "--allow-incomplete (allow_incomplete=True)"
        )
    assert found.two is not None  # two runs were compared
    return Gate(found, found.two, margin, alpha)


def cautions_of(found: Gate) -> Sequence[str]:
    """What a reader should know before believing the verdict."""
    about = found.comparison
    texts = [] if about.texts is None else [about.texts]
    left_out = [f"Left out: {line}" for line in about.dropped]
    return [*texts, *about.notes, *about.cautions, *left_out]
