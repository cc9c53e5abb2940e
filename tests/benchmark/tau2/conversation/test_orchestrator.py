"""Who speaks next. The recorded orchestrations are replayed in tests/contract; this is the rest."""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from maseval import AgentAdapter, LLMUser, ScriptedModelAdapter, tool_call
from maseval.benchmark.tau2 import Tau2Environment
from maseval.benchmark.tau2.agent import NobodyListensError
from maseval.benchmark.tau2.conversation.orchestrator import Orchestrator, check_history
from maseval.benchmark.tau2.conversation.participants import TextAgent
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.environment import ENDED, OVER
from maseval.benchmark.tau2.formats.message import assistant_message, is_user_stop, user_message
from maseval.benchmark.tau2.world.trajectory import Trajectory
from maseval.core.exceptions import ConfigurationError
from maseval.core.task import Task
from maseval.core.user import User
from tests.benchmark.tau2.rooms import Live, action, room_task, said, simulation


@pytest.fixture
def new_environment(tmp_path: Path, room: Domain) -> Callable[..., Any]:
    def make(history=(), **data):
        state = {"message_history": list(history)}
        return Tau2Environment(
            {"domain": room, "db_path": tmp_path / "db.json", "initial_state": state, **data}
        )

    return make


class Side:
    """Says its lines: a text, or the name of a tool to call."""

    def __init__(self, requestor: str, *lines: str | None) -> None:
        self.requestor = requestor
        self.lines = list(lines)
        self.heard = []

    def begin(self, history: list[dict[str, Any]]) -> None:
        self.history = [message["content"] for message in history]

    def reply(self, incoming: list[dict[str, Any]]) -> dict[str, Any]:
        self.heard.append([message["content"] for message in incoming])
        line = self.lines.pop(0)
        make = assistant_message if self.requestor == "assistant" else user_message
        if line is None or not line.startswith("!"):
            return make(line, cost=0.0)
        calls = [
            {"id": str(number), "name": name, "arguments": {}, "requestor": self.requestor}
            for number, name in enumerate(line[1:].split())
        ]
        return make(None, tool_calls=calls, cost=0.0)

    def is_stop(self, message: dict[str, Any]) -> bool:
        return message["content"] == "END" or is_user_stop(message)


def run(
    environment: Tau2Environment, agent_lines: list[str], user_lines: list[str], **limits: int
) -> tuple[Side, Side, Trajectory]:
    agent, user = Side("assistant", *agent_lines), Side("user", *user_lines)
    orchestrator = Orchestrator(environment, agent, user, **limits)
    orchestrator.run()
    return agent, user, environment.trajectory


def test_the_agent_never_sees_the_users_calls_nor_the_greeting(new_environment):
    agent, user, trajectory = run(
        new_environment(), ["Press it", "Bye"], ["Dark", "!press_switch", "It is on", "###STOP###"]
    )

    assert agent.heard == [["Dark"], ["It is on"]]
    assert user.heard[0] == ["Hi! How can I help you today?"]
    assert user.heard[2] == ["The light is on."]
    assert trajectory.termination_reason == "user_stop"
    assert trajectory.steps == 7


def test_answers_to_several_calls_come_together_in_one_step(new_environment):
    agent, _, trajectory = run(new_environment(), ["!look look nothing", "END"], ["Dark"])

    assert len(agent.heard[1]) == 3
    assert agent.heard[1][2] == "Error: Tool 'nothing' not found."
    assert (trajectory.steps, len(trajectory.messages)) == (4, 7)
    assert trajectory.termination_reason == "agent_stop"


@pytest.mark.parametrize(
    ("limit", "reason"), [(2, "max_steps"), (3, "max_steps"), (4, "user_stop")]
)
def test_reaching_the_limit_overrides_a_stop(new_environment, limit, reason):
    _, _, trajectory = run(new_environment(), ["And?"], ["Dark", "###STOP###"], max_steps=limit)

    assert trajectory.termination_reason == reason


def test_whoever_holds_the_orchestrator_may_answer_for_each_side(new_environment):
    environment = new_environment()
    agent, user = Side("assistant"), Side("user")
    orchestrator = Orchestrator(environment, agent, user)
    words = {"user": iter(["Dark", "Bye ###STOP###"]), "agent": iter(["I see."])}

    while (turn := orchestrator.next_turn()) is not None:
        assert orchestrator.next_turn() == turn  # until it is answered
        make, role = (user_message, "user") if turn.side is user else (assistant_message, "agent")
        orchestrator.take(make(next(words[role])))

    texts = [message["content"] for message in environment.trajectory.messages]
    assert texts[1:] == ["Dark", "I see.", "Bye ###STOP###"]
    assert environment.trajectory.termination_reason == "user_stop"


def test_a_simulation_that_is_over_takes_no_more_steps(new_environment):
    environment = new_environment()
    orchestrator = Orchestrator(environment, Side("assistant"), Side("user", "###STOP###"))
    orchestrator.run()

    assert orchestrator.next_turn() is None
    with pytest.raises(ValueError, match="Simulation is done"):
        orchestrator.take(assistant_message("Hello?"))


@pytest.mark.parametrize("lines", [["Hello?"], ["!look", "Hello?"]])
def test_alone_the_agent_has_nobody_to_talk_to(new_environment, lines):
    agent = Side("assistant", *lines)

    with pytest.raises(NobodyListensError, match=r"wrote 'Hello\?' instead of calling a tool"):
        Orchestrator(new_environment(solo=True), agent, None).run()


@pytest.mark.parametrize("nothing", [None, "", " \n"])
def test_alone_an_agent_that_begins_with_nothing_ends_by_its_own_error(new_environment, nothing):
    environment = new_environment(solo=True, version="verified")

    Orchestrator(environment, Side("assistant", nothing), None).run()

    assert environment.trajectory.termination_reason == "agent_error"
    assert [each["content"] for each in environment.trajectory.messages] == [nothing]
    assert environment.trajectory.steps == 0


HISTORY = [
    assistant_message("Hi"),
    user_message("Dark"),
    assistant_message(
        None,
        tool_calls=[{"id": "1", "name": "look", "arguments": {}, "requestor": "assistant"}],
    ),
    {
        "role": "tool",
        "id": "1",
        "content": '{"wall": "white", "coats": 1}',
        "requestor": "assistant",
        "error": False,
    },
]


def test_a_tasks_own_history_is_taken_up_where_it_ends(new_environment):
    agent, user, trajectory = run(new_environment(HISTORY), ["White"], ["###STOP###"])

    assert agent.history == ["Hi", "Dark", None]
    assert agent.heard == [['{"wall": "white", "coats": 1}']]
    assert user.history == ["Hi", "Dark"]
    assert trajectory.steps == 2
    assert len(trajectory.messages) == 6


def test_a_history_that_has_already_ended_takes_no_step(new_environment):
    _, _, trajectory = run(new_environment([*HISTORY[:1], user_message("###STOP###")]), [], [])

    assert (trajectory.steps, trajectory.termination_reason) == (0, "user_stop")


@pytest.mark.parametrize(
    ("history", "problem"),
    [
        ([user_message(" ")], "must have either content or tool calls"),
        (HISTORY[2:3] * 2, "1 tool messages are missing. Got assistant message."),
        (HISTORY[3:], "No tool messages expected."),
        ([HISTORY[2], {**HISTORY[3], "requestor": "user"}], "from user, expected assistant"),
        ([{"role": "system", "content": "x"}], "Invalid message type"),
    ],
)
def test_a_history_that_cannot_have_happened_is_refused(history, problem):
    with pytest.raises(ConfigurationError, match=problem):
        check_history(history)


# Sides that only exchange texts.


def test_a_text_agent_is_told_the_past_once():
    queries = []
    agent = TextAgent(lambda query: queries.append(query) or "ok")

    agent.begin([assistant_message("Hi"), user_message("Dark")])
    agent.reply([user_message("Well?")])
    agent.reply([user_message("And?")])

    assert queries[0].endswith("assistant: Hi\nuser: Dark\n\nWell?")
    assert queries[1] == "And?"


def test_a_text_agent_that_takes_over_is_given_the_past_as_messages():
    queries, loaded = [], []
    agent = TextAgent(lambda query: queries.append(query) or "ok", loaded.extend)

    agent.begin([assistant_message("Hi")])
    agent.recall([user_message("Dark")], assistant_message("Where?"))
    agent.reply([user_message("Here")])
    agent.reply([user_message("And?")])

    assert [message["content"] for message in loaded] == ["Hi", "Dark", "Where?"]
    assert queries == ["Here", "And?"]


PRESS = tool_call("press_switch", {})
RED = action("paint", colour="red")
LIGHT = action("press_switch", "user")


class Asking(AgentAdapter):
    """In each turn, runs the given function with the tools and the user."""

    def __init__(self, work: Callable[..., Any], environment: Tau2Environment, user: User) -> None:
        super().__init__(work, "asking")
        self.environment, self.user = environment, user
        self.heard = []

    def _run_agent(self, query: str) -> Any:
        return self.agent(self, query)

    def ask(self, question: str) -> None:
        self.heard.append(self.user.respond(question))


class WithQuestions(Live):
    def __init__(
        self,
        work: Callable[..., Any],
        user: list[dict[str, Any] | str] | tuple[Any, ...] = (),
        **settings: int,
    ) -> None:
        super().__init__((), user, **settings)
        self.work = work

    def setup_agents(
        self,
        agent_data: dict[str, Any],
        environment: Tau2Environment,
        task: Task,
        user: User | None,
    ) -> tuple[Sequence[AgentAdapter], dict[str, AgentAdapter]]:
        self.agent = Asking(self.work, environment, user)
        return [self.agent], {"asking": self.agent}


def paints_after_asking(agent: Asking, query: str) -> str:
    if "Thanks" in query:
        return "You are welcome."
    agent.ask("Which colour?")
    agent.environment.tools["paint"](colour="red")
    agent.ask("Is the light on?")
    return "It is red."


def test_a_question_enters_the_trajectory_in_order_and_is_scored(room):
    task = room_task(room, RED, LIGHT, communicate_info=["which colour"])
    script = ["Paint it", "Red.", PRESS, "Now it is.", "Thanks ###STOP###"]
    benchmark = WithQuestions(paints_after_asking, script)

    (report,) = benchmark.run([task])

    assert said(report) == [
        ("assistant", "Hi! How can I help you today?"),
        ("user", "Paint it"),
        ("assistant", "Which colour?"),
        ("user", "Red."),
        ("assistant", None),
        ("tool", "The wall is red."),
        ("assistant", "Is the light on?"),
        ("user", None),
        ("tool", "The light is on."),
        ("user", "Now it is."),
        ("assistant", "It is red."),
        ("user", "Thanks ###STOP###"),
    ]
    assert benchmark.agent.heard == ["Red.", "Now it is."]
    assert report["eval"][0]["reward"] == 1.0
    assert report["eval"][0]["communicate_check"]["all_found"], "a question counts as said"
    assert report["traces"]["user"]["turns_used"] == 4
    assert report["traces"]["tools"]["press_switch"]["invocations"][0]["requestor"] == "user"


def test_questions_count_as_steps_and_end_at_the_limit(room):
    def asks_on(agent, query):
        for number in range(9):
            agent.ask(f"{number}?")
        return "Enough."

    benchmark = WithQuestions(asks_on, ["Hello", *"abcdefghi"], max_invocations=6)
    (report,) = benchmark.run([room_task(room)])

    assert benchmark.agent.heard == ["a", "b", "c", *[OVER.format(6)] * 6]
    assert simulation(report)["termination_reason"] == "max_steps"


def test_a_user_that_stops_when_asked_ends_the_simulation_there(room):
    def goes_on(agent, query):
        agent.ask("Which colour?")
        agent.heard.append(agent.environment.tools["paint"](colour="red"))
        return "Painted it red anyway."

    benchmark = WithQuestions(goes_on, ["Paint it", "Never mind ###STOP###"])
    (report,) = benchmark.run([room_task(room)])

    assert said(report)[-1] == ("user", "Never mind ###STOP###")
    assert benchmark.agent.heard == ["Never mind ###STOP###", ENDED]
    assert simulation(report)["termination_reason"] == "user_stop"
    assert report["eval"][0]["reward"] == 1.0, "nothing was to be done, and nothing was"


class ToolUser(LLMUser):
    """A user that gives its agent a tool to ask with."""

    def get_tool(self) -> Any | None:
        return lambda question: self.respond(question)


def test_any_users_tool_is_recorded_and_left_as_it_was(room):
    def asks_by_tool(agent, query):
        if "Thanks" in query:
            return "Bye."
        agent.heard.append(agent.user.get_tool()("Which colour?"))
        return "Fine."

    model = ScriptedModelAdapter([json.dumps({"text": text}) for text in ("Red.", "Thanks")])
    user = ToolUser("Ann", model, {}, "a room", initial_query="Paint it", max_turns=3)

    benchmark = WithQuestions(asks_by_tool)
    benchmark.setup_user = lambda *args, **more: user
    (report,) = benchmark.run([room_task(room)])

    assert said(report)[1:] == [
        ("user", "Paint it"),
        ("assistant", "Which colour?"),
        ("user", "Red."),
        ("assistant", "Fine."),
        ("user", "Thanks ###STOP###"),
    ]
    assert report["traces"]["user"]["turns_used"] == 3
    assert "respond" not in vars(user)


def test_a_user_with_one_turn_is_answered_before_it_leaves(room):
    user = LLMUser("Ann", ScriptedModelAdapter([]), {}, "a room", initial_query="Paint it")

    benchmark = WithQuestions(lambda agent, query: "Done.")
    benchmark.setup_user = lambda *args, **more: user
    (report,) = benchmark.run([room_task(room)])

    assert said(report)[1:] == [
        *(("user", "Paint it"), ("assistant", "Done."), ("user", "###STOP###"))
    ]


def test_an_async_agent_is_waited_for(room):
    async def work(agent, query):
        return "Done."

    class Slow(Asking):
        async def _run_agent(self, query):
            return await self.agent(self, query)

    class Benchmark(Live):
        def setup_agents(self, agent_data, environment, task, user):
            agent = Slow(work, environment, user)
            return [agent], {"slow": agent}

        async def run_agents(self, agents, task, environment, query=""):
            return await asyncio.to_thread(agents[0].run, query)

    (report,) = Benchmark((), ["Hello", "###STOP###"]).run([room_task(room)])

    assert said(report)[2] == ("assistant", "Done.")


class ThinkingSide(Side):
    """Thinks before each message, and keeps whole what it hears."""

    def begin(self, history: list[dict[str, Any]]) -> None:
        self.whole = list(history)

    def reply(self, incoming: list[dict[str, Any]]) -> dict[str, Any]:
        self.whole += incoming
        said = super().reply(incoming)
        return {**said, "raw_data": {"reasoning": {"text": f"{self.requestor} thinks"}}}


@pytest.mark.parametrize("resumed", [False, True])
def test_what_a_side_thinks_is_recorded_and_never_heard_by_the_other(new_environment, resumed):
    thought = {"raw_data": {"reasoning": {"text": "assistant thinks"}, "id": 1}}
    past = [{**assistant_message("Hi!"), **thought}, {**user_message("Hm."), **thought}]
    environment = new_environment(past if resumed else ())
    agent = ThinkingSide("assistant", "!look", "It is dark", "END")
    user = ThinkingSide("user", "Dark?", "!press_switch", "Thanks")

    Orchestrator(environment, agent, user).run()

    recorded = [m["raw_data"] for m in environment.trajectory.messages if m.get("raw_data")]
    assert len(recorded) >= 4
    for side in (agent, user):
        others = [m for m in side.whole if m["role"] not in ("tool", side.requestor)]
        assert others and "thinks" not in str(others)
    if resumed:  # what else the record has of a message is no secret
        assert agent.whole[-1] is not None and user.whole[0]["raw_data"] == {"id": 1}
