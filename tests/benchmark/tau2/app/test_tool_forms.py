"""Tools as forms."""

import json

import pytest

from maseval.benchmark.tau2.app.running.tool_forms import (
    FormError,
    check_arguments,
    fields_of,
    read_arguments,
)
from maseval.benchmark.tau2.domains import domain_names
from maseval.benchmark.tau2.environment import Tau2Environment


def form(**properties):
    required = [name for name, schema in properties.items() if "default" not in schema]
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": "tool", "parameters": parameters}}


def only_field(schema, **more):
    definition = form(given=schema)
    definition["function"]["parameters"].update(more)
    return fields_of(definition)[0]


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, " #W12 ", "#W12"),
        ({"type": "string"}, "123", "123"),
        ({"type": "integer"}, "3", 3),
        ({"type": "number"}, "2.0", 2.0),
        ({"type": "number"}, "2", 2),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, "false", False),
        ({"type": "string", "enum": ["yes", "no"]}, "no", "no"),
        ({"type": "string", "enum": ["yes", "no"]}, "1", "yes"),
        ({"type": "array", "items": {"type": "string"}}, "1, 2", ["1", "2"]),
        ({"type": "array", "items": {"type": "string"}}, '["a, b"]', ["a, b"]),
        ({"type": "object"}, '{"a": [1]}', {"a": [1]}),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, "4", 4),
    ],
)
def test_a_text_becomes_the_value_of_the_schemas_type(schema, text, value):
    read = only_field(schema).read(text)

    assert read == value and type(read) is type(value)


@pytest.mark.parametrize(
    ("schema", "text", "words"),
    [
        ({"type": "string"}, "  ", "is empty"),
        ({"type": "integer"}, "two", "whole number"),
        ({"type": "number"}, "nan", "give a number"),
        ({"type": "boolean"}, "maybe", "yes or no"),
        ({"type": "string", "enum": ["yes", "no"]}, "3", "choose one of: yes, no"),
        ({"type": "object"}, "{", "is not JSON"),
        ({"type": "object"}, "[]", "give an object"),
        ({"type": "array", "items": {"type": "string"}}, "[1]", r"given\[0\] is 1; give a text"),
        (
            {"type": "array", "items": {"type": "object", "required": ["date"]}},
            "[{}]",
            r"given\[0\] lacks date",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_the_way_to_write_it(schema, text, words):
    with pytest.raises(FormError, match=words):
        only_field(schema).read(text)


def test_nested_models_are_followed_and_shown_by_an_example():
    flight = {"type": "object", "properties": {"date": {"type": "string"}}, "required": ["date"]}
    items = {"anyOf": [{"$ref": "#/$defs/Flight"}, {"type": "object"}]}
    field = only_field({"type": "array", "items": items}, **{"$defs": {"Flight": flight}})

    assert field.kind == "json" and json.loads(field.example) == [{"date": "..."}]
    assert field.read('[{"date": "2024-05-01"}]') == [{"date": "2024-05-01"}]


def test_all_arguments_may_be_given_at_once():
    tool = form(id={"type": "string"}, limit={"type": "integer", "default": 12})

    assert read_arguments(tool, '{"id": "x"}') == {"id": "x"}
    with pytest.raises(FormError, match="no parameter 'ID'; there is id, limit"):
        read_arguments(tool, '{"ID": "x"}')
    with pytest.raises(FormError, match="id missing"):
        read_arguments(tool, '{"limit": 1}')
    with pytest.raises(FormError, match="not a JSON object"):
        read_arguments(tool, "id=x")
    with pytest.raises(FormError, match="whole number"):
        check_arguments(tool, {"id": "x", "limit": True})


@pytest.mark.data
def test_every_gold_action_of_every_domain_can_be_filled_in(tau2_data):
    from maseval.benchmark.tau2.data_loader import load_tasks
    from maseval.benchmark.tau2.world.tasks import TaskSpec

    for domain in set(domain_names()) & {"airline", "retail", "telecom", "library"}:
        environment = Tau2Environment({"domain": domain})
        every = environment.toolkit.definitions()
        if environment.user_toolkit:
            every = [*every, *environment.user_toolkit.definitions()]
        tools = {each["function"]["name"]: each for each in every}
        for task in load_tasks(domain):
            for action in TaskSpec.of(task).actions:
                given = json.loads(json.dumps(action.arguments))
                assert check_arguments(tools[action.name], given) == given
