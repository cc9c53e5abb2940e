"""Conventions: the ways of a benchmark to count simulations that failed outside the conversation.

The number that leaves such a simulation out is higher than the one in which it is a failure, so
that neither is given without the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from maseval.core.figures import percent
from maseval.core.words import count_of
from maseval.stats.trials import shown_k


@dataclass(frozen=True)
class ConventionScore:
    """A domain's pass^k in one convention, by ``name``; ``meaning`` says what it does with errors.

    ``simulations`` are those that count, of ``tasks`` different tasks; of all, ``errors`` failed
    outside the conversation.
    """

    domain: str
    name: str
    meaning: str
    errors: int
    simulations: int
    tasks: int
    pass_hat: Mapping[int, float]

    def to_dict(self) -> dict[str, object]:
        """Return the score as JSON values."""
        return {
            "infrastructure_errors": self.errors,
            "simulations": self.simulations,
            "tasks": self.tasks,
            **{f"pass^{k}": value for k, value in self.pass_hat.items()},
        }

    def __str__(self) -> str:
        few = {k: self.pass_hat[k] for k in shown_k(max(self.pass_hat, default=0))}
        shares = ", ".join(f"pass^{k} {percent(value)}" for k, value in few.items())
        counted = f"{count_of(self.simulations, 'simulation')} of {count_of(self.tasks, 'task')}"
        return f"{self.name} ({self.meaning}): {shares or 'no pass^k'}, {counted}"


def conventions_in_words(found: Sequence[ConventionScore]) -> list[str]:
    """Return lines on each domain that has errors; without errors the conventions agree."""
    lines: list[str] = []
    for domain in dict.fromkeys(each.domain for each in found if each.errors):
        of_domain = [each for each in found if each.domain == domain]
        errors = of_domain[0].errors
        total = max(each.simulations for each in of_domain)
        lines.append(f"{domain}: {errors} of {total} simulations are infrastructure errors")
        lines += [f"  {each}" for each in of_domain]
    return lines


def conventions_in_json(found: Sequence[ConventionScore]) -> dict[str, dict[str, object]]:
    """Return the scores as JSON values, by domain and convention."""
    form: dict[str, dict[str, object]] = {}
    for each in found:
        form.setdefault(each.domain, {})[each.name] = each.to_dict()
    return form
