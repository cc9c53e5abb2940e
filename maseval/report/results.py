"""The table of results: each measure with its interval and the number counted."""

from collections.abc import Iterable, Sequence

from maseval.core.outcome import OutcomeKind, TaskKey
from maseval.core.shapes import Shape, entries, mapping
from maseval.stats.estimation import estimate
from maseval.stats.intervals import LEVEL, OVER_TASKS
from maseval.stats.trials import count_trials

_NOTES = (
    "Success rate: share of passed trials, mean over tasks. Errors and missing verdicts count as "
    "not passed.",
    f"{LEVEL:.0%} CI, {OVER_TASKS} (docs/statistics.md).",
)


def success_rates(outcomes: Iterable[tuple[TaskKey, OutcomeKind]]) -> dict[str, object]:
    """The results of a run that comes without a summary: each domain's, and those of all."""
    domains: dict[str, list[_Judged]] = {}
    for task, kind in outcomes:
        domains.setdefault(task.group, []).append((task, kind))
    groups = {} if len(domains) == 1 else domains
    every = [each for judged in domains.values() for each in judged]
    rows = [_success_rate(name, each) for name, each in [*groups.items(), ("all", every)]]
    return {"rows": rows, "notes": list(_NOTES)}


_Judged = tuple[TaskKey, OutcomeKind]


def _success_rate(name: str, reports: Sequence[_Judged]) -> dict[str, object]:
    tasks = count_trials((task, kind == "pass") for task, kind in reports)
    judged = any(kind in ("pass", "fail") for _, kind in reports)
    return {
        "name": name,
        "tasks": len(tasks),
        "simulations": len(reports),
        "success": estimate([*tasks.values()]).in_brief() if judged else {"value": None},
    }


def summary_table(summary: Shape) -> dict[str, object]:
    """A summary as columns and rows. Whatever is not a count is a measure, with or without a CI."""
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
