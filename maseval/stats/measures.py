"""Measures: the numbers of a benchmark, each with a name and a value for every simulation.

The official number of a benchmark is its verdict, counted as pass^k. A benchmark with several
numbers, such as usefulness and resistance to attacks, declares each as a ``Measure``; statistics,
commands and pages then take any of them in the place of the verdict. An evaluator returns the
values beside its verdict:

    {"passed": True, "useful": True, "resisted": False, "calls": 7}

Higher is better for a verdict and for a share, so that everything about better and worse holds for
them as for the verdict; their complements are printed under names of their own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean
from types import MappingProxyType
from typing import Literal, cast

from maseval.core.exceptions import ConfigurationError
from maseval.core.finding import Finding
from maseval.core.outcome import Outcome, Place, Simulation, TaskKey
from maseval.stats.clusters import in_order, places_of, pool, student_interval
from maseval.stats.intervals import Interval
from maseval.stats.summary import Estimate

MeasureKind = Literal["verdict", "share", "quantity"]
"""``verdict``: it holds or not, counted as pass^k. ``share``: from 0 to 1. ``quantity``: any."""

Value = bool | float | None

Findings = Mapping[Simulation, Sequence[Finding]]
NO_FINDINGS: Findings = MappingProxyType({})

NO_VALUE = "no value"
"""Why a simulation does not count in a measure that it has no value of."""

_DENOMINATOR = 1_000_000


@dataclass(frozen=True)
class Measure:
    """A number of a benchmark.

    ``value`` returns that of a simulation, by default what its evaluators returned under the name;
    None if it has none and does not count. ``decides`` marks the measure that the verdict
    ``passed`` is, so that it is not counted twice. ``complement`` is what 1 - value is called where
    that is the usual number: an attack that is not resisted is a success. With ``whole_tasks`` a
    task of which one trial does not count is left out with all of them. ``by_findings`` says that
    the value needs what was found about a conversation, which takes longer.
    """

    name: str
    meaning: str = ""
    kind: MeasureKind = "verdict"
    higher_is_better: bool = True
    decides: bool = False
    complement: str = ""
    unit: str = ""
    value: Callable[[Outcome, Sequence[Finding]], Value] | None = None
    whole_tasks: bool = False
    by_findings: bool = False

    def __post_init__(self) -> None:
        if self.decides and self.kind != "verdict":
            raise ConfigurationError(
                f"the {self.kind} {self.name!r} cannot decide; what decides is the verdict `passed`"
            )
        if not self.higher_is_better and self.kind != "quantity":
            raise ConfigurationError(
                f"lower is better for the {self.kind} {self.name!r}; declare its opposite as the "
                f"measure, and this as its complement: Measure(..., complement={self.name!r})"
            )

    @property
    def label(self) -> str:
        """The name with the number of trials that are counted at once, if there may be several."""
        return f"{self.name}^k" if self.kind == "verdict" else self.name

    def of(self, outcome: Outcome, findings: Sequence[Finding] = ()) -> Value:
        """Return the value of a simulation; None if it has none."""
        if self.value is not None:
            return self.value(outcome, findings)
        given = (outcome.measures or {}).get(self.name)
        if given is None and outcome.passed is False and outcome.kind == "error":
            # What the agent itself broke off has the worst value, as it has the worst verdict.
            return None if self.kind == "quantity" else False
        return given


def measured(
    outcomes: Iterable[Outcome], measure: Measure, findings: Findings = NO_FINDINGS
) -> list[Outcome]:
    """Return the outcomes with a measure's value in the place of the verdict."""
    found = []
    for each in outcomes:
        value = measure.of(each, findings.get(each.simulation, ()))
        if value is None:
            found.append(each._replace(passed=None, reason=each.reason or NO_VALUE))
        else:
            found.append(each._replace(passed=_as_verdict(measure, value), reason=None))
    if measure.whole_tasks:
        lost = {each.key for each in found if each.reason == NO_VALUE}
        found = [each for each in found if each.key not in lost]
    return found


def _as_verdict(measure: Measure, value: bool | float) -> bool:
    """Return what counts in the place of a verdict: of a share, a part of a pass."""
    if measure.kind == "verdict" and value in (0, 1):
        return bool(value)
    if measure.kind == "quantity":
        text = f"{measure.name!r} is a quantity, which is compared but does not decide"
        raise ConfigurationError(f"{text}; name a verdict or a share")
    # A sum of parts may be a little more than 1 by rounding.
    share = Fraction(value).limit_denominator(_DENOMINATOR)
    if measure.kind == "share" and 0 <= share <= 1:
        # An exact fraction is counted as a verdict is: 1 for each trial that passes.
        return cast(bool, share)
    wanted = "True or False" if measure.kind == "verdict" else "a number from 0 to 1"
    raise ConfigurationError(f"the measure {measure.name!r} is {value!r}; return {wanted}")


def quantity(value: float, span: Interval | None, unit: str = "", sign: str = "") -> str:
    """Format as ``6.5 [4.452, 8.548] calls``; with the sign ``+`` as a difference."""
    around = f"[{span.low:,.4g}, {span.high:,.4g}]" if span else ""
    return " ".join(filter(None, [f"{value:{sign},.4g}", around, unit]))


def mean_of_quantity(outcomes: Iterable[Outcome], measure: Measure) -> Estimate | None:
    """Return the mean over tasks of each one's mean; None without a value."""
    run = list(outcomes)
    means = quantity_by_task(run, measure)
    if not means:
        return None
    clusters = pool(means.values(), places_of_tasks(run, means)).values()
    whole = sum(each.weight for each in clusters)
    mean = sum(each.score * each.weight for each in clusters) / whole
    # Equal values say nothing of how far others are from them.
    alike = len({each.score for each in clusters}) == 1
    span = None if alike else student_interval(clusters)
    return Estimate(1, float(mean), span, label=measure.label)


def places_of_tasks(outcomes: Iterable[Outcome], keys: Iterable[TaskKey]) -> Sequence[Place]:
    """Return the place of each of these tasks; one that is alike all others has its own."""
    listed = list(keys)
    return in_order(places_of(outcomes), listed) or [Place(key) for key in listed]


def quantity_by_task(outcomes: Iterable[Outcome], measure: Measure) -> dict[TaskKey, Fraction]:
    """Return the mean over the trials of each task that have a value."""
    values: dict[TaskKey, list[float]] = {}
    for each in outcomes:
        if (value := measure.of(each)) is not None:
            values.setdefault(each.key, []).append(float(value))
    return {key: Fraction(fmean(mine)).limit_denominator(10**9) for key, mine in values.items()}
