"""pass^k without failures that were not the agent's, next to the official number."""

from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]


def apart(labels: Mapping[str, Any]) -> dict[str, Row]:
    """What ``summarise_labels`` found without each kind of failure that occurs, and without all."""
    rows = {
        f"without {name} failures": row
        for name, row in labels["without"].items()
        if row["left_out"]
    }
    if len(rows) == 2:  # one kind only, and all kinds: the same simulations
        rows.popitem()
    return rows


def apart_rows(labels: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The same as rows of the HTML report's results."""
    return [
        {"name": name, "tasks": row["tasks"], "simulations": row["simulations"], **row["values"]}
        for name, row in apart(labels).items()
    ]


def apart_notes(labels: Mapping[str, Any]) -> list[str]:
    """What these rows mean, if there are any."""
    if not apart(labels):
        return []
    return [
        "Rows without some failures use rule-based labels. They complement the official number "
        "and never replace it: leaving simulations out can only improve it."
    ]
