"""The simulation inside a report of ours, in v0.2.0's form."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from maseval.benchmark.tau2.forms.message import complete
from maseval.benchmark.tau2.forms.simulation import SimulationForm
from maseval.benchmark.tau2.versions.rules import FIRST_ENDINGS
from maseval.core.report import Report, TaskExecutionStatus


class Omitted(NamedTuple):
    """A repetition that v0.2.0's form cannot hold, and why."""

    task_id: str
    trial: int
    status: str
    reason: str


def simulation_of(report: Report) -> dict[str, Any] | Omitted:
    """The simulation of a repetition, as v0.2.0 writes it.

    A repetition that ended in a way that v0.2.0 does not know, such as a time-out, is ``Omitted``.
    """
    recorded = environment_of(report).get("simulation")
    if not recorded:
        return _omitted(report, "it has no simulation")
    if recorded.get("termination_reason") not in FIRST_ENDINGS:
        return _omitted(report, "v0.2.0 has no termination reason for it")
    known = {
        "task_id": report["task_id"],
        "reward_info": _reward_info(report),
        "messages": [complete(message) for message in recorded["messages"]],
        "trial": report["repeat_idx"],
        "seed": report.get("seed"),
    }
    return {key: known.get(key, recorded.get(key)) for key in SimulationForm.__annotations__}


def environment_of(report: Report) -> Mapping[str, Any]:
    """The environment's trace of the repetition."""
    environment: Mapping[str, object] = (report.get("traces") or {}).get("environment") or {}
    return environment


def _reward_info(report: Report) -> object:
    forms = (entry.get("reward_info") for entry in report.get("eval") or ())
    return next((form for form in forms if form is not None), None)


def _omitted(report: Report, reason: str) -> Omitted:
    status = report.get("status", "unknown")
    error = report.get("error") or {}
    if status != TaskExecutionStatus.SUCCESS.value and error.get("error_message"):
        reason = f"{reason}: {error['error_message']}"
    return Omitted(report["task_id"], report["repeat_idx"], status, reason)
