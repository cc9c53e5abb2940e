"""Limits that stop a run: a budget in money or tokens, and a row of equal failures."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from maseval.app.running.prices import without_list
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import SimulationLine

_AMOUNT = r"(?P<amount>\d[\d,_]*(?:\.\d+)?|\.\d+)\s*(?P<scale>[kmb]?)"
_FORMS = (
    (re.compile(rf"\$\s*{_AMOUNT}(\s*usd)?"), "usd"),
    (re.compile(rf"{_AMOUNT}\s*(usd|dollars?|\$)"), "usd"),
    (re.compile(rf"{_AMOUNT}\s*(tokens?|tok)"), "tokens"),
)
_SCALES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}


WAYS_OUT = (
    "give it with --prices FILE (prices=...), in usd per million tokens, "
    "or give a budget in tokens, like '2M tokens'"
)


class UnwatchableBudgetError(ConfigurationError):
    """A budget in money for models whose prices are not known."""


class Budget(NamedTuple):
    """A limit in one unit; it holds for the whole run, earlier sessions included."""

    amount: float
    unit: Literal["usd", "tokens"]

    @classmethod
    def of(cls, text: str) -> "Budget":
        """Read ``5usd``, ``$5``, ``500k tokens`` or ``2M tokens``."""
        for form, unit in _FORMS:
            if found := form.fullmatch(text.strip().lower()):
                amount = float(re.sub("[,_]", "", found["amount"])) * _SCALES[found["scale"]]
                if amount > 0:
                    return cls(amount, "usd" if unit == "usd" else "tokens")
        raise ConfigurationError(
            f"budget is {text!r}; give money like 5usd or $5, or tokens like '2M tokens'"
        )

    def __str__(self) -> str:
        return _dollars(self.amount) if self.unit == "usd" else f"{self.amount:,.0f} tokens"

    def check_watchable(self, unpriced: Sequence[str]) -> None:
        """Raise if the budget is in money, and the price of a model is not known."""
        if self.unit == "usd" and unpriced:
            raise UnwatchableBudgetError(
                f"the budget of {self} cannot be watched, because the price of "
                f"{' and '.join(map(repr, unpriced))} is not known{without_list()}; {WAYS_OUT}"
            )

    def objection(self, cost: float, tokens: int, *, priced: bool = False) -> str | None:
        """Return why no more simulation should be started after so much was used, or None.

        ``priced`` says that the prices are known, so that a cost of nothing is believed.
        """
        used = cost if self.unit == "usd" else tokens
        if used >= self.amount:
            spent = _dollars(cost) if self.unit == "usd" else f"{tokens:,} tokens"
            return f"the budget of {self} is reached ({spent} used); give more to resume"
        if self.unit == "usd" and tokens and not cost and not priced:
            return (
                f"the budget of {self} cannot be watched, because the models' prices are not "
                f"known; {WAYS_OUT}"
            )
        return None


def _dollars(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 0.01 else f"${amount:.2g}"


_ENOUGH = 5
# What differs between two errors of one cause: names of tasks, numbers, addresses.
_VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|\d+")


class EqualFailures:
    """Notices if every simulation fails in the same way, ``earlier`` sessions included."""

    def __init__(self, earlier: Iterable[SimulationLine] = ()) -> None:
        self._seen: list[str] = []
        self._worked = any(line.outcome != "error" for line in earlier)

    def objection(self, line: SimulationLine) -> str | None:
        """Return why no more simulation should be started after this one, or None."""
        self._worked = self._worked or line.outcome != "error"
        self._seen.append(f"{line.status} {_VARYING.sub('', line.error or '')}")
        if self._worked or len(self._seen) < _ENOUGH or len(set(self._seen)) > 1:
            return None
        return (
            f"the first {len(self._seen)} simulations all failed in the same way "
            f"({line.status}): {line.error}; --no-retry-failed runs the others all the same"
        )
