"""Simulations in the form of tau2-bench, as reports.

After tau2-bench v0.2.0, src/tau2/data_model/simulation.py (MIT, Sierra Research).
"""

from maseval.core.recorded import Part, RecordedTrace, Shape, mapping, number
from maseval.core.report import TaskExecutionStatus
from maseval.core.words import text_or_none

# Ends that a verdict follows; after any other the agent was never judged.
_JUDGED = frozenset({"agent_stop", "user_stop", "max_steps", "too_many_errors"})
_BROKEN = {
    "agent_error": TaskExecutionStatus.AGENT_ERROR,
    "user_error": TaskExecutionStatus.USER_ERROR,
    "timeout": TaskExecutionStatus.TASK_TIMEOUT,
    "infrastructure_error": TaskExecutionStatus.ENVIRONMENT_ERROR,
}


class _FileSimulation(RecordedTrace):
    """A simulation in the form of tau2-bench; ``info`` tells why it broke, if it did."""

    task_id = Part(str)
    trial = Part(lambda value: int(number(value) or 0))
    ended = Part(lambda value: str(value or ""), "termination_reason")
    verdict = Part(mapping, "reward_info")
    seconds = Part(lambda value: number(value) or 0.0, "duration")
    error = Part(text_or_none, "info", "error")
    error_type = Part(text_or_none, "info", "error_type")
    traceback = Part(text_or_none, "info", "error_traceback")


def report_of_simulation(simulation: Shape, *, domain: str = "") -> dict[str, object]:
    """Return a report on a simulation, with the verdict that it has."""
    given = _FileSimulation(simulation)
    broken = _BROKEN.get(given.ended, TaskExecutionStatus.UNKNOWN_EXECUTION_ERROR)
    return {
        "task_id": given.task_id,
        "repeat_idx": given.trial,
        "status": (TaskExecutionStatus.SUCCESS if given.ended in _JUDGED else broken).value,
        "error": _error(given),
        "traces": {"environment": {"domain": domain, "simulation": simulation}},
        "config": {},
        "usage": {"models": _usage(given)},
        "eval": evaluations(given.verdict, given.ended),
        "task": task_in_report(domain, None),
        "final_answer": None,
        "run_id": "",
        "started_at": given.start_time or simulation.get("timestamp"),
        "duration_seconds": given.seconds,
        "seed": simulation.get("seed"),
        "attempts": [],
    }


def evaluations(verdict: Shape | None, ended: object) -> list[dict[str, object]]:
    """Return a verdict as the results of the evaluators of a report."""
    if not verdict:
        return []
    reward = number(verdict.get("reward"))
    return [{"reward": reward, "termination_reason": ended, "reward_info": verdict}]


def _error(given: _FileSimulation) -> dict[str, object] | None:
    if given.ended in _JUDGED:
        return None
    ended = given.ended or "no termination reason"
    return {
        "error_type": given.error_type or given.ended or "unknown",
        "error_message": given.error or f"the simulation ended with {ended}",
        "traceback": given.traceback,
    }


def _usage(given: _FileSimulation) -> dict[str, dict[str, float | None]]:
    """Return the cost of each side, and its tokens as far as its messages count them.

    The original writes a cost of zero for a model whose price it does not know.
    """
    used: dict[str, dict[str, float | None]] = {}
    for side, role in (("agent", "assistant"), ("user", "user")):
        own = [each for each in given.messages if each.role == role and each.usage]
        used[f"{side}_model"] = {
            "cost": (given.agent_cost if side == "agent" else given.user_cost) or None,
            "input_tokens": int(sum(message.input_tokens or 0 for message in own)),
            "output_tokens": int(sum(message.output_tokens or 0 for message in own)),
        }
    return used


def task_in_report(domain: str, task: Shape | None) -> dict[str, object]:
    """Return what a report shows of a task."""
    given = {} if task is None else task
    metadata = {
        "domain": domain or None,
        "description": given.get("description"),
        "user_scenario": given.get("user_scenario"),
    }
    known = {key: value for key, value in metadata.items() if value is not None}
    return {"query": "", "metadata": known, "protocol": {}}
