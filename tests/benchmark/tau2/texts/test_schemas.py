import json
from typing import Any

import pytest

from maseval.benchmark.tau2.texts.original import described_tool
from maseval.benchmark.tau2.texts.texts import Texts, TextsError, fill_parts


def texts(version: str = "0.2.0", **models: Any) -> Texts:
    return Texts(version, prompts={}, tools={}, models={"shop": models})


def definition(**parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "count", "parameters": parameters}}


def tool(**parameters: Any) -> dict[str, Any]:
    return {"name": "count", "description": "Counts.", "parameters": parameters}


def parameters_of(
    ours: dict[str, Any], tool_text: dict[str, Any], all_texts: Texts
) -> dict[str, Any]:
    return described_tool(ours, tool_text, all_texts, "shop")["function"]["parameters"]


def test_our_words_are_replaced_or_removed_and_the_keys_sorted():
    ours = definition(
        type="object",
        title="parameters",
        properties={
            "title": {"type": "string", "title": "Title", "description": "ours"},
            "description": {
                "title": "Description",
                "description": "ours",
                "default": {"z": 1, "a": 2},
            },
        },
    )
    found = described_tool(ours, tool(title="Theirs.", description=None), texts(), "shop")
    assert json.dumps(found) == json.dumps(
        {
            "type": "function",
            "function": {
                "name": "count",
                "description": "Counts.",
                "parameters": {
                    "properties": {
                        "title": {"description": "Theirs.", "title": "Title", "type": "string"},
                        "description": {"default": {"z": 1, "a": 2}, "title": "Description"},
                    },
                    "title": "parameters",
                    "type": "object",
                },
            },
        }
    )


@pytest.mark.parametrize("installed", [{}, {"additionalProperties": True}])
@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.2.0", {"type": "object"}),
        ("1.0.1", {"additionalProperties": True, "type": "object"}),
    ],
)
def test_a_bare_object_is_written_as_in_its_version_whatever_is_installed(
    version, expected, installed
):
    bare = {"type": "object", **installed}
    ours = definition(properties={"a": {"anyOf": [bare, {"type": "null"}]}, "b": {"items": bare}})
    found = parameters_of(ours, tool(a=None, b=None), texts(version))
    assert found == {
        "properties": {"a": {"anyOf": [expected, {"type": "null"}]}, "b": {"items": expected}}
    }


def test_classes_get_their_own_words():
    inner = {"properties": {"x": {"type": "string", "description": "ours"}}, "description": "ours"}
    ours = definition(**{"$defs": {"B": inner, "A": inner}, "properties": {}})
    words = {"description": None, "fields": {"x": "Theirs."}}
    found = parameters_of(ours, tool(), texts(A=words, B={"description": "B.", "fields": {}}))
    assert json.dumps(found["$defs"]) == json.dumps(
        {
            "A": {"properties": {"x": {"description": "Theirs.", "type": "string"}}},
            "B": {"description": "B.", "properties": {"x": {"type": "string"}}},
        }
    )
    assert ours["function"]["parameters"]["$defs"]["A"]["description"] == "ours"


def test_a_class_that_the_original_does_not_describe_is_refused():
    ours = definition(**{"$defs": {"A": {}}, "properties": {}})
    with pytest.raises(TextsError, match="no texts for A"):
        parameters_of(ours, tool(), texts())


@pytest.mark.parametrize(
    ("theirs", "difference"),
    [
        ({"a": None}, "only here b; only there none"),
        ({"a": None, "b": None, "c": None}, "only here none; only there c"),
        ({"b": None, "a": None}, "their order differs"),
    ],
)
def test_other_parameters_than_ours_are_refused_with_the_difference(theirs, difference):
    ours = definition(properties={"a": {}, "b": {}})
    with pytest.raises(TextsError, match=difference):
        parameters_of(ours, tool(**theirs), texts())


PARTS = ("log: ", {"value": "log"}, "; {braces} stay; ", {"value": "self.wishes"})


def test_values_are_put_into_their_places_and_never_looked_into():
    text = fill_parts(PARTS, {"log": "{self.wishes}", "self.wishes": "%s"})
    assert text == "log: {self.wishes}; {braces} stay; %s"
