from typing import Any

import pytest

from maseval.core.environment import Environment
from maseval.core.exceptions import ConfigurationError
from maseval.core.messages import ToolInvocationHistory
from maseval.core.scripted import ScriptedModelAdapter
from maseval.core.simulator import ToolLLMSimulator


class Room(Environment):
    def setup_state(self, anything_it_likes: dict[str, Any]) -> object:
        return {"door": "closed", **anything_it_likes}

    def create_tools(self) -> dict[str, Any]:
        return {"look": lambda: self.state["door"]}


@pytest.mark.parametrize(
    "room",
    [
        lambda: Room({"door": "open"}),
        lambda: Room(task_data={"door": "open"}),
        lambda: Room(environment_data={"door": "open"}),
    ],
)
def test_the_data_may_come_under_either_name(room):
    assert room().state == {"door": "open"}


def test_both_names_at_once_are_refused():
    with pytest.raises(ConfigurationError, match="give only one"):
        Room({"door": "open"}, environment_data={})


class Tracing:
    def gather_traces(self) -> dict[str, str]:
        return {"type": "mine"}


class Remembering:
    def __init__(self) -> None:
        self.history = ToolInvocationHistory()
        self.history.add_invocation({"x": 1}, "y", "success")


class Simulated:
    def __init__(self) -> None:
        self.simulator = ToolLLMSimulator(ScriptedModelAdapter([]), "t", "does t", {})


class Silent:
    history = "no history of calls"


class Workshop(Room):
    def create_tools(self) -> dict[str, Any]:
        return {"a": Tracing(), "b": Remembering(), "c": Simulated(), "d": Silent()}


def test_each_tool_tells_what_it_can():
    traces = Workshop({}).gather_traces()

    assert traces["type"] == "Workshop" and traces["tool_count"] == 4
    assert traces["tools"]["a"] == {"type": "mine"}
    assert traces["tools"]["b"]["type"] == "Remembering"
    assert traces["tools"]["b"]["total_invocations"] == 1
    assert traces["tools"]["b"]["invocations"][0]["outputs"] == "y"
    assert traces["tools"]["c"]["simulator_traces"]["simulator_type"] == "ToolLLMSimulator"
    assert traces["tools"]["d"] == {"type": "Silent", "has_tracing": False}
