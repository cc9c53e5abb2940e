"""Conversations that follow the reference solution, with a fault where a test needs one."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2.data_loader import load_domain_config
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.domains.base import ToolType
from maseval.benchmark.tau2.formats.message import INITIAL_GREETING
from maseval.benchmark.tau2.world.world import World

Action = Mapping[str, Any]
STOP = {"role": "user", "content": "Thank you. ###STOP###"}


def folder_of(domain: str) -> Path:
    return load_domain_config(domain)["db_path"].parent


def gold(task: Mapping[str, Any]) -> list[Action]:
    return list((task["evaluation_criteria"] or {}).get("actions") or ())


def to_be_said(task: Mapping[str, Any]) -> list[str]:
    return list(task["evaluation_criteria"].get("communicate_info") or ())


def wish(task: Mapping[str, Any]) -> str:
    """All that the task has the user ask for, at once."""
    told = (task.get("user_scenario") or {}).get("instructions") or ""
    return told if isinstance(told, str) else " ".join(each for each in told.values() if each)


def is_write(domain: str, action: Action) -> bool:
    chosen = domain_named(domain)
    user = action.get("requestor") == "user"
    kit = chosen.user_toolkit if user else chosen.toolkit
    return bool(kit and kit.has_tool(action["name"])) and (
        kit.tool_type(action["name"]) is ToolType.WRITE
    )


def do(name: str, **arguments: Any) -> Action:
    return {"name": name, "arguments": arguments}


def staged(
    domain: str,
    task: Mapping[str, Any],
    actions: Sequence[Action] | None = None,
    *,
    said: Iterable[str] | None = None,
    before: Sequence[Mapping[str, Any]] = (),
    ending: Sequence[Mapping[str, Any]] = (STOP,),
    **changes: Any,
) -> dict[str, Any]:
    """A simulation of ``actions`` (the gold ones), ``said`` (what must be) and an ``ending``."""
    world, start = World(domain_named(domain), folder_of(domain)), task.get("initial_state") or {}
    world.set_state(start.get("initialization_data"), start.get("initialization_actions"), [])
    messages: list[dict[str, Any]] = [
        {"role": "assistant", "content": INITIAL_GREETING},
        {"role": "user", "content": f"Hello, I need your help. {wish(task)}"},
        *map(dict, before),
    ]
    for number, action in enumerate(gold(task) if actions is None else actions):
        role = action.get("requestor", "assistant")
        messages += call_and_answer(world, number, action["name"], action["arguments"], role)
    words = list(to_be_said(task) if said is None else said)
    messages.append({"role": "assistant", "content": " ".join([*words, "All is done."])})
    messages += map(dict, ending)
    return simulation_of(task, messages, **changes)


def call_and_answer(
    world: World, number: int, name: str, arguments: Mapping[str, Any], role: str
) -> list[dict[str, Any]]:
    """Make a call in the world; return the message with it, and the answer."""
    call: Any = {
        "id": f"call_{number}",
        "name": name,
        "arguments": dict(arguments),
        "requestor": role,
    }
    return [{"role": role, "content": None, "tool_calls": [call]}, dict(world.respond(call))]


def simulation_of(
    task: Mapping[str, Any], messages: Sequence[dict[str, Any]], **changes: Any
) -> dict[str, Any]:
    """Number and date the messages; the simulation is in the form of results files."""
    for turn, message in enumerate(messages):
        message |= {"turn_idx": turn, "timestamp": f"2025-01-01T10:{turn // 60:02}:{turn % 60:02}"}
    return {
        "id": f"simulation of {task['id']}",
        "task_id": task["id"],
        "trial": 0,
        "messages": messages,
        "termination_reason": "user_stop",
        "start_time": "2025-01-01T10:00:00",
        "end_time": "2025-01-01T11:59:59",
        **changes,
    }
