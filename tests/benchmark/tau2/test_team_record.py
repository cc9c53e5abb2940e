"""The record of a team: who said, called and asked what, in order of time."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from maseval import AgentAdapter, ScriptedModelAdapter, TaskContext
from maseval.benchmark.tau2.benchmark import Tau2Benchmark
from maseval.core.engine.participants import Agents
from maseval.core.messages import MessageHistory
from maseval.core.model import ModelAdapter
from maseval.core.outcome import RecordedReport
from maseval.core.recorded import LoggedCall
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.tracing import JsonObject
from maseval.core.user import User
from tests.benchmark.tau2.rooms import Live, conversation, room_domain, room_task


class Painter(AgentAdapter):
    """Asks its model for a colour and paints; ``mine`` and ``after`` make two of them alternate."""

    def __init__(
        self,
        name: str,
        model: ScriptedModelAdapter,
        tools: dict[str, Any],
        mine: threading.Event,
        after: threading.Event,
    ) -> None:
        super().__init__(None, name)
        self.model, self.tools, self.mine, self.after = model, tools, mine, after
        self.messages = MessageHistory()

    def _run_agent(self, query: str) -> Any:
        self.messages.add_message("user", query)
        for step in (self._think, self._paint):
            assert self.mine.wait(60)
            self.mine.clear()
            step()
            self.after.set()
        return f"{self.name} is done."

    def _think(self) -> None:
        self.colour = self.model.chat([{"role": "user", "content": "Which?"}]).content
        self.messages.add_message("assistant", self.colour)

    def _paint(self) -> None:
        self.tools["paint"](self.colour)


class Chief(AgentAdapter):
    """Lets both painters work at once, and then speaks."""

    def _run_agent(self, query: str) -> Any:
        with ThreadPoolExecutor(2) as pool:
            runs = [pool.submit(TaskContext.bind(one.run), query) for one in self.agent]
            return " ".join(run.result() for run in runs)


class Crew(Tau2Benchmark):
    def setup_agents(
        self,
        agent_data: JsonObject,
        environment: Any,
        task: Task,
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> Agents:
        model = ScriptedModelAdapter(["red", "blue"])
        self.register("models", "agent_model", model)
        first, second = threading.Event(), threading.Event()
        ann = Painter("ann", model, environment.tools, first, second)
        bob = Painter("bob", model, environment.tools, second, first)
        first.set()
        chief = Chief([ann, bob], "chief")
        return [chief], {"chief": chief, "ann": ann, "bob": bob}

    def get_model_adapter(self, model_id: str, **kwargs: Any) -> ModelAdapter:
        made = Live([], ["Paint it.", "###STOP###"]).get_model_adapter(model_id, **kwargs)
        return self.register("models", kwargs["register_name"], made)


def test_agents_that_work_at_once_are_named_in_order_of_time(tmp_path):
    (report,) = Crew(progress_bar=False).run([room_task(room_domain(tmp_path))])
    assert report["status"] == "success", report["error"]

    calls = [
        (message["agent"], message["tool_calls"][0]["arguments"]["colour"])
        for message in conversation(report)
        if message["role"] == "assistant" and message["tool_calls"]
    ]
    assert calls == [("ann", "red"), ("bob", "blue")]
    spoken = [m for m in conversation(report) if m["role"] == "assistant" and m["content"]]
    assert [message.get("agent") for message in spoken] == [None, "chief"], "a greeting is nobody's"
    logs = report["traces"]["models"]["agent_model"]["logs"]
    assert [entry["agent"] for entry in logs] == ["ann", "bob"]
    assert {e["agent"] for e in report["traces"]["models"]["user_simulator"]["logs"]} == {"user"}

    events = RecordedReport(report).events()
    assert [event.time for event in events] == sorted(event.time for event in events)
    acts = [
        (event.agent, "asks" if isinstance(event.entry, LoggedCall) else "calls")
        for event in events
        if event.agent in ("ann", "bob")
        and (isinstance(event.entry, LoggedCall) or event.entry.raw.get("tool_calls"))
    ]
    assert acts == [("ann", "asks"), ("bob", "asks"), ("ann", "calls"), ("bob", "calls")]


def test_an_agent_that_asks_the_user_in_its_turn_is_not_taken_for_the_user(tmp_path):
    class Asking(AgentAdapter):
        def _run_agent(self, query):
            return self.agent.respond("Which colour?")

    class Curious(Crew):
        def setup_agents(self, agent_data, environment, task, user, seed_generator):
            agent = Asking(user, "clerk")
            return [agent], {"clerk": agent}

    (report,) = Curious(progress_bar=False).run([room_task(room_domain(tmp_path))])

    asked = [m for m in conversation(report) if m["content"] == "Which colour?"]
    assert [message["agent"] for message in asked] == ["clerk"]
    assert {e["agent"] for e in report["traces"]["models"]["user_simulator"]["logs"]} == {"user"}
