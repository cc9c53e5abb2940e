import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.core.exceptions import (
    ConfigurationError,
    EnvironmentError,
    TaskTimeoutError,
    UserError,
)
from maseval.core.scripted import ScriptedModelAdapter
from maseval.core.simulator import (
    AgenticUserLLMSimulator,
    LLMSimulator,
    SimulatorError,
    ToolLLMSimulator,
    ToolSimulatorError,
    UserLLMSimulator,
    UserSimulatorError,
)

HISTORY = [{"role": "assistant", "content": "Hello?"}, {"role": "user", "content": "Hi."}]
WEATHER = ("weather", "tells the weather", {"city": {"type": "string"}})


def says(**answer: Any) -> str:
    return json.dumps(answer)


def person(
    *replies: KeyboardInterrupt | TaskTimeoutError | str,
    kind: type[Any] = UserLLMSimulator,
    **options: Any,
) -> LLMSimulator:
    return kind(ScriptedModelAdapter(replies), {"name": "Ann"}, "buy a hat", **options)


def test_a_simulated_tool_answers_with_text_and_details():
    model = ScriptedModelAdapter([says(text="Sunny", details={"degrees": 20}), "{}"])
    tool = ToolLLMSimulator(model, *WEATHER)

    assert tool(city="Rome") == ("Sunny", {"degrees": 20})
    assert tool(city="Oslo") == ("", {})


def test_the_prompt_of_a_tool_tells_what_it_is_and_what_it_was_asked():
    model = ScriptedModelAdapter(["{}"])

    ToolLLMSimulator(model, *WEATHER)(city="Rome")

    prompt = model.requests[0]["messages"][0]["content"]
    assert "Name: weather" in prompt and "tells the weather" in prompt
    assert '"type": "string"' in prompt and '"city": "Rome"' in prompt
    assert "{{" not in prompt


def test_a_template_is_filled_once_and_values_are_not_looked_into():
    model = ScriptedModelAdapter(["{}"])
    template = "{{name}}|{{description}}|{{unknown}}"

    ToolLLMSimulator(model, "{{description}}", "secret", {}, template=template)()

    assert model.requests[0]["messages"][0]["content"] == "{{description}}|secret|{{unknown}}"


def test_an_unreadable_answer_or_a_failed_call_is_tried_again():
    failure = ConnectionError("line down at https://host?key=hush")
    model = ScriptedModelAdapter(["no json", failure, "[1, 2]", says(text="Sunny")])
    tool = ToolLLMSimulator(model, *WEATHER, max_try=4)

    assert tool(city="Rome")[0] == "Sunny"
    assert [entry["status"] for entry in tool.logs] == [
        "ModelParsingError",
        "ModelCallError",
        "ModelParsingError",
        "Successful",
    ]
    assert len({entry["id"] for entry in tool.logs}) == 1
    assert "hush" not in tool.logs[1]["error"]


def test_each_attempt_is_logged_whole():
    tool = ToolLLMSimulator(ScriptedModelAdapter([says(text="Sunny")]), *WEATHER)

    tool(city="Rome", generation_params={"api_key": "hush", "seed": 1})

    (entry,) = tool.logs
    assert entry["input"] == {"city": "Rome"}
    assert entry["raw_output"] == says(text="Sunny") and entry["parsed_output"] == ("Sunny", {})
    assert (entry["status"], entry["error"]) == ("Successful", None)
    assert entry["generation_params"] == {"api_key": "<redacted>", "seed": 1}
    assert entry["prompt"] and entry["timestamp"]


def test_a_tool_that_gives_up_is_a_failure_of_the_environment():
    tool = ToolLLMSimulator(ScriptedModelAdapter(["fine", "no", "no"]), *WEATHER, max_try=2)
    tool.model.chat([])

    with pytest.raises(ToolSimulatorError) as caught:
        tool(city="Rome")

    error = caught.value
    assert isinstance(error, SimulatorError) and isinstance(error, EnvironmentError)
    assert (error.component, error.attempts, len(error.logs)) == ("weather", 2, 2)
    assert error.details == {"attempts": 2, "last_error": error.last_error}
    assert str(error).startswith(
        "[weather] ToolLLMSimulator failed to parse model output after 2 attempts (attempts: 2) "
        "Last error: Expecting value"
    )


def test_a_user_that_gives_up_is_a_failure_of_the_user():
    with pytest.raises(UserSimulatorError, match=r"^\[user_simulator\]") as caught:
        person("no", max_try=1)([])

    assert isinstance(caught.value, UserError) and not isinstance(caught.value, EnvironmentError)


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), TaskTimeoutError("too late")])
def test_an_interruption_or_a_deadline_is_not_tried_again(stop):
    simulator = person(stop, says(text="never"))

    with pytest.raises(type(stop)):
        simulator(HISTORY)

    assert len(simulator.logs) == 1


def test_a_simulator_of_ones_own_needs_a_prompt_and_a_parser():
    class Doubler(LLMSimulator):
        def _fill_prompt_template(self, **kwargs):
            return f"double {kwargs['number']}"

        def _parse_output(self, output):
            return int(output)

    doubler = Doubler(ScriptedModelAdapter(["4", "what?"]))

    assert doubler(number=2) == 4
    with pytest.raises(ValueError, match="what"):
        doubler(number=3)


@pytest.mark.parametrize("call", [lambda s: s(HISTORY), lambda s: s(conversation_history=HISTORY)])
def test_a_simulated_user_says_the_text(call):
    assert call(person(says(text="A hat, please."))) == "A hat, please."


@pytest.mark.parametrize("kind", [UserLLMSimulator, AgenticUserLLMSimulator])
def test_the_prompt_of_a_user_tells_who_it_is_and_what_was_said_and_no_more(kind):
    simulator = person(says(text="x"), kind=kind)

    simulator(HISTORY)

    prompt = simulator.model.requests[0]["messages"][0]["content"]
    assert '"name": "Ann"' in prompt and "buy a hat" in prompt
    assert "assistant: Hello?\nuser: Hi.\n" in prompt
    assert not [each for each in ("EARLY STOPPING", "### TOOLS", "{{") if each in prompt]


STOPPING = {"stop_token": "###STOP###", "early_stopping_condition": "you have a hat"}


def test_a_user_that_may_stop_is_told_when_and_how():
    simulator = person(says(text="x"), **STOPPING)

    simulator(HISTORY)

    prompt = simulator.model.requests[0]["messages"][0]["content"]
    assert "### EARLY STOPPING" in prompt
    assert "you have a hat" in prompt and "`###STOP###`" in prompt


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (says(text="Bye ###STOP###"), "Bye ###STOP###"),
        (says(text="Bye") + " ###STOP###", "Bye ###STOP###"),
        (says(text="Bye", details={"why": "###STOP###"}), "Bye ###STOP###"),
        (says(text="Bye"), "Bye"),
        (says(text=None), ""),
        (says(text=5), "5"),
    ],
)
def test_the_stop_token_counts_wherever_the_model_put_it(output, text):
    assert person(output, **STOPPING)(HISTORY) == text


@pytest.mark.parametrize("missing", list(STOPPING))
def test_token_and_condition_belong_together(missing):
    with pytest.raises(ConfigurationError, match="must both be set or both be None"):
        person(**{**STOPPING, missing: None})


TOOLS = [
    {"name": "look", "description": "Look around.", "inputs": {"at": {"type": "string"}}},
    {"name": "wait", "description": "Wait."},
]


def test_a_user_with_tools_may_call_them():
    calls = [{"name": "look", "arguments": {"at": "door"}}]
    outputs = [says(text="Let me see", tool_calls=calls), says(text="Done")]
    simulator = person(*outputs, kind=AgenticUserLLMSimulator, tools=TOOLS)

    assert simulator(HISTORY) == ("Let me see", calls)
    assert simulator(HISTORY) == ("Done", [])
    prompt = simulator.model.requests[0]["messages"][0]["content"]
    assert "### TOOLS" in prompt and "- look: Look around." in prompt and "- wait: Wait." in prompt
    assert prompt.count("Inputs: ") == 1 and '"tool_calls": [{"name"' in prompt


@pytest.mark.parametrize("calls", ["look", ["look"], {"name": "look"}])
def test_calls_of_the_wrong_shape_are_asked_for_again(calls):
    simulator = person(
        says(text="a", tool_calls=calls), says(text="b"), kind=AgenticUserLLMSimulator
    )

    assert simulator(HISTORY) == ("b", [])


@given(
    answer=st.dictionaries(st.text(), st.integers() | st.lists(st.text())),
    before=st.text().filter(lambda text: "{" not in text),
    after=st.text().filter(lambda text: "}" not in text),
)
def test_the_json_object_is_found_whatever_is_around_it(answer, before, after):
    output = before + json.dumps({**answer, "text": "found"}) + after

    assert person(output)([]) == "found"


@pytest.mark.parametrize("value", ["[" * 100_000 + "]" * 100_000, "9" * 10_000])
def test_an_answer_beyond_all_limits_is_asked_for_again(value):
    assert person('{"text": ' + value + "}", says(text="Sorry."))(HISTORY) == "Sorry."


@given(st.text())
def test_no_output_of_a_model_breaks_the_simulator(output):
    try:
        text = person(output, max_try=1)([])
    except UserSimulatorError as error:
        assert error.attempts == 1
    else:
        assert isinstance(text, str)
