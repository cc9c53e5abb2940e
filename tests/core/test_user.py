import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.core.exceptions import ConfigurationError, TaskTimeoutError, UserExhaustedError
from maseval.core.scripted import ScriptedModelAdapter
from maseval.core.simulator import UserSimulatorError
from maseval.core.user import (
    FAREWELL,
    OUT_OF_STEPS,
    AgenticLLMUser,
    ConversationStartError,
    LLMUser,
    TerminationReason,
)

STOPPING = {"stop_tokens": ["###STOP###", "</done>"], "early_stopping_condition": "you are served"}


def says(text: str, *calls: dict[str, Any]) -> str:
    return json.dumps({"text": text, "tool_calls": list(calls)})


def calling(name: str, **arguments: str) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def ann(*replies: str, kind: type[Any] = LLMUser, max_turns: int = 10, **options: Any) -> LLMUser:
    model = ScriptedModelAdapter(replies)
    return kind("Ann", model, {"age": 30}, "buy a hat", max_turns=max_turns, **options)


def test_a_given_first_message_is_the_first_turn():
    user = ann(initial_query="A hat?")

    assert user.get_initial_query() == "A hat?"
    assert user.messages[0]["content"] == "A hat?" and user.messages[0]["role"] == "user"
    assert user.gather_traces()["turns_used"] == 1
    assert user.model.requests == []


@pytest.mark.parametrize("kind", [LLMUser, AgenticLLMUser])
def test_without_one_the_model_speaks_first_and_then_knows_the_whole_conversation(kind):
    user = ann(says("A hat?"), says("Red."), kind=kind)

    assert [user.get_initial_query(), user.get_initial_query()] == ["A hat?", "A hat?"]
    assert user.respond("Which colour?") == "Red."
    prompt = user.model.requests[1]["messages"][0]["content"]
    assert "user: A hat?\nassistant: Which colour?\n" in prompt
    assert [message["role"] for message in user.messages] == ["user", "assistant", "user"]
    assert user.gather_traces()["turns_used"] == 2


def test_a_first_message_may_already_be_the_last():
    user = ann(says("Never mind ###STOP###"), **STOPPING)

    assert user.get_initial_query() == "Never mind"
    assert user.is_done()


def test_a_conversation_that_the_agent_began_has_no_initial_query():
    user = ann(says("A hat."))
    user.respond("What do you want?")

    with pytest.raises(
        ConversationStartError, match="began with a message of 'assistant'"
    ) as caught:
        user.get_initial_query()

    assert isinstance(caught.value, RuntimeError)


def test_a_failure_is_logged_and_passed_on():
    user = ann("no json", max_try=1)

    with pytest.raises(UserSimulatorError):
        user.respond("Which colour?")

    (entry,) = user.logs
    assert (entry["status"], entry["error_type"]) == ("error", "UserSimulatorError")
    assert "Last error" in entry["error"] and entry["duration_seconds"] >= 0


def test_a_user_out_of_turns_refuses_without_asking_the_model():
    user = ann(initial_query="A hat?", max_turns=1)

    with pytest.raises(
        UserExhaustedError, match=r"'Ann' is done \(max_turns\).*exhausted_response"
    ):
        user.respond("Which colour?")

    assert user.model.requests == [] and len(user.messages) == 1


@pytest.mark.parametrize("response", ["Goodbye.", ""])
def test_a_user_may_have_a_last_word_for_ever(response):
    user = ann(initial_query="A hat?", max_turns=1, exhausted_response=response)

    assert [user.respond("Which?"), user.respond("Hello?")] == [response, response]


@pytest.mark.parametrize(
    ("said", "heard", "token"),
    [
        ("Bye ###STOP###", "Bye", "###STOP###"),
        ("Bye ###Stop###", "Bye", "###STOP###"),
        ("###STOP###", FAREWELL, "###STOP###"),
        ("a</DONE>b", "ab", "</done>"),
        ("</done> ###stop###", "</done>", "###STOP###"),
    ],
)
def test_a_stop_token_ends_the_conversation_and_is_not_heard(said, heard, token):
    user = ann(says(said), **STOPPING)

    assert user.respond("Here you are.") == heard
    assert user.termination_reason is TerminationReason.USER_TERMINATED
    traces = user.gather_traces()
    assert (traces["stop_reason"], traces["stopped_by_user"]) == (token, True)
    assert user.messages[-1]["content"] == heard


@given(st.text(), st.text(), st.randoms())
def test_a_stop_token_is_found_in_any_text_and_any_case(before, after, random):
    token = "".join(random.choice([c.lower(), c.upper()]) for c in "###stop###")
    user = ann(json.dumps({"text": before + token + after}), **STOPPING)

    answer = user.respond("Here you are.")

    assert user.is_done()
    assert answer == ((before + after).strip() or FAREWELL) or token.lower() in before + after


@given(st.text(alphabet="#STOPstop </done>").filter(lambda t: "###stop###" not in t.lower()))
def test_a_text_without_a_stop_token_is_passed_on_unchanged(text):
    user = ann(json.dumps({"text": text}), stop_tokens=["###STOP###"], early_stopping_condition="x")

    assert user.respond("Here you are.") == text
    assert not user.is_done()


@pytest.mark.parametrize(
    ("turns", "stopped", "reason"),
    [
        (3, False, TerminationReason.NOT_TERMINATED),
        (2, False, TerminationReason.MAX_TURNS),
        (3, True, TerminationReason.USER_TERMINATED),
        (2, True, TerminationReason.MAX_TURNS_AND_USER_TERMINATED),
    ],
)
def test_the_reason_for_the_end_tells_turns_from_will(turns, stopped, reason):
    said = says("Bye ###STOP###" if stopped else "Go on")
    user = ann(said, initial_query="A hat?", max_turns=turns, **STOPPING)

    user.respond("Which?")

    assert user.termination_reason is reason
    assert user.is_done() is (reason is not TerminationReason.NOT_TERMINATED)


@pytest.mark.parametrize(
    "options",
    [
        {"stop_tokens": ["x"]},
        {"early_stopping_condition": "x"},
        {"stop_tokens": [], "early_stopping_condition": "x"},
        {"stop_tokens": [""], "early_stopping_condition": "x"},
    ],
)
def test_stop_tokens_and_condition_belong_together(options):
    with pytest.raises(ConfigurationError, match=r"both be None|empty stop token"):
        ann(**options)


def look(at: str, times: int = 1, things: list[str] | None = None) -> str:
    """Look at something.

    Args:
        at: Where to look.
    """
    return f"{at} looks fine"


def broken() -> None:
    raise ValueError("it is broken")


def late() -> None:
    raise TaskTimeoutError("too late")


def acting(*replies: str, **options: int) -> AgenticLLMUser:
    tools = {"look": look, "broken": broken, "late": late}
    return ann(*replies, kind=AgenticLLMUser, tools=tools, **options)


def test_the_model_is_told_what_the_tools_are():
    assert acting().simulator.tools[:2] == [
        {
            "name": "look",
            "description": "Look at something.",
            "inputs": {
                "at": {"type": "string", "description": "Where to look."},
                "times": {"type": "integer", "description": "Parameter times"},
                "things": {"type": "array", "description": "Parameter things"},
            },
        },
        {"name": "broken", "description": "", "inputs": {}},
    ]


def test_a_user_uses_tools_before_it_answers_and_keeps_it_to_itself():
    user = acting(says("Let me see", calling("look", at="The door")), says("It is fine."))

    assert user.respond("How is the door?") == "It is fine."
    assert [message["content"] for message in user.messages] == ["How is the door?", "It is fine."]
    prompt = user.model.requests[1]["messages"][0]["content"]
    assert "user: Let me see\nuser: Tool Output [look]: The door looks fine\n" in prompt
    (entry,) = user.logs
    assert (entry["status"], entry["final_response"]) == ("success", "It is fine.")
    assert entry["internal_steps"] == [
        {
            "step": 1,
            "thought": "Let me see",
            "tool_calls": [calling("look", at="The door")],
            "tool_outputs": [
                {
                    "name": "look",
                    "arguments": {"at": "The door"},
                    "status": "success",
                    "result": "The door looks fine",
                }
            ],
        },
        {"step": 2, "thought": "It is fine.", "tool_calls": []},
    ]


@pytest.mark.parametrize(
    ("call", "result"),
    [
        (calling("broken"), "Error: it is broken"),
        (calling("jump"), "Error: Tool 'jump' not found"),
        ({"name": ["jump"]}, "Error: Tool '['jump']' not found"),
        (calling("look", where="x"), "Error: look() got an unexpected keyword argument 'where'"),
        ({"name": "look", "arguments": "door"}, "Error: "),
    ],
)
def test_a_call_that_goes_wrong_is_an_answer_too(call, result):
    user = acting(says("Let me see", call), says("Hm."))

    assert user.respond("How is the door?") == "Hm."
    (output,) = user.logs[0]["internal_steps"][0]["tool_outputs"]
    assert output["status"] == "error" and output["result"].startswith(result)


def test_a_deadline_passes_through_a_tool():
    with pytest.raises(TaskTimeoutError):
        acting(says("Let me see", calling("late"))).respond("How is the door?")


def test_a_user_that_only_uses_tools_gives_up():
    user = acting(says("Again", calling("look", at="x")), max_internal_steps=1)

    assert user.respond("How is the door?") == OUT_OF_STEPS
    assert user.logs[0]["status"] == "max_internal_steps_reached"
    assert len(user.logs[0]["internal_steps"]) == 1
