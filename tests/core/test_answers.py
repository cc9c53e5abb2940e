import pytest

from maseval.core.answers import amount, check_answer, size_of, tokens, tool_name
from maseval.core.exceptions import UnreadableAnswerError
from maseval.core.messages import ChatResponse, tool_call


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (12, 12),
        (12.0, 12),
        (0, 0),
        (None, 0),
        (float("inf"), 0),
        (float("nan"), 0),
        (-5, 0),
        (10**400, 0),
        (10**13, 0),
        ("12", 0),
        (True, 0),
        ([], 0),
    ],
)
def test_tokens_are_a_number_that_can_be_added(value, number):
    assert tokens(value) == number


@pytest.mark.parametrize("value", [None, "1", float("nan"), float("-inf"), -1.0, 10**400, True])
def test_a_cost_that_is_none_is_not_known(value):
    assert amount(value) is None


def test_an_answer_in_order_stays_as_it_is():
    answer = ChatResponse(
        "Yes.", [tool_call("look", {"at": 1})], usage={"total_tokens": 3, "cost": 0.5}, model="m"
    )

    assert check_answer(answer) == answer
    assert size_of(answer) == len('Yes.look{"at": 1}')


@pytest.mark.parametrize("given", [None, "", 7, -1])
def test_an_id_becomes_text(given):
    call = {"id": given, "type": "function", "function": {"name": "look", "arguments": "{}"}}

    [checked] = check_answer(ChatResponse(tool_calls=[call])).tool_calls

    assert checked["id"] == ("" if given is None else str(given))


@pytest.mark.parametrize(
    "part",
    [
        {"content": 5},
        {"content": {"text": "hi"}},
        {"tool_calls": "look"},
        {"tool_calls": [None]},
        {"tool_calls": [{"id": "1"}]},
        {"tool_calls": [{"id": "1", "function": {"name": 5, "arguments": "{}"}}]},
        {"tool_calls": [{"id": "1", "function": {"name": "look", "arguments": {}}}]},
        {"tool_calls": [{"id": [], "function": {"name": "look", "arguments": "{}"}}]},
        {"tool_calls": [{"id": True, "function": {"name": "look", "arguments": "{}"}}]},
    ],
)
def test_what_cannot_be_read_is_named(part):
    with pytest.raises(UnreadableAnswerError):
        check_answer(ChatResponse(**part))


@pytest.mark.parametrize("name", ["", "  ", None, 5])
def test_a_provider_names_the_tool_that_it_calls(name):
    with pytest.raises(UnreadableAnswerError, match="without the name of a tool"):
        tool_name(name)


def test_labels_of_another_type_are_read_as_text():
    answer = check_answer(ChatResponse("Yes.", role=5, model=4, stop_reason=["x"]))

    assert (answer.role, answer.model, answer.stop_reason) == ("assistant", "4", "['x']")
