"""Runs in which a person took part, who must not be taken for a model."""

from collections.abc import Mapping

from maseval.core.agent import HUMAN
from maseval.core.shapes import mapping

_SIDES = {"agent": "agent", "user": "customer"}


def human_sides(config: Mapping[str, object]) -> list[str]:
    """Whom a person played in a run, or in a results file."""
    return [
        who
        for side, who in _SIDES.items()
        if HUMAN in (mapping(config, side).get(key) for key in ("player", "model"))
    ]
