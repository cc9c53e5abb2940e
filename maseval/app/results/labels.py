"""Labels of failures counted, and pass^k without those that are not the agent's."""

from collections.abc import Mapping
from typing import TypedDict


class LabelRow(TypedDict):
    """pass^k by its name over what is counted, and how many simulations are left out."""

    values: dict[str, float | None]
    simulations: int
    tasks: int
    left_out: int


class LabelCounts(TypedDict):
    """A run by its labels; ``official`` counts everything, ``without`` leaves failures out."""

    simulations: int
    passed: int
    failed: int
    by_who: dict[str, int]
    by_what: dict[str, int]
    official: LabelRow
    without: dict[str, LabelRow]


def rows_without(labels: LabelCounts) -> dict[str, LabelRow]:
    """pass^k without each kind of failure that occurs, and without all of them."""
    rows = {
        f"without {name} failures": row
        for name, row in labels["without"].items()
        if row["left_out"]
    }
    if len(rows) == 2:  # one kind only, and all kinds: the same simulations
        rows.popitem()
    return rows


def report_rows(labels: LabelCounts) -> list[Mapping[str, object]]:
    """The same as rows of the HTML report's results."""
    return [
        {"name": name, "tasks": row["tasks"], "simulations": row["simulations"], **row["values"]}
        for name, row in rows_without(labels).items()
    ]


def report_notes(labels: LabelCounts) -> list[str]:
    """What these rows mean, if there are any."""
    if not rows_without(labels):
        return []
    return [
        "Rows without some failures use rule-based labels. They complement the official number "
        "and never replace it: leaving simulations out can only improve it."
    ]
