"""A run, and one of its simulations, as they are shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maseval.commands.results import RunSummary, SimulationLine
from maseval.runs import RunFolder

Part = Mapping[str, Any]


@dataclass(frozen=True)
class RunView:
    """A run: what it was asked to do, its numbers, and every simulation in a line.

    ``labels`` is ``summarise_labels`` of what failed, if it was looked at.
    """

    folder: RunFolder
    summary: RunSummary
    lines: Sequence[SimulationLine]
    labels: Part | None = None


@dataclass(frozen=True)
class SimulationView:
    """One simulation: what was said and done, what it changed, and why the verdict is what it is.

    ``messages``, ``verdicts`` and ``changes`` have the form that the HTML report shows. ``trials``
    are all recorded trials of the same task. ``diagnosis`` says who failed, and why, in words.
    """

    line: SimulationLine
    trials: Sequence[SimulationLine]
    task: Part
    messages: Sequence[Part]
    verdicts: Sequence[Part]
    changes: Sequence[Part]
    error: Part | None
    diagnosis: str | None = None
