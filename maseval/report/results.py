"""How a repetition came out, and how many did, with an interval and the number counted."""

import math
from collections.abc import Sequence
from typing import Any, Literal

from maseval.core.report import TaskExecutionStatus
from maseval.report.shapes import Shape, entries, mapping, number

Outcome = Literal["pass", "fail", "error", "unjudged"]

_NOTES = (
    "Success: passed simulations among all simulations; errors and missing verdicts count as "
    "not passed.",
    "Intervals: Wilson, 95 %, over simulations. Trials of one task resemble each other, so with "
    "several trials the true uncertainty is larger.",
)


def verdicts(report: Shape) -> list[Shape]:
    """What the evaluators said."""
    return [verdict for verdict in entries(report.get("eval")) if isinstance(verdict, dict)]


def outcome(report: Shape) -> Outcome:
    """Passed, failed, broken, or run to its end without a verdict that says either."""
    succeeded = TaskExecutionStatus.SUCCESS.value
    if report.get("status", succeeded) != succeeded:
        return "error"
    passed = [verdict["passed"] for verdict in verdicts(report) if "passed" in verdict]
    if not passed:
        return "unjudged"
    return "pass" if any(passed) else "fail"


def reward(report: Shape) -> float | None:
    """The best reward that an evaluator gave."""
    rewards = (number(verdict.get("reward")) for verdict in verdicts(report))
    return max((each for each in rewards if each is not None), default=None)


def wilson(passed: int, total: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's interval for a proportion (J. Am. Stat. Assoc. 22, 1927); 95 % by default."""
    if total == 0:
        return 0.0, 1.0
    share, spread = passed / total, z * z / total
    centre = share + spread / 2
    half = math.sqrt(spread * (share * (1 - share) + spread / 4))
    return max(0.0, (centre - half) / (1 + spread)), min(1.0, (centre + half) / (1 + spread))


def success_rates(groups: Sequence[tuple[str, Sequence[tuple[object, Outcome]]]]) -> dict[str, Any]:
    """A summary for a run that comes without one: each group's tasks and outcomes."""
    rows = []
    for name, counted in groups:
        passed, total = sum(came_out == "pass" for _, came_out in counted), len(counted)
        low, high = wilson(passed, total)
        rate = {"value": passed / total if total else None, "low": low, "high": high}
        rows.append(
            {
                "name": name,
                "tasks": len({task for task, _ in counted}),
                "simulations": total,
                "success": rate,
            }
        )
    return {"rows": rows, "notes": list(_NOTES)}


def summary_table(summary: Shape) -> dict[str, Any]:
    """A summary as columns and rows; what is no count is a measure, with or without interval."""
    rows = [mapping(row) for row in entries(summary.get("rows"))]
    counts = [key for key in ("tasks", "simulations") if any(key in row for row in rows)]
    known = {"name", *counts}
    measures = list(dict.fromkeys(key for row in rows for key in row if key not in known))
    return {
        "counts": counts,
        "measures": measures,
        "rows": [
            {
                "name": row.get("name"),
                "counts": [row.get(key) for key in counts],
                "measures": [row.get(key) for key in measures],
            }
            for row in rows
        ],
        "notes": [str(note) for note in entries(summary.get("notes"))],
    }
