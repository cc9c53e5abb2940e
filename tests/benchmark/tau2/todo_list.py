"""A small true world for tests of scoring: one user, one thing to do, and talk about it."""

import json
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.world.world import World
from tests.contract.mock_domain import mock_domain

DB = {
    "tasks": {"task_1": {"task_id": "task_1", "title": "Tidy up", "status": "pending"}},
    "users": {"user_1": {"user_id": "user_1", "name": "Ada", "tasks": ["task_1"]}},
}


def todo_list(folder: Path, *tasks: dict[str, Any]) -> Domain:
    """The domain over files of its own, with these tasks in them."""
    files = folder / "mock"
    files.mkdir()
    (files / "db.json").write_text(json.dumps(DB))
    (files / "tasks.json").write_text(json.dumps(tasks))
    for policy in ("policy.md", "policy_solo.md"):
        (files / policy).write_text("Be kind.")
    return mock_domain(folder)


def task(*actions: dict[str, Any], start: dict[str, Any] | None = None, **criteria: Any) -> Any:
    """A task in v0.2.0's form whose reference solution is ``actions``."""
    numbered = [{"action_id": str(i), **each} for i, each in enumerate(actions)]
    return {
        "id": "a_task",
        "user_scenario": {"instructions": "Ask."},
        "initial_state": start,
        "evaluation_criteria": {"actions": numbered, **criteria},
    }


def do(name: str, **arguments: Any) -> dict[str, Any]:
    """An action, or a call still without its id."""
    return {"name": name, "arguments": arguments}


CREATE = do("create_task", user_id="user_1", title="Meeting")
COMPLETE = do("update_task_status", task_id="task_1", status="completed")


def said(domain: Domain, *turns: str | dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A finished simulation: texts are the agent's, calls are answered by a world of their own."""
    assert domain.data_dir is not None
    world = World(domain, domain.data_dir)
    messages: list[dict[str, Any]] = []
    for number, turn in enumerate(turns):
        if isinstance(turn, str):
            messages.append({"role": "assistant", "content": turn})
            continue
        call: Any = {"id": f"call_{number}", "requestor": "assistant", **turn}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append(dict(world.respond(call)))
    return {
        "task_id": "a_task",
        "messages": messages,
        "termination_reason": "user_stop",
        **changes,
    }
