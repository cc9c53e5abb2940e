"""What traces contain in addition to the trajectory: views, with every text stored once."""

import pytest

from maseval import AgentAdapter, tool_call
from tests.benchmark.tau2.rooms import Live, action, conversation, room_domain, room_task

PAINT = [tool_call("paint", {"colour": "red"}), tool_call("paint", {"colour": "black"})]
PRESS = tool_call("press_switch", {})


@pytest.fixture
def report(tmp_path):
    task = room_task(room_domain(tmp_path), action("paint", colour="red"))
    user = ["Red, and nothing else but red, please", PRESS, "Thanks ###STOP###"]
    (report,) = Live([PAINT, "Now press the switch at the door, please"], user).run([task])
    return report


def test_each_side_has_what_it_saw(report):
    agent = report["traces"]["agents"]["default_agent"]["messages"]
    user = report["traces"]["user"]["messages"]

    assert [message["role"] for message in agent] == [
        *("user", "assistant", "tool", "tool", "assistant")
    ]
    assert [call["function"]["name"] for call in agent[1]["tool_calls"]] == ["paint", "paint"]
    assert [message["role"] for message in user] == [
        *("assistant", "user", "assistant", "user", "tool", "user")
    ]
    assert report["traces"]["user"]["turns_used"] == 2


def test_a_tool_has_all_its_calls_with_what_they_returned(report):
    tools = report["traces"]["tools"]

    assert {name: tools[name]["total_invocations"] for name in tools} == {
        **{"paint": 2, "press_switch": 1}
    }
    first, second = tools["paint"]["invocations"]
    assert (first["inputs"], first["outputs"]) == ({"colour": "red"}, "The wall is red.")
    assert (first["status"], second["status"]) == ("success", "error")
    assert "No black walls" in second["outputs"]
    assert tools["press_switch"]["invocations"][0]["requestor"] == "user"


def test_no_text_is_stored_twice(report):
    known = {id(message["content"]) for message in conversation(report)}
    calls = [c for m in conversation(report) for c in m.get("tool_calls") or ()]
    traces = report["traces"]
    views = [*traces["agents"]["default_agent"]["messages"], *traces["user"]["messages"]]
    used = [one for tool in traces["tools"].values() for one in tool["invocations"]]

    assert all(id(message["content"]) in known for message in views)
    assert all(id(one["outputs"]) in known for one in used)
    assert {id(one["inputs"]) for one in used} == {id(call["arguments"]) for call in calls}


def test_an_agent_that_keeps_no_messages_is_shown_with_those_of_the_trajectory(tmp_path):
    class Painter(AgentAdapter):
        def _run_agent(self, query):
            return self.agent(colour="red")

    class Painting(Live):
        def setup_agents(self, agent_data, environment, task, user):
            painter = Painter(environment.tools["paint"], "painter")
            return [painter], {"painter": painter}

    (report,) = Painting((), ["Red", "###STOP###"]).run([room_task(room_domain(tmp_path))])

    messages = report["traces"]["agents"]["painter"]["messages"]
    assert [message["content"] for message in messages] == [
        *("Red", None, "The wall is red.", "The wall is red.")
    ]


def test_a_limit_of_tool_calls_given_with_the_agents_data_holds_in_a_run(tmp_path):
    benchmark = Live([PAINT, PAINT], ["Red"])
    agent_data = {"model_id": "caretaker", "max_tool_calls": 3}

    (report,) = benchmark.run([room_task(room_domain(tmp_path))], agent_data)

    assert (report["status"], report["error"]["error_type"]) == (
        *("agent_error", "TooManyToolCallsError"),
    )
    assert report["traces"]["tools"]["paint"]["total_invocations"] == 2


@pytest.mark.parametrize(("verbose", "lines"), [(0, 0), (1, 3), (2, 6)])
def test_a_verbose_agent_prints_in_a_run(tmp_path, capsys, verbose, lines):
    benchmark = Live([PAINT, "Red."], ["Red", "###STOP###"])
    agent_data = {"model_id": "caretaker", "verbose": verbose}

    benchmark.run([room_task(room_domain(tmp_path))], agent_data)

    assert len(capsys.readouterr().out.splitlines()) == lines
