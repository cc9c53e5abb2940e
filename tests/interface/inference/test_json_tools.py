import json

import pytest

from maseval.core.messages import tool_call
from maseval.interface.inference.llamacpp import answer_schema, describe_tools_in_text, read_answer

LOOK = {"type": "function", "function": {"name": "look", "description": "Look around"}}
GO = {
    "type": "function",
    "function": {
        "name": "go",
        "parameters": {
            "type": "object",
            "properties": {"to": {"$ref": "#/$defs/Place"}},
            "required": ["to"],
            "$defs": {"Place": {"enum": ["here", "there"]}},
        },
    },
}


def forms(schema):
    return [form["required"][0] for form in schema["anyOf"]]


def callable_tools(schema):
    calls = schema["anyOf"][-1]["properties"]["tool_calls"]
    return [form["properties"]["name"]["const"] for form in calls["items"]["anyOf"]]


@pytest.mark.parametrize(
    ("choice", "said", "called"),
    [
        (None, ["content", "tool_calls"], ["look", "go"]),
        ("auto", ["content", "tool_calls"], ["look", "go"]),
        ("required", ["tool_calls"], ["look", "go"]),
        ({"type": "function", "function": {"name": "go"}}, ["tool_calls"], ["go"]),
    ],
)
def test_the_choice_decides_what_an_answer_may_be(choice, said, called):
    schema = answer_schema([LOOK, GO], choice)

    assert forms(schema) == said
    assert callable_tools(schema) == called


def test_no_tool_is_called_if_none_may_be():
    assert answer_schema([LOOK], "none") is None


@pytest.mark.parametrize(("parallel", "most"), [(False, 1), (True, None)])
def test_one_call_at_a_time_unless_told_otherwise(parallel, most):
    schema = answer_schema([LOOK], parallel=parallel)

    assert schema["anyOf"][-1]["properties"]["tool_calls"].get("maxItems") == most


def test_what_a_tool_defines_by_name_can_be_found_from_the_top():
    schema = answer_schema([GO])

    assert schema["$defs"] == {"go.Place": {"enum": ["here", "there"]}}
    assert '"$ref": "#/$defs/go.Place"' in json.dumps(schema)
    assert GO["function"]["parameters"]["properties"]["to"] == {"$ref": "#/$defs/Place"}


def test_titles_are_not_told_but_things_of_that_name_are():
    parameters = {
        "title": "parameters",
        "properties": {"title": {"title": "Title", "enum": [{"title": "kept"}]}},
    }
    tool = {"type": "function", "function": {"name": "read", "parameters": parameters}}

    (system,) = describe_tools_in_text([], [tool])

    assert '- read:  {"properties": {"title": {"enum": [{"title": "kept"}]}}}' in system["content"]
    assert parameters["title"] == "parameters"


def test_calls_and_results_are_told_as_text():
    conversation = describe_tools_in_text(
        [
            {"role": "system", "content": "Be brief"},
            {"role": "user", "content": "go"},
            {"role": "assistant", "tool_calls": [tool_call("go", {"to": "thère"}, id="c")]},
            {"role": "tool", "tool_call_id": "c", "content": "arrived"},
            {"role": "assistant", "content": "Done"},
        ],
        [LOOK, GO],
    )

    assert conversation[0]["content"].startswith("Be brief\n\nThese tools")
    assert "- look: Look around" in conversation[0]["content"]
    assert conversation[1:] == [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": '{"tool_calls": [{"name": "go", "arguments": {"to": "thère"}}]}',
        },
        {"role": "user", "content": "Result of go: arrived"},
        {"role": "assistant", "content": '{"content": "Done"}'},
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"content": "hi"}', "hi"),
        ('{"content":"hi, I am', "hi, I am"),
        ('{"content":"a \\"b\\', 'a "b'),
        ('{"content":"caf\\u00e9 \\u00e', "café "),
        ('{"content":"so \\ud83d\\ude', "so "),
        ('{"content":"', ""),
        ('{"conten', '{"conten'),
        ('{"tool_calls":[{"name":"lo', '{"tool_calls":[{"name":"lo'),
        ("[1]", "[1]"),
    ],
)
def test_an_answer_says_its_content_or_what_there_is_of_it(text, said):
    assert read_answer(text) == (said, None)


def test_an_answer_may_call():
    text = '{"tool_calls": [{"name": "look", "arguments": {}}, {"name": "look", "arguments": {}}]}'

    content, calls = read_answer(text, first_number=3)

    assert content is None
    assert calls == [tool_call("look", id="call_3"), tool_call("look", id="call_4")]
