"""The booking desk: its rooms, its agent, and the verdict.

The model behind the demo is a script, which reads the conversation and decides what comes next.
"""

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from maseval.core.agent import AgentAdapter
from maseval.core.benchmark import Benchmark
from maseval.core.engine.participants import Agents
from maseval.core.environment import Environment
from maseval.core.evaluator import Evaluator
from maseval.core.messages import Message, MessageHistory, text_of, tool_call
from maseval.core.model import ModelAdapter
from maseval.core.scripted import FixedReply, ScriptedModelAdapter, Tools
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.tool import tool_definition
from maseval.core.user import User


def clerk(
    seed: int | None, slip_rate: float = 0.0, delay_seconds: float = 0.0
) -> ScriptedModelAdapter:
    """Return a clerk who looks for a free room and books the first one found.

    In ``slip_rate`` of all conversations it forgets how many people there are.
    """
    slips = Random(seed).random() < slip_rate

    def reply(messages: list[Message], tools: Tools) -> FixedReply:
        people, hour = (int(number) for number in re.findall(r"\d+", text_of(messages[0]))[:2])
        match [text_of(message) for message in messages if message["role"] == "tool"]:
            case []:
                return tool_call("free_rooms", {"hour": hour, "seats": 1 if slips else people})
            case ["none"]:
                return "I am sorry, no room is free."
            case [rooms] if not rooms.startswith("Error"):
                return tool_call("book", {"room": rooms.split(", ")[0], "hour": hour})
            case [*_, last]:
                return last
        raise AssertionError("every list matches one of the cases")

    return ScriptedModelAdapter(
        reply, model_id="scripted/clerk", seed=seed, delay_seconds=delay_seconds
    )


SEATS = {"Ash": 2, "Birch": 4, "Cedar": 8, "Elm": 12}
OPEN = range(9, 18)


class MeetingRooms(Environment):
    """Four rooms on one day; the state is which hours were taken and which were booked here."""

    def setup_state(self, task_data: dict[str, Any]) -> dict[str, dict[str, list[int]]]:
        return {"taken": task_data.get("taken", {}), "booked": {}}

    def create_tools(self) -> dict[str, Callable[..., str]]:
        return {"free_rooms": self.free_rooms, "book": self.book}

    def free_rooms(self, hour: int, seats: int) -> str:
        """List the rooms that are free for an hour and large enough, the smallest first."""
        if hour not in OPEN:
            raise ValueError(f"The house is open from {OPEN.start} to {OPEN.stop}, not at {hour}")
        free = [room for room in SEATS if SEATS[room] >= seats and self._is_free(room, hour)]
        return ", ".join(free) or "none"

    def book(self, room: str, hour: int) -> str:
        """Book a free room for one hour."""
        if room not in SEATS or hour not in OPEN or not self._is_free(room, hour):
            raise ValueError(f"{room} cannot be booked at {hour}")
        self.state["booked"].setdefault(room, []).append(hour)
        return f"{room} is yours at {hour}."

    def _is_free(self, room: str, hour: int) -> bool:
        return all(hour not in self.state[kind].get(room, []) for kind in ("taken", "booked"))

    def gather_traces(self) -> dict[str, Any]:
        return {**super().gather_traces(), "booked": self.state["booked"]}


class BookingAgent(AgentAdapter):
    """Lets a model call the tools until it answers in words."""

    agent: ModelAdapter

    def __init__(self, model: ModelAdapter, tools: dict[str, Callable[..., str]]) -> None:
        super().__init__(model, "desk")
        self.tools = tools
        self.messages: MessageHistory = MessageHistory()

    def _run_agent(self, query: str) -> str:
        offered = [tool_definition(tool, name=name) for name, tool in self.tools.items()]
        self.messages.add_message("user", query)
        while (response := self.agent.chat(self.messages, tools=offered)).tool_calls:
            self.messages.add_response(response)
            for call in response.tool_calls:
                self.messages.add_tool_response(call["id"], self._result(**call["function"]))
        self.messages.add_response(response)
        return response.content or ""

    def _result(self, name: str, arguments: str) -> str:
        try:
            return self.tools[name](**json.loads(arguments))
        except Exception as error:  # a tool called by a model: the error is its answer
            return f"Error: {error}"


class BookingEvaluator(Evaluator):
    """Passed if exactly the expected rooms are booked, whatever the agent says about it."""

    def __call__(self, traces: dict[str, Any], final_answer: object = None) -> dict[str, Any]:
        booked = traces["environment"]["booked"]
        expected = self.task.evaluation_data["booked"]
        return {"passed": booked == expected, "booked": booked, "expected": expected}


class BookingBenchmark(Benchmark):
    """Agent data: ``slip_rate``, how often the clerk is careless; ``delay_seconds`` per answer."""

    evaluators_need_environment = False

    def setup_environment(
        self, agent_data: dict[str, Any], task: Task, seed_generator: SeedGenerator
    ) -> MeetingRooms:
        return MeetingRooms(task.environment_data)

    def setup_agents(
        self,
        agent_data: dict[str, Any],
        environment: MeetingRooms,
        task: Task,
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> Agents:
        model = clerk(seed=seed_generator.derive_seed("clerk"), **agent_data)
        self.register("models", "clerk", model)
        agent = BookingAgent(model, environment.tools)
        return [agent], {agent.name: agent}

    def setup_evaluators(
        self,
        environment: MeetingRooms,
        task: Task,
        agents: Sequence[AgentAdapter],
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> Sequence[Evaluator]:
        return [BookingEvaluator(task, environment, user)]
