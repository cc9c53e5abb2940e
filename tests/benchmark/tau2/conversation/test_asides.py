"""Questions in the midst of an agent's turn: recorded in order, counted, scored."""

import asyncio
import json

import pytest

from maseval import AgentAdapter, LLMUser, ScriptedModelAdapter, tool_call
from maseval.benchmark.tau2.environment import ENDED, OVER
from tests.benchmark.tau2.rooms import Live, action, room_domain, room_task, said, simulation

PRESS = tool_call("press_switch", {})
RED = action("paint", colour="red")
LIGHT = action("press_switch", "user")


@pytest.fixture
def room(tmp_path):
    return room_domain(tmp_path)


class Asking(AgentAdapter):
    """In each turn, runs the given function with the tools and the user."""

    def __init__(self, work, environment, user):
        super().__init__(work, "asking")
        self.environment, self.user = environment, user
        self.heard = []

    def _run_agent(self, query):
        return self.agent(self, query)

    def ask(self, question):
        self.heard.append(self.user.respond(question))


class WithQuestions(Live):
    def __init__(self, work, user=(), **settings):
        super().__init__((), user, **settings)
        self.work = work

    def setup_agents(self, agent_data, environment, task, user):
        self.agent = Asking(self.work, environment, user)
        return [self.agent], {"asking": self.agent}


def paints_after_asking(agent, query):
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

    def get_tool(self):
        return lambda question: self.respond(question)


def test_any_users_tool_is_recorded_and_left_as_it_was(room):
    def asks_by_tool(agent, query):
        if "Thanks" in query:
            return "Bye."
        agent.heard.append(agent.user.get_tool()("Which colour?"))
        return "Fine."

    model = ScriptedModelAdapter([json.dumps({"text": text}) for text in ("Red.", "Thanks")])
    user = ToolUser("Ann", model, {}, "a room", initial_query="Paint it", max_turns=3)

    class Mixed(WithQuestions):
        def setup_user(self, agent_data, environment, task):
            return user

    (report,) = Mixed(asks_by_tool).run([room_task(room)])

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

    class Brief(WithQuestions):
        def setup_user(self, agent_data, environment, task):
            return user

    (report,) = Brief(lambda agent, query: "Done.").run([room_task(room)])

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
