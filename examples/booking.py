"""Booking meeting rooms: a small benchmark that needs no data, key or network.

It shows what a benchmark of one's own looks like. The model behind it is a script, which reads the
conversation and decides what comes next. Run it with ``python examples/booking.py``, or like any
other benchmark with ``maseval run examples/booking.py:BookingBenchmark``.
"""

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from rich.console import Console
from rich.table import Table

from maseval.core.agent import AgentAdapter
from maseval.core.benchmark import Benchmark
from maseval.core.environment import Environment
from maseval.core.evaluator import Evaluator
from maseval.core.messages import Message, MessageHistory, text_of, tool_call
from maseval.core.model import ModelAdapter
from maseval.core.outcome import RecordedReport
from maseval.core.report import Report
from maseval.core.scripted import FixedReply, ScriptedModelAdapter, Tools
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task, TaskQueue
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
    ) -> tuple[Sequence[AgentAdapter], dict[str, AgentAdapter]]:
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


Hours = dict[str, list[int]]


def load_tasks() -> TaskQueue:
    """Return the twelve tasks, new ones at each call.

    The right room is always the smallest free one that is large enough.
    """
    return TaskQueue(
        [
            _task("pair", "A room for 2 at 10, please.", booked={"Ash": [10]}),
            _task("trio", "There are 3 of us. Anything at 9?", booked={"Birch": [9]}),
            _task("team", "Find a place for 6 people at 13.", booked={"Cedar": [13]}),
            _task("board", "The board, 11 people, meets at 16.", booked={"Elm": [16]}),
            _task("exact-fit", "Exactly 4 chairs, at 17.", booked={"Birch": [17]}),
            _task("ash-taken", "We are 2, at 11.", taken={"Ash": [11]}, booked={"Birch": [11]}),
            _task(
                "birch-taken",
                "For 4 at 12, please.",
                taken={"Ash": [12], "Birch": [12]},
                booked={"Cedar": [12]},
            ),
            _task("crowd", "A room for 20 people at 10.", booked={}),
            _task("full-house", "For 9 at 15.", taken={"Elm": [15]}, booked={}),
            # The scripted clerk takes the two first numbers it reads for people and hour. These
            # three ask for more than that, and an honest table shows it.
            _task("afternoon", "A room for 3 at 2 pm.", booked={"Birch": [14]}),
            _task("two-hours", "For 5 from 10 to 12, so two hours.", booked={"Cedar": [10, 11]}),
            _task(
                "second-choice",
                "For 12 at 9, or else at 10.",
                taken={"Elm": [9]},
                booked={"Elm": [10]},
            ),
        ]
    )


def _task(id: str, query: str, *, booked: Hours, taken: Hours | None = None) -> Task:
    return Task(
        query=query,
        id=id,
        environment_data={"taken": taken or {}},
        evaluation_data={"booked": booked},
    )


def main() -> None:
    benchmark = BookingBenchmark(n_task_repeats=4, num_workers=8, progress_bar="rich", seed=7)
    reports = benchmark.run(load_tasks(), agent_data={"slip_rate": 0.2, "delay_seconds": 0.05})
    Console().print(result_table(reports))


def result_table(reports: Sequence[Report]) -> Table:
    """Return one row for each task, its repetitions in order, and the overall rate at the foot."""
    overall = [_is_pass(report) for report in reports]
    table = Table(title="Booking meeting rooms", show_footer=True)
    table.add_column("task", footer="all")
    table.add_column("request")
    table.add_column("repeats")
    table.add_column("passed", f"{sum(overall)}/{len(overall)}", justify="right")
    table.add_column("rate", f"{sum(overall) / len(overall):.0%}", justify="right")
    for task in load_tasks():
        own = [report for report in reports if report["task_id"] == task.id]
        marks = [_is_pass(report) for report in sorted(own, key=lambda one: one["repeat_idx"])]
        shown = "".join("+" if passed else "-" for passed in marks)
        rate = f"{sum(marks) / len(marks):.0%}"
        table.add_row(task.id, task.query, shown, f"{sum(marks)}/{len(marks)}", rate)
    return table


def _is_pass(report: Report) -> bool:
    return RecordedReport(report).kind == "pass"


if __name__ == "__main__":
    main()
