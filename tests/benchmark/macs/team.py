"""A small team for tests: a desk, a hotel agent with a tool, and a cleaner below it."""

import json
from typing import Any

from maseval.benchmark.macs import DefaultMACSBenchmark, configure_model_ids
from maseval.core.model import ModelAdapter
from maseval.core.scripted import ScriptedModelAdapter
from maseval.core.task import Task

HOTEL = {
    "tool_name": "Hotel",
    "actions": [
        {
            "name": "book",
            "description": "Book a room",
            "input_schema": {
                "properties": {"nights": {"data_type": "integer"}},
                "required": ["nights"],
            },
        }
    ],
}


def agent(
    agent_id: str, *reachable: str, tools: list[str] | tuple[Any, ...] = ()
) -> dict[str, Any]:
    edges = [{"agent_id": other, "scenario": f"for {other}"} for other in reachable]
    return {
        "agent_id": agent_id,
        "agent_name": agent_id.title(),
        "agent_instruction": f"You are good at {agent_id}.",
        "tools": list(tools),
        "reachable_agents": edges,
    }


TEAM = {
    "agents": [
        agent("desk", "hotel"),
        agent("hotel", "cleaner", "desk", tools=["Hotel"]),
        agent("cleaner", "nobody"),
        agent("stranger"),
    ],
    "primary_agent_id": "desk",
    "human_id": "User",
}


def a_task(id: str = "task-000001", **metadata: str) -> Task:
    task = Task(
        "A room, please",
        id=id,
        environment_data={"tools": [HOTEL], "primary_agent_id": "desk", "human_id": "User"},
        evaluation_data={"assertions": ["user: told", "agent: booked"]},
        metadata={"scenario": "Goals: a room", "scenario_index": 0, **metadata},
    )
    roles = ("tool_model_id", "user_model_id", "evaluator_model_id")
    return configure_model_ids([task], **dict.fromkeys(roles, "play/part"))[0]


def verdict(answer: str) -> str:
    return json.dumps([{"assertion": "a", "answer": answer, "evidence": "e"}])


SCRIPT = {
    "agent_desk": [{"name": "hotel", "arguments": {"message": "Two nights"}}, "It is booked."],
    "agent_hotel": [{"name": "book", "arguments": {"nights": 2}}, "Booked."],
    "tool_book": ['{"text": "number 7", "details": {}}'],
    "user_simulator": ['{"text": "Thanks </stop>"}'],
    "evaluator_user_gsr": [verdict("TRUE")],
    "evaluator_system_gsr": [verdict("TRUE")],
}


class Played(DefaultMACSBenchmark):
    """Every model plays its part of a script; ``asked`` keeps the models."""

    def __init__(self, script: dict[str, Any] = SCRIPT, **options: int) -> None:
        super().__init__(progress_bar=False, **options)
        self.script = script
        self.asked = {}

    def get_model_adapter(
        self, model_id: str, *, register_name: str | None, seed: int | None = None, **options: Any
    ) -> ModelAdapter:
        model = ScriptedModelAdapter(
            self.script.get(register_name, []), model_id=model_id, seed=seed
        )
        self.asked[register_name] = model
        return self.register("models", register_name, model)


def played(script: dict[str, Any] = SCRIPT, **options: int) -> tuple[dict[str, Any], Played]:
    benchmark = Played(script, **options)
    (report,) = benchmark.run([a_task()], agent_data={**TEAM, "model_id": "play/part"})
    return report, benchmark
