"""The simulated customer: what its model sees, when it stops, and how it works without the loop."""

from typing import Any

import pytest

from maseval import ScriptedModelAdapter, UserError, UserExhaustedError
from maseval.benchmark.tau2 import Tau2User
from maseval.benchmark.tau2.formats.message import assistant_message
from maseval.benchmark.tau2.user import flip_roles


def press(times: int = 1) -> str:
    """Press the switch.

    Args:
        times: How often.
    """
    return f"pressed {times}"


def user(replies: list[dict[str, Any] | str], **settings: Any) -> Tau2User:
    model = ScriptedModelAdapter(replies)
    return Tau2User(model, "You sit in the dark.", guidelines="Be brief.", **settings)


PRESS = {"name": "press", "arguments": {"times": 2}, "id": "u1"}


def test_the_model_sees_guidelines_and_scenario_and_itself_as_the_assistant():
    one = user(["It is dark.", "Yes."])

    one.respond("Hi!")
    one.respond("Really?")

    assert one.model.requests[1]["messages"] == [
        {
            "role": "system",
            "content": "Be brief.\n\n<scenario>\nYou sit in the dark.\n</scenario>",
        },
        {"role": "user", "content": "Hi!"},
        {"role": "assistant", "content": "It is dark."},
        {"role": "user", "content": "Really?"},
    ]
    assert one.model.requests[0]["tools"] is None


def test_tools_are_used_on_the_way_to_an_answer():
    one = user([PRESS, "Done."], tools={"press": press})

    assert one.respond("Press it twice") == "Done."
    request = one.model.requests[1]
    assert request["messages"][-1] == {
        "role": "tool",
        "content": "pressed 2",
        "tool_call_id": "u1",
    }
    assert request["tools"][0]["function"]["name"] == "press"
    assert request["tool_choice"] == "auto"


def test_the_traces_hold_the_conversation_as_the_user_saw_it():
    def broken() -> str:
        """Break down."""
        raise RuntimeError("out of order")

    one = user([{"name": "broken", "arguments": {}, "id": "u1"}, "Hm."], tools={"broken": broken})
    assert one.gather_traces()["messages"] == []

    one.respond("Try it")

    said = [(each["role"], each["content"]) for each in one.gather_traces()["messages"]]
    assert said == [
        ("assistant", "Try it"),
        ("user", None),
        ("tool", "Error: out of order"),
        ("user", "Hm."),
    ]
    asked, told = one.gather_traces()["messages"][1:3]
    assert asked["tool_calls"][0]["function"] == {"name": "broken", "arguments": "{}"}
    assert (told["tool_call_id"], told["requestor"]) == ("u1", "user")


def test_a_user_that_never_speaks_is_a_users_error():
    one = user([PRESS] * 200, tools={"press": press})

    with pytest.raises(UserError, match="without saying anything"):
        one.respond("Press it")


@pytest.mark.parametrize("token", ["###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###"])
def test_each_stop_token_ends_it_and_stays_in_the_text(token):
    one = user([f"Bye {token}", "never said"])

    assert one.respond("Hi") == f"Bye {token}"
    assert one.is_done() and one.gather_traces()["stopped_by_user"]
    with pytest.raises(UserExhaustedError, match="after 1 turn"):
        one.respond("Still there?")


@pytest.mark.parametrize("text", ["###stop###", "STOP", "## STOP ##"])
def test_what_only_looks_like_a_stop_token_does_not(text):
    one = user([text])
    one.respond("Hi")

    assert not one.is_done()


def test_turns_can_be_limited_and_the_last_word_given():
    one = user(["a", "b", "c"], max_turns=2, exhausted_response="I must go.")

    assert [one.respond("?") for _ in range(3)] == ["a", "b", "I must go."]
    assert one.gather_traces()["turns_used"] == 2
    assert one.gather_traces()["message_count"] == 4


def test_a_greeting_comes_first():
    one = user(["Hello."], initial_query="It is dark.")

    one.inject_greeting("Hi!")
    one.respond("How can I help?")

    contents = [message["content"] for message in one.model.requests[0]["messages"][1:]]
    assert contents == ["Hi!", "How can I help?"]
    assert one.get_initial_query() == "It is dark."


def test_what_the_user_is_not_meant_to_see_is_refused():
    with pytest.raises(ValueError, match="Tool calls are not supported in the flipped messages"):
        flip_roles([assistant_message(None, tool_calls=[])])
    with pytest.raises(ValueError, match="should be sent to the user"):
        flip_roles([{"role": "tool", "id": "", "content": "", "requestor": "assistant"}])
    with pytest.raises(ValueError, match="Unknown message role: system"):
        flip_roles([{"role": "system", "content": ""}])


@pytest.mark.data
def test_guidelines_are_the_originals_unless_others_are_given(tau2_data):
    plain = Tau2User(ScriptedModelAdapter([]), "scenario").system_prompt
    with_tools = Tau2User(ScriptedModelAdapter([]), "scenario", tools={"press": press})

    folder = tau2_data / "user_simulator"
    assert plain.startswith((folder / "simulation_guidelines.md").read_text())
    assert with_tools.system_prompt.startswith(
        (folder / "simulation_guidelines_tools.md").read_text()
    )
