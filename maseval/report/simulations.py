"""Convert a simulation of a results file of tau2-bench into a report."""

from maseval.core.report import TaskExecutionStatus
from maseval.core.shapes import Shape, entries, mapping, number

# Ends that a verdict follows; after any other the agent was never judged.
_JUDGED = frozenset({"agent_stop", "user_stop", "max_steps", "too_many_errors"})
_BROKEN = {
    "agent_error": TaskExecutionStatus.AGENT_ERROR,
    "user_error": TaskExecutionStatus.USER_ERROR,
    "timeout": TaskExecutionStatus.TASK_TIMEOUT,
    "infrastructure_error": TaskExecutionStatus.ENVIRONMENT_ERROR,
}
# The role of a side's messages, and where its cost is.
_SIDES = {"agent_model": ("assistant", "agent_cost"), "user_model": ("user", "user_cost")}


def is_simulation(shape: Shape) -> bool:
    """Return whether it is a simulation and not a report, which has a status or an evaluation."""
    return "messages" in shape and not {"status", "eval", "traces"} & shape.keys()


def report_of_simulation(
    simulation: Shape, *, domain: str = "", task: Shape | None = None, verdict: object = None
) -> dict[str, object]:
    """Return the report on a simulation; ``verdict`` takes the place of its own ``reward_info``."""
    info = mapping(simulation.get("reward_info") if verdict is None else verdict)
    ended = str(simulation.get("termination_reason") or "")
    reward = {"reward": number(info.get("reward"))}
    unknown = TaskExecutionStatus.UNKNOWN_EXECUTION_ERROR
    broken = _BROKEN.get(ended, unknown)
    return {
        "task_id": str(simulation.get("task_id")),
        "repeat_idx": int(number(simulation.get("trial")) or 0),
        "status": (TaskExecutionStatus.SUCCESS if ended in _JUDGED else broken).value,
        "error": _error(simulation, ended),
        "traces": {"environment": {"domain": domain, "simulation": simulation}},
        "config": {},
        "usage": {"models": {name: _usage(simulation, name) for name in _SIDES}},
        "eval": [{**reward, "termination_reason": ended, "reward_info": info}] if info else [],
        "task": _task(domain, task),
        "final_answer": None,
        "run_id": "",
        "started_at": simulation.get("start_time") or simulation.get("timestamp"),
        "duration_seconds": number(simulation.get("duration")) or 0.0,
        "seed": simulation.get("seed"),
        "attempts": [],
    }


def _error(simulation: Shape, ended: str) -> dict[str, object] | None:
    if ended in _JUDGED:
        return None
    info = mapping(simulation, "info")
    words = info.get("error") or f"the simulation ended with {ended or 'no termination reason'}"
    return {
        "error_type": info.get("error_type") or ended or "unknown",
        "error_message": words,
        "traceback": info.get("error_traceback"),
    }


def _usage(simulation: Shape, model: str) -> dict[str, object]:
    """Return the cost of a side, and its tokens as far as its messages count them."""
    role, cost = _SIDES[model]
    messages = (mapping(each) for each in entries(simulation.get("messages")))
    counted = [mapping(each, "usage") for each in messages if each.get("role") == role]
    tokens = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}
    return {
        "cost": number(simulation.get(cost)) or 0.0,
        **{
            name: int(sum(number(each.get(theirs)) or 0 for each in counted))
            for name, theirs in tokens.items()
        },
    }


def _task(domain: str, task: Shape | None) -> dict[str, object]:
    given = {} if task is None else task
    metadata = {
        "domain": domain or None,
        "description": given.get("description"),
        "user_scenario": given.get("user_scenario"),
    }
    known = {key: value for key, value in metadata.items() if value is not None}
    return {"query": "", "metadata": known, "protocol": {}}
