"""Small true reports: every key that the engine writes, and only what matters filled in."""

from typing import Any


def report(
    task_id: str = "t1",
    repeat: int = 0,
    *,
    passed: bool | None = True,
    domain: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A repetition of a task; ``passed=None`` leaves it without a verdict."""
    metadata = {} if domain is None else {"domain": domain}
    base = {
        "task_id": task_id,
        "repeat_idx": repeat,
        "status": "success",
        "error": None,
        "traces": {},
        "config": {},
        "usage": {},
        "eval": None if passed is None else [{"passed": passed}],
        "task": {"query": "", "metadata": metadata, "protocol": {}},
        "final_answer": None,
        "run_id": "run",
        "started_at": "2025-01-01T10:00:00",
        "duration_seconds": 1.0,
        "seed": 7,
        "attempts": [],
    }
    return {**base, **more}


def broken(task_id: str = "t1", repeat: int = 0, **more: Any) -> dict[str, Any]:
    """A repetition that ended with an error."""
    error = {
        "error_type": "AgentError",
        "error_message": "the agent fell over",
        "traceback": "Traceback (most recent call last):\n  File agent.py, line 1\nAgentError",
    }
    known = {"status": "agent_error", "error": error, "passed": None, **more}
    return report(task_id, repeat, **known)


def call(
    name: str = "get_order", call_id: str = "c1", requestor: str = "assistant", **arguments: Any
) -> dict[str, Any]:
    return {"id": call_id, "name": name, "arguments": arguments, "requestor": requestor}


def said(
    role: str, content: str | None = None, *calls: dict[str, Any], second: int = 0, **more: Any
) -> dict[str, Any]:
    return {
        "role": role,
        "content": content,
        "tool_calls": list(calls) or None,
        "timestamp": f"2025-01-01T10:00:{second:02d}",
        **more,
    }


def answered(
    content: str, call_id: str = "c1", *, error: bool = False, requestor: str = "assistant"
) -> dict[str, Any]:
    return {
        "role": "tool",
        "id": call_id,
        "content": content,
        "requestor": requestor,
        "error": error,
        "timestamp": "2025-01-01T10:00:30",
    }


CONVERSATION = [
    said("assistant", "Hi! How can I help you today?"),
    said("user", "Please cancel my order.", second=2, cost=0.001),
    said("assistant", None, call("get_order", order_id="#W1"), second=4, cost=0.002),
    answered('{"order_id": "#W1", "status": "pending"}'),
    said("assistant", None, call("cancel_order", "c2", order_id="#W1"), second=6),
    answered("Order #W1 is cancelled", "c2"),
    said("assistant", "It is cancelled.", second=8),
    said("user", "Thanks ###STOP###", second=9),
]


def reward_info(*, reward: float = 1.0, **more: Any) -> dict[str, Any]:
    base = {
        "reward": reward,
        "db_check": {"db_match": reward == 1.0, "db_reward": reward},
        "env_assertions": None,
        "action_checks": [
            {
                "action": {
                    "action_id": "0",
                    "requestor": "assistant",
                    "name": "cancel_order",
                    "arguments": {"order_id": "#W1"},
                    "compare_args": None,
                },
                "action_match": True,
                "action_reward": 1.0,
            }
        ],
        "nl_assertions": None,
        "communicate_checks": [
            {"info": "42", "met": False, "justification": "Information '42' not communicated."}
        ],
        "reward_basis": ["DB"],
        "reward_breakdown": {"DB": reward},
        "info": {},
    }
    return {**base, **more}


def simulated(
    task_id: str = "0",
    repeat: int = 0,
    *,
    reward: float = 1.0,
    messages: list[dict[str, Any] | str] | None = None,
    ended: str | None = "user_stop",
    **more: Any,
) -> dict[str, Any]:
    """A report of a simulated conversation, as tau2 makes them."""
    simulation = {
        "messages": CONVERSATION if messages is None else messages,
        "termination_reason": ended,
    }
    verdict = {
        "reward": reward,
        "passed": reward == 1.0,
        "termination_reason": ended,
        "reward_info": reward_info(reward=reward),
    }
    environment = {
        "initial_db_hash": "a" * 64,
        "final_db_hash": "b" * 64,
        "final_user_db_hash": None,
        "db_changed": True,
        "simulation": simulation,
    }
    usage = {"input_tokens": 1200, "cached_input_tokens": 0, "output_tokens": 80, "cost": 0.25}
    known = {
        "domain": "retail",
        "traces": {"environment": environment},
        "config": {
            "models": {"agent_model": {"model_id": "lab/agent-1"}},
            "environment": {"tool_types": {"cancel_order": "write", "get_order": "read"}},
        },
        "usage": {"models": {"agent_model": usage}, "metadata": {"total_components": 1}},
        "eval": [verdict],
    }
    return report(task_id, repeat, **{**known, **more})
