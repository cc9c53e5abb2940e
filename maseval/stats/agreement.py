"""Agreement of two judges: the share of equal answers, and Cohen's kappa."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Agreement:
    """Yes-or-no answers of two judges to the same questions.

    ``first_yes`` and ``second_yes`` count each judge's yes, ``equal`` the equal answers.
    """

    total: int
    equal: int
    first_yes: int
    second_yes: int

    @property
    def share(self) -> float | None:
        """The share of equal answers; None if there are none."""
        return self.equal / self.total if self.total else None

    @property
    def kappa(self) -> float | None:
        """Agreement beyond chance, 1 at best; None where chance alone would agree always."""
        if not self.total:
            return None
        first, second = self.first_yes / self.total, self.second_yes / self.total
        by_chance = first * second + (1 - first) * (1 - second)
        if by_chance == 1:
            return None
        return (self.equal / self.total - by_chance) / (1 - by_chance)

    def to_dict(self) -> dict[str, float | None]:
        return {"total": self.total, "equal": self.equal, "share": self.share, "kappa": self.kappa}


def agreement(answers: Iterable[tuple[bool, bool]]) -> Agreement:
    pairs = list(answers)
    return Agreement(
        len(pairs),
        sum(first == second for first, second in pairs),
        sum(first for first, _ in pairs),
        sum(second for _, second in pairs),
    )
