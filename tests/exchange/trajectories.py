"""Small trajectories as other programs write them."""

from typing import Any


def step(source: str, message: object = "", **more: Any) -> dict[str, Any]:
    return {"source": source, "message": message, **more}


def call(name: str, id: str = "c1", **arguments: Any) -> dict[str, Any]:
    return {"tool_call_id": id, "function_name": name, "arguments": arguments}


def answer(content: object, id: str | None = "c1", **more: Any) -> dict[str, Any]:
    results = [{"source_call_id": id, "content": content, **more}]
    return {"observation": {"results": results}}


def refers_to(*names: object) -> dict[str, Any]:
    references = [{"trajectory_id": name} for name in names]
    return {"observation": {"results": [{"subagent_trajectory_ref": references}]}}


def trajectory(*steps: dict[str, Any], version: str = "1.8", **more: Any) -> dict[str, Any]:
    numbered = [{"step_id": at, **each} for at, each in enumerate(steps, start=1)]
    return {
        "schema_version": f"ATIF-v{version}",
        "session_id": "s1",
        "agent": {"name": "clerk", "version": "1", "model_name": "openai/gpt-4.1"},
        "steps": numbered,
        **more,
    }


def customer(*steps: dict[str, Any], name: str = "turn") -> dict[str, Any]:
    """What a customer did on a device."""
    agent = {"name": "customer", "version": "unknown"}
    return {**trajectory(*steps, agent=agent), "trajectory_id": name}
