"""Measures: the numbers of a benchmark, each with a name and a value for every simulation.

The official number of a benchmark is its verdict, counted as pass^k. A benchmark with several
numbers, such as usefulness and resistance to attacks, declares each as a ``Measure``; statistics,
commands and pages then take any of them in the place of the verdict. An evaluator returns the
values beside its verdict, under ``measures``:

    {"passed": True, "measures": {"useful": True, "resisted": False, "calls": 7}}
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from maseval.core.finding import Finding
from maseval.core.outcome import Outcome

MeasureKind = Literal["verdict", "share", "quantity"]
"""``verdict``: it holds or not, counted as pass^k. ``share``: from 0 to 1. ``quantity``: any."""

Value = bool | float | None


@dataclass(frozen=True)
class Measure:
    """A number of a benchmark.

    ``value`` returns that of a simulation, by default what its evaluators returned under the name;
    None if it has none and does not count. ``decides`` marks the measure that stands first and that
    questions are about unless another is named. ``complement`` is what 1 - value is called where
    that is the usual number: an attack that is not resisted is a success. With ``whole_tasks`` a
    task of which one trial does not count is left out with all of them.
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

    def of(self, outcome: Outcome, findings: Sequence[Finding] = ()) -> Value:
        """Return the value of a simulation; None if it has none."""
        if self.value is not None:
            return self.value(outcome, findings)
        given = (outcome.measures or {}).get(self.name)
        if given is None and outcome.passed is False and outcome.kind == "error":
            # What the agent itself broke off has the worst value, as it has the worst verdict.
            return None if self.kind == "quantity" else not self.higher_is_better
        return given
