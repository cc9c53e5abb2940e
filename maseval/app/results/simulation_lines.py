"""Simulations in a line each: what became of them, without the conversation."""

import builtins
from collections.abc import Iterable
from typing import NamedTuple

from maseval.core.outcome import (
    OutcomeKind,
    cost_of,
    kind_of,
    reward_of,
    termination_of,
    tokens_of,
)
from maseval.core.report import Report
from maseval.core.shapes import mapping, text_or_none
from maseval.runs import Simulation
from maseval.runs.recording import Recording


class SimulationLine(NamedTuple):
    """One simulation of a run, without its conversation."""

    domain: str
    task_id: str
    trial: int
    status: str
    outcome: OutcomeKind
    reward: float | None
    ended: str | None
    seconds: float
    cost: float
    tokens: int
    error: str | None


def lines_of(folder: Recording) -> list[SimulationLine]:
    """Every recorded simulation, in the order of the plan."""
    return [line_of(report) for report in folder.reports()]


def line_of(report: Report) -> SimulationLine:
    """A report without its conversation."""
    simulation = Simulation.of(report)
    return SimulationLine(
        *simulation,
        status=report["status"],
        outcome=kind_of(report),
        reward=reward_of(report),
        ended=termination_of(report),
        seconds=report["duration_seconds"],
        cost=cost_of(report) or 0.0,
        tokens=tokens_of(report),
        error=_error(report),
    )


def simulation_in(line: SimulationLine) -> Simulation:
    """The simulation that a line is about."""
    return Simulation(line.domain, line.task_id, line.trial)


def _error(report: Report) -> str | None:
    """The error message; with its type if that is a built-in one, whose messages say little."""
    if not report["error"]:
        return None
    error = mapping(report, "error")
    kind, words = (text_or_none(error.get(key)) for key in ("error_type", "error_message"))
    return f"{kind}: {words}" if kind and hasattr(builtins, kind) else words


def any_verdict(lines: Iterable[SimulationLine]) -> bool:
    """Whether any simulation was judged; if none was, a score would say nothing of the agent."""
    return any(line.outcome in ("pass", "fail") for line in lines)
