"""The results on a page: a table of measures with their intervals."""

from collections.abc import Sequence

from maseval.core.outcome import Outcome
from maseval.core.recorded import Shape, list_of, mapping
from maseval.core.task import ChosenSubset
from maseval.stats.summary import GroupSummary, summarise

_MEANING = "Success rate: share of trials that passed, mean over tasks."


def success_rates(
    outcomes: Sequence[Outcome], subset: ChosenSubset | None = None
) -> dict[str, object]:
    """Return the results of a run that comes without a summary: each domain's, and those of all.

    Those of a ``subset`` are named an estimate.
    """
    if not outcomes:
        return {"rows": [], "meaning": [_MEANING]}
    found = summarise(outcomes)
    domains = found.domains if len(found.groups) > 1 else []
    rows = [
        page_row(
            f"{name}, {subset}" if subset else name,
            group,
            success=group.estimate(1).in_brief() if group.done else {"value": None},
        )
        for name, group in [*((each.group, each) for each in domains), ("all", found.overall)]
    ]
    notes = filter(None, [subset and subset.note, found.overall.shortfall])
    return {"rows": rows, "notes": [*notes], "meaning": [_MEANING, found.interval_in_words]}


def page_row(name: str | None, group: GroupSummary, **numbers: object) -> dict[str, object]:
    """Return a group as a row of a summary; with each pass^k, unless it has other ``numbers``."""
    official = {f"pass^{k}": each.in_brief() for k, each in group.pass_hat.items()}
    counts = {"tasks": group.tasks, "simulations": group.planned, "verdicts": group.done}
    return {"name": name, **counts, **(numbers or official)}


_COUNTS = ("tasks", "simulations", "verdicts")


def summary_table(given: Shape) -> dict[str, object]:
    """Return a summary as columns and rows; each key that is not a count is a measure.

    ``beside`` are rows that stand beside the official ones, ``meaning`` explains numbers,
    ``doubt`` says why they are doubtful, and ``obstacle`` why there are none.
    """
    rows, beside = (list_of(mapping)(given.get(part)) for part in ("rows", "beside"))
    every = [*rows, *beside]
    counts = [key for key in _COUNTS if any(key in row for row in every)]
    known = {"name", *counts}
    measures = list(dict.fromkeys(key for row in every for key in row if key not in known))

    def row_of(row: Shape) -> dict[str, object]:
        parts = {"counts": counts, "measures": measures}
        return {"name": row.get("name")} | {k: [*map(row.get, v)] for k, v in parts.items()}

    return {
        "counts": counts,
        "measures": measures,
        "rows": [*map(row_of, rows)],
        "beside": [*map(row_of, beside)],
        **{part: list_of(str)(given.get(part)) for part in ("notes", "meaning")},
        **{part: given[part] for part in ("doubt", "obstacle") if given.get(part)},
    }
