import json

import pytest

from maseval.benchmark.macs.environment import MACSGenericTool
from maseval.core.exceptions import AgentError, EnvironmentError, TaskTimeoutError
from maseval.core.scripted import ScriptedModelAdapter
from maseval.core.tool import tool_definition

SPEC = {
    "name": "book",
    "description": "Books a table.",
    "input_schema": {
        "data_type": "object",
        "properties": {
            "people": {"data_type": "integer", "description": "How many", "required": []},
            "when": {"data_type": "string", "format": "date", "enum": ["today"], "required": []},
            "dishes": {
                "data_type": "array",
                "items": {
                    "data_type": "object",
                    "properties": {"dish": {"data_type": "string"}},
                    "required": ["dish"],
                },
            },
            "either": {"data_type": ["string", "number"]},
        },
        "required": ["people"],
    },
    "output_schema": {
        "data_type": "object",
        "properties": {"booking_number": {"data_type": "string"}},
    },
}


def tool(
    *replies: TaskTimeoutError | str, **options: bool
) -> tuple[MACSGenericTool, ScriptedModelAdapter]:
    replies = replies or ('{"text": "done", "details": {}}',)
    model = ScriptedModelAdapter(list(replies))
    return MACSGenericTool(SPEC, model, **options), model


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({}, "Missing required argument"),
        ({"people": "two"}, "'people' expected integer, got str"),
        ({"people": True}, "'people' expected integer, got boolean"),
        ({"people": 2, "dishes": "soup"}, "'dishes' expected array, got str"),
    ],
)
def test_types_are_checked_by_the_spelling_of_the_data_and_the_model_is_not_asked(
    arguments, complaint
):
    book, model = tool()
    with pytest.raises(AgentError, match=complaint):
        book(**arguments)
    assert model.requests == []


def test_the_standard_spelling_is_checked_as_well():
    spec = {"name": "f", "input_schema": {"properties": {"n": {"type": "integer"}}}}
    with pytest.raises(AgentError, match="'n' expected integer"):
        MACSGenericTool(spec, ScriptedModelAdapter([]))(n="x")


def test_undeclared_arguments_are_allowed_and_of_several_types_any():
    book, _ = tool('{"text": "a"}', '{"text": "b"}')
    assert book(people=2, window=True, either=3) == "a"
    assert book(people=2, either=[1]) == "b"


def test_failed_calls_are_recorded_too_so_that_the_judge_sees_them():
    book, _ = tool("nonsense", "nonsense", "nonsense", '{"text": "done", "details": {"k": 1}}')
    with pytest.raises(AgentError):
        book(people="two")
    with pytest.raises(EnvironmentError):
        book(people=2)
    book(people=3)
    recorded = [
        (call["inputs"], call["status"], call["meta"])
        for call in book.gather_traces()["invocations"]
    ]
    assert recorded == [
        ({"people": "two"}, "error", None),
        ({"people": 2}, "error", None),
        ({"people": 3}, "success", {"k": 1}),
    ]
    assert "expected integer" in book.history.to_list()[0]["outputs"]


def test_a_time_limit_is_not_the_tool_s_fault():
    book, _ = tool(TaskTimeoutError("too late"))
    with pytest.raises(TaskTimeoutError):
        book(people=2)


def test_a_broken_simulator_is_the_environment_s_fault(monkeypatch):
    book, _ = tool()

    def broken(**arguments):
        raise OSError("disk")

    monkeypatch.setattr(book, "simulator", broken)
    with pytest.raises(EnvironmentError, match=r"\[book\] the simulated tool failed: OSError"):
        book(people=2)


def test_the_model_is_shown_the_schema_of_the_result_unless_it_is_not_to_be():
    book, model = tool()
    book(people=2)
    assert '"booking_number": {' in model.requests[0]["messages"][0]["content"]
    assert '"data_type"' not in model.requests[0]["messages"][0]["content"]
    plain, model = tool(use_output_schema=False)
    plain(people=2)
    assert "booking_number" not in model.requests[0]["messages"][0]["content"]
    assert plain.gather_config()["use_output_schema"] is False


def test_frameworks_get_standard_schemas_with_everything_the_data_says():
    book, _ = tool()
    definition = tool_definition(book, name="reserve")
    assert definition["function"]["name"] == "reserve"
    assert definition["function"]["parameters"] == {
        "type": "object",
        "properties": {
            "people": {"type": "integer", "description": "How many"},
            "when": {"type": "string", "enum": ["today"], "format": "date"},
            "dishes": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"dish": {"type": "string"}},
                    "required": ["dish"],
                },
            },
            "either": {"type": ["string", "number"]},
        },
        "required": ["people"],
    }
    json.dumps(definition)


def test_an_action_without_a_schema_takes_anything():
    free = MACSGenericTool({"name": "f"}, ScriptedModelAdapter(['{"text": "ok"}']))
    assert free(x=1) == "ok"
    assert repr(free) == "MACSGenericTool(f() -> string)"
    assert free.definition["function"]["parameters"] == {"type": "object", "properties": {}}
