"""The reference agent: what it sends to its model, and how it works without the run loop."""

from typing import Any

import pytest

from maseval import ChatResponse, MessageTracingAgentCallback, ScriptedModelAdapter, tool_call
from maseval.benchmark.tau2 import DefaultTau2Agent, DefaultTau2AgentAdapter
from maseval.benchmark.tau2.agent import DONE, SORRY, NobodyListensError, SoloAgent
from maseval.benchmark.tau2.formats.message import user_message


def paint(colour: str) -> str:
    """Paint the wall.

    Args:
        colour: Which colour.
    """
    return f"painted {colour}"


def agent(
    replies: list[Any], cls: type[Any] = DefaultTau2Agent, **settings: Any
) -> DefaultTau2Agent:
    model = ScriptedModelAdapter(replies)
    return cls({"paint": paint}, "Be kind.", model, **settings)


PAINT = tool_call("paint", {"colour": "red"}, id="c1")


def test_a_turn_goes_on_until_the_model_speaks():
    one = agent([PAINT, "It is red."])

    assert one.run("Red, please") == "It is red."
    assert [message["role"] for message in one.get_messages()] == [
        *("user", "assistant", "tool", "assistant")
    ]
    sent = one.model.requests[1]["messages"]
    assert sent[0]["content"].endswith("<policy>\nBe kind.\n</policy>")
    assert sent[2]["tool_calls"] == [PAINT]
    assert sent[3] == {"role": "tool", "content": "painted red", "tool_call_id": "c1"}


def test_the_model_is_offered_the_tools_and_the_parameters():
    one = agent(["Hello"], llm_args={"temperature": 0.0})
    one.run("Hi")

    (request,) = one.model.requests
    assert [tool["function"]["name"] for tool in request["tools"]] == ["paint"]
    assert request["tool_choice"] == "auto"
    assert request["generation_params"] == {"temperature": 0.0}


def test_a_tool_that_does_not_exist_is_an_answer():
    one = agent([{"name": "burn", "arguments": {}}, "Sorry."])

    assert one.run("Burn it") == "Sorry."
    assert one.get_messages()[2]["content"] == "Error: Tool 'burn' not found."


def test_what_a_function_returns_or_raises_reaches_the_model_as_text():
    def measure(wall: str) -> dict[str, float]:
        """Measure a wall."""
        return {"width": 3.5, "height": {"left": 2.0}[wall]}

    calls = [tool_call("measure", {"wall": "left"}), tool_call("measure", {"wall": "right"})]
    one = DefaultTau2Agent({"measure": measure}, "", ScriptedModelAdapter([calls, "Done"]))

    assert one.run("How large?") == "Done"
    assert [message["content"] for message in one.get_messages()[2:4]] == [
        '{"width": "3.5", "height": "2.0"}',
        "Error: 'right'",
    ]


def test_an_agent_that_only_calls_tools_is_stopped():
    one = agent([[PAINT, PAINT]] * 9, max_tool_calls=5)

    assert one.run("Red, please") == SORRY
    assert len(one.model.requests) == 3, "6 calls"
    assert one.get_messages()[-1]["role"] == "tool"


def test_reset_forgets_the_conversation():
    one = agent(["a", "b"])
    one.run("1")
    one.reset()
    one.run("2")

    assert [message["content"] for message in one.get_messages()] == ["2", "b"]


def test_alone_a_call_of_done_ends_it_whatever_else_is_called():
    one = agent([[PAINT, tool_call("done", {})]], SoloAgent, tool_definitions=[DONE])

    message = one.reply([])

    assert (message["content"], message["tool_calls"]) == ("###STOP###", None)
    assert one.is_stop(message)
    assert one.model.requests[0]["tool_choice"] == "required"


@pytest.mark.parametrize("words", ["I give up", "###STOP###", "", None])
def test_alone_words_instead_of_a_call_are_an_error(words):
    one = agent([ChatResponse(words)], SoloAgent, tool_definitions=[DONE])

    with pytest.raises(NobodyListensError, match=r"^LLMSoloAgent only supports tool calls\.$"):
        one.reply([])


def test_alone_the_word_for_the_end_ends_it_beside_a_call_too():
    one = agent([ChatResponse("###STOP###", [PAINT])], SoloAgent, tool_definitions=[DONE])

    message = one.reply([])

    assert one.is_stop(message) and message["tool_calls"]


LONG = "Once upon a time " * 20


@pytest.mark.parametrize(
    ("verbose", "shown"),
    [
        (0, []),
        (1, ['[agent] calls paint({"colour": "red"})', f"[agent] {LONG[:99]}…"]),
        (
            2,
            [
                "[user] Hi",
                '[agent] calls paint({"colour": "red"})',
                "[tool] painted red",
                f"[agent] {LONG}",
            ],
        ),
    ],
)
def test_verbose_prints_what_is_done_and_said(capsys, verbose, shown):
    agent([PAINT, LONG], verbose=verbose).run("Hi")

    assert capsys.readouterr().out.splitlines() == shown


def test_the_limit_of_calls_holds_where_messages_come_one_at_a_time():
    one = agent([PAINT, "Done.", PAINT, PAINT], max_tool_calls=2)
    red = {"role": "tool", "id": "c1", "content": "red", "requestor": "assistant"}
    one.begin([])

    said = [one.reply([user_message("go")]), one.reply([red])]
    assert said[-1]["content"] == "Done."
    one.reply([user_message("again")])
    one.reply([red])
    assert one.reply([red])["content"] == SORRY


def test_callbacks_hear_of_whole_turns():
    tracing = MessageTracingAgentCallback()
    adapter = DefaultTau2AgentAdapter(agent([PAINT, "Red.", "Bye."]), callbacks=[tracing])
    adapter.begin([])

    adapter.reply([user_message("1")])
    adapter.reply([{"role": "tool", "id": "c1", "content": "painted", "requestor": "assistant"}])
    adapter.reply([user_message("2")])

    counts = [talk["message_count"] for talk in tracing.get_all_conversations()]
    assert counts == [4, 6]
