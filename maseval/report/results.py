"""The table of results: each measure with its interval and the number counted."""

from collections.abc import Sequence

from maseval.core.outcome import Outcome
from maseval.core.shapes import Shape, entries, mapping
from maseval.stats.intervals import wilson

_NOTES = (
    "Success rate: passed simulations / all simulations. Errors and missing verdicts count as not "
    "passed.",
    "95% CI: Wilson, over simulations. Trials of one task are correlated, so with several trials "
    "per task the true uncertainty is larger.",
)


def success_rates(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """The results of a run that comes without a summary: each domain's, and those of all."""
    domains: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        domains.setdefault(outcome.group, []).append(outcome)
    groups = {} if len(domains) == 1 else domains
    rows = [_success_rate(name, each) for name, each in [*groups.items(), ("all", outcomes)]]
    return {"rows": rows, "notes": list(_NOTES)}


def _success_rate(name: str, outcomes: Sequence[Outcome]) -> dict[str, object]:
    passed, total = sum(each.passed is True for each in outcomes), len(outcomes)
    interval = wilson(passed, total)
    value = passed / total if total else None
    return {
        "name": name,
        "tasks": len({each.key for each in outcomes}),
        "simulations": total,
        "success": {"value": value, "low": interval.low, "high": interval.high},
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
