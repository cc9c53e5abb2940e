"""Plans and decisions of runs that look several times: a question, the looks, and an answer.

A look happens when a round is complete: every planned trial of it has a verdict, or is recorded as
one that has none and is not tried again. What happened later is not looked at, so a decision is a
function of the plan and of the outcomes up to the look, whenever and wherever it is made.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from maseval.core.exceptions import ConfigurationError
from maseval.stats.boundaries import normal_boundaries
from maseval.stats.intervals import LEVEL, Interval, check_level
from maseval.stats.result import Result

Question = Literal["better", "not worse", "precision"]
"""Is it better (or worse), is it not worse by a margin, or how good is it, to within a width."""

Claim = Literal["on these tasks", "on tasks like these"]

SequentialOutcome = Literal["better", "worse", "not worse", "precise", "undecided"]

_MOST_LOOKS = 50


@dataclass(frozen=True)
class SequentialPlan(Result):
    """A question and the looks at which it may be answered; it is fixed before the first trial.

    ``looks`` are the trials of each task at each look, such as ``(1, 2, 3, 4)``. The baseline is
    finished, with ``baseline_trials`` of each task. ``margin`` is the loss that "not worse"
    tolerates and ``half_width`` the precision that is wanted, both as shares: 0.05 is five points.
    """

    question: Question
    looks: tuple[int, ...]
    baseline_trials: int | None = None
    margin: float = 0.0
    half_width: float | None = None
    claim: Claim = "on these tasks"
    level: float = LEVEL

    def __post_init__(self) -> None:
        check_level(self.level)
        looks = self.looks
        if not looks or looks[0] < 1 or any(a >= b for a, b in pairwise(looks)):
            raise ConfigurationError(
                f"the looks are {list(looks)}; give trials per task that rise, like 1, 2, 4"
            )
        if len(looks) > _MOST_LOOKS:
            raise ConfigurationError(
                f"{len(looks)} looks are planned; give at most {_MOST_LOOKS}: more save nothing"
            )
        if self.question != "precision" and (self.baseline_trials or 0) < 1:
            raise ConfigurationError(
                "the finished baseline has no trial; give a run that has one, and its trials of "
                "each task as baseline_trials"
            )
        if self.question == "not worse" and not 0 < self.margin < 1:
            raise ConfigurationError(
                f"margin is {self.margin}; give the loss that is tolerated, like 0.05"
            )
        if self.question == "precision":
            if self.half_width is None or not 0 < self.half_width < 1:
                raise ConfigurationError(
                    f"half_width is {self.half_width}; give the precision wanted, like 0.04"
                )
        elif self.claim != "on these tasks":
            raise ConfigurationError(
                f"a comparison with interim looks is about these tasks, not {self.claim!r}: "
                "run all trials and compare the two runs for that"
            )

    @property
    def alpha(self) -> float:
        """The chance to err on each side."""
        return (1 - self.level) / 2

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of the information at each look.

        It is the inverse of the variance of the difference between the two systems' means.
        """
        last = self._variance(self.looks[-1])
        return tuple(last / self._variance(trials) for trials in self.looks)

    def _variance(self, trials: int) -> float:
        return 1 / trials + 1 / (self.baseline_trials or trials)

    @property
    def boundaries(self) -> tuple[float, ...]:
        """The standard errors from the question's value at which each look decides, by the normal
        law.
        """
        return normal_boundaries(self.shares, self.alpha)


@dataclass(frozen=True)
class LookResult(Result):
    """One look: the trials of each task so far, the estimate, and what would decide.

    Of the planned trials so far ``verdicts`` count, and those ``without`` a verdict do not.
    ``boundary`` is the difference from the question's value that would have decided, None if none
    would; of a precision, it is the half-width wanted and ``reached`` the one found.
    """

    trials: int
    tasks: int
    verdicts: int
    without: int
    value: float | None
    boundary: float | None
    reached: float | None


@dataclass(frozen=True)
class Decision(Result):
    """The answer at a look, and if the run ends with it.

    ``estimate`` and ``interval`` are of the difference, new - baseline, or of pass^1 if that is the
    question; once the run ends they allow for the stopping. ``p_value`` is two-sided, allows for
    the looks and is None before the end. ``boundary`` is that of the last look.
    """

    plan: SequentialPlan
    outcome: SequentialOutcome
    stops: bool
    reason: str
    looks: list[LookResult]
    estimate: float | None
    interval: Interval | None
    p_value: float | None
    boundary: float | None
    method: str
    notes: list[str] = field(default_factory=list)

    @property
    def trials_left(self) -> int:
        """The planned trials of each task that are not run if the run ends here."""
        return self.plan.looks[-1] - self.looks[-1].trials
