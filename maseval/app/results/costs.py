"""The cost of a run by who caused it: agent, user and judge apart."""

from collections.abc import Iterable, Mapping

from maseval.core.outcome import Outcome, total_cost
from maseval.core.words import money


def costs_by_role(lines: Iterable[Outcome]) -> dict[str, float]:
    """Return the cost of agent, user and judge; nothing if only one of them cost anything.

    The agent's part is all that is neither the user's nor the judge's.
    """
    every = list(lines)
    user, judge = (
        total_cost(getattr(line, name) for line in every) or 0.0
        for name in ("user_cost", "judge_cost")
    )
    agent = max(0.0, (total_cost(line.cost for line in every) or 0.0) - user - judge)
    costs = {"agent": agent, "user": user, "judge": judge}
    found = {role: cost for role, cost in costs.items() if cost}
    return found if len(found) > 1 else {}


def costs_in_words(costs: Mapping[str, float]) -> str | None:
    """Format costs by role: ``agent $2.00, judge $0.50``; None if there are none."""
    return ", ".join(f"{role} {money(cost)}" for role, cost in costs.items()) or None
