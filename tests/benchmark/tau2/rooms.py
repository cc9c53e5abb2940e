"""A small domain with tools on both sides, and a benchmark with scripted models.

A caretaker looks after a room and may paint its wall; the tenant in it can press the buttons.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from maseval import ModelAdapter, Report, ScriptedModelAdapter, Task
from maseval.benchmark.tau2 import (
    DB,
    DefaultAgentTau2Benchmark,
    ToolKitBase,
    ToolType,
    is_tool,
    load_tasks,
)
from maseval.benchmark.tau2.domains.base import for_tasks
from maseval.benchmark.tau2.domains.domain import Domain, policy_file

Script = Sequence[Any] | Callable[..., Any]


class RoomDB(DB):
    wall: str = "white"
    coats: int = 1


class LampDB(DB):
    on: bool = False
    colour: str = "white"
    level: int = 3


class CaretakerTools(ToolKitBase[RoomDB]):
    @is_tool(ToolType.READ)
    def look(self) -> RoomDB:
        """Look at the room."""
        return self.db

    @is_tool(ToolType.WRITE)
    def paint(self, colour: str, coats: int = 1) -> str:
        """Paint the wall.

        Args:
            colour: Which colour.
            coats: How often.
        """
        if colour == "black":
            raise ValueError("No black walls")
        self.db.wall, self.db.coats = colour, coats
        return f"The wall is {colour}."

    @for_tasks
    def wall_is(self, colour: str) -> bool:
        return self.db.wall == colour


class TenantTools(ToolKitBase[LampDB]):
    @is_tool(ToolType.WRITE)
    def press_switch(self) -> str:
        """Press the light switch."""
        self.db.on = not self.db.on
        return f"The light is {'on' if self.db.on else 'off'}."

    @is_tool(ToolType.WRITE)
    def set_lamp(self, colour: str, level: int = 3) -> str:
        """Set the lamp.

        Args:
            colour: Which colour.
            level: How bright.
        """
        self.db.colour, self.db.level = colour, level
        return f"{colour}, {level}. ###STOP###"


def room_domain(folder: Path) -> Domain:
    """The domain, with its files in ``folder``."""
    for name, text in {
        "db.json": "{}",
        "user_db.json": "{}",
        "policy.md": "Look before you speak.",
        "policy_solo.md": "Look, and do not speak.",
    }.items():
        (folder / name).write_text(text)
    return Domain(
        name="room",
        db=RoomDB,
        toolkit=CaretakerTools,
        user_db=LampDB,
        user_db_file="user_db.json",
        user_toolkit=TenantTools,
        policy_text=policy_file("policy.md", solo="policy_solo.md"),
        data_dir=folder,
    )


def action(name: str, requestor: str = "assistant", **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments, "requestor": requestor}


def room_task(
    room: Domain,
    *actions: dict[str, Any],
    task_id: str = "dark",
    instructions: Any = "You sit in the dark.",
    initial_state: dict[str, Any] | None = None,
    **criteria: Any,
) -> Task:
    numbered = [{"action_id": f"gold_{number}", **one} for number, one in enumerate(actions)]
    raw = {
        "id": task_id,
        "user_scenario": {"instructions": instructions},
        "initial_state": initial_state,
        "ticket": "The tenant sits in the dark.",
        "evaluation_criteria": {"actions": numbered, **criteria},
    }
    assert room.data_dir is not None
    (room.data_dir / "tasks.json").write_text(json.dumps([raw]))
    (task,) = load_tasks(room, timeout_seconds=None, max_retries=0).to_list()
    task.environment_data["domain"] = room
    task.user_data["model_id"] = "tenant"
    return task


class Live(DefaultAgentTau2Benchmark):
    """The reference agent and user, with scripts for models; ``asked`` keeps every request."""

    def __init__(
        self, agent: Script, user: Script = (), judge: Script = (), **settings: Any
    ) -> None:
        super().__init__(progress_bar=False, agent_data={"model_id": "caretaker"}, **settings)
        self.scripts = {"agent_model": agent, "user_simulator": user, "nl_evaluator": judge}
        self.models: dict[str, list[ScriptedModelAdapter]] = {name: [] for name in self.scripts}

    def get_model_adapter(self, model_id: str, **kwargs: Any) -> ModelAdapter:
        name = kwargs["register_name"]
        adapter = ScriptedModelAdapter(
            self.scripts[name], model_id=model_id, seed=kwargs.get("seed")
        )
        self.models[name].append(adapter)
        return self.register("models", name, adapter)

    def requests(self, name: str) -> list[dict[str, Any]]:
        return [request for model in self.models[name] for request in model.requests]


def conversation(report: Report) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = simulation(report)["messages"]
    return messages


def simulation(report: Report) -> dict[str, Any]:
    recorded: dict[str, Any] = report["traces"]["environment"]["simulation"]
    return recorded


def said(report: Report) -> list[tuple[str, str | None]]:
    return [(message["role"], message["content"]) for message in conversation(report)]
