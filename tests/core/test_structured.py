"""Answers in the form of a pydantic model, from a model that is asked in words."""

import pytest
from pydantic import BaseModel, RootModel

from maseval.core.exceptions import ConfigurationError, InvalidAnswerError
from maseval.core.messages import tool_call
from maseval.core.provider_errors import model_of
from maseval.core.report import TaskExecutionStatus, error_record, failure_status
from maseval.core.scripted import ScriptedModelAdapter


class City(BaseModel):
    name: str
    people: int


BERN = '{"name": "Bern", "people": 134000}'
USER = {"role": "user", "content": "Which?"}


@pytest.mark.parametrize(
    "answer",
    [BERN, f"```json\n{BERN}\n```", f"Here it is: {BERN}. Is that all?", f"\n {BERN}"],
)
def test_an_answer_becomes_an_object(answer):
    model = ScriptedModelAdapter([answer])

    response = model.chat([USER], response_model=City)

    assert response.parsed == City(name="Bern", people=134000)
    assert response.content == answer


def test_the_schema_is_part_of_the_one_system_message():
    model = ScriptedModelAdapter([BERN])

    model.chat([{"role": "system", "content": "Be brief."}, USER], response_model=City)

    system, user = model.requests[0]["messages"]
    assert system["content"].startswith("Be brief.\n\n") and '"people"' in system["content"]
    assert user == USER


def test_what_is_wrong_is_told_to_the_model_and_every_attempt_counts():
    usage = {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13, "cost": 0.5}
    model = ScriptedModelAdapter(['{"name": "Bern"}', "Bern, of course", BERN], usage=usage)

    response = model.chat([USER], response_model=City)

    assert response.parsed.people == 134000
    told = [request["messages"][-1]["content"] for request in model.requests[1:]]
    assert "people: Field required" in told[0] and "the whole answer: Invalid JSON" in told[1]
    assert model.requests[1]["messages"][-2] == {"role": "assistant", "content": '{"name": "Bern"}'}
    assert response.usage == {key: 3 * value for key, value in usage.items()}
    assert (model.gather_usage().total_tokens, model.gather_usage().cost) == (39, 1.5)
    assert [entry["is_valid"] for entry in model.logs] == [False, False, True]
    assert {entry["response_model"] for entry in model.logs} == {"City"}


def test_a_model_that_does_not_get_it_right_is_an_error_that_shows_its_answer():
    model = ScriptedModelAdapter(["Bern " * 200], loop=True)

    with pytest.raises(InvalidAnswerError, match=r"'scripted' gave no valid City in 3") as caught:
        model.chat([USER], response_model=City)

    assert "Bern Bern" in str(caught.value) and len(str(caught.value)) < 700
    assert "Invalid JSON" in str(caught.value) and "Simplify" in str(caught.value)
    assert len(model.requests) == 3 and model.gather_usage().output_tokens > 0
    assert error_record(caught.value)["details"]["attempts"] == 3


@pytest.mark.parametrize(
    ("whose", "status"),
    [
        (None, TaskExecutionStatus.AGENT_ERROR),
        ("user", TaskExecutionStatus.USER_ERROR),
        ("tool", TaskExecutionStatus.ENVIRONMENT_ERROR),
    ],
)
def test_the_failure_is_that_of_the_side_whose_model_it_was(whose, status):
    model = ScriptedModelAdapter(["no"], loop=True)

    with pytest.raises(InvalidAnswerError) as caught:
        if whose is None:
            model.generate("Which?", response_model=City)
        else:
            with model_of(whose):
                model.generate("Which?", response_model=City)

    assert failure_status(caught.value, "execution") is status


def test_an_answer_that_calls_tools_is_not_the_last_one():
    model = ScriptedModelAdapter([[tool_call("look")], BERN])

    calling = model.chat([USER], tools=[{}], response_model=City)
    final = model.chat([USER, calling.to_message()], response_model=City)

    assert (calling.parsed, len(calling.tool_calls)) == (None, 1)
    assert final.parsed == City(name="Bern", people=134000)


def test_the_answer_may_be_a_list():
    class Cities(RootModel[list[City]]):
        pass

    model = ScriptedModelAdapter([f"They are [{BERN}, {BERN}]."])

    assert len(model.generate("Which?", response_model=Cities).root) == 2


@pytest.mark.parametrize("given", [dict, City(name="x", people=1), "City"])
def test_what_is_no_pydantic_model_is_refused(given):
    with pytest.raises(ConfigurationError, match=r"give a subclass of pydantic\.BaseModel"):
        ScriptedModelAdapter([BERN]).chat([USER], response_model=given)
