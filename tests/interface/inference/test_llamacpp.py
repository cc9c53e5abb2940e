"""A real language model, the smallest that can be had by pip, inside this process."""

import json
import re
import signal
import threading
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from maseval.core.exceptions import ConfigurationError
from maseval.core.model import resolve_model
from maseval.core.provider_errors import (
    ContextOverflowError,
    MalformedRequestError,
    ModelNotFoundError,
)
from tests.interface.inference.smollm2 import model_file
from tests.interface.libraries import needing

pytestmark = needing("xllamacpp")

BOOK = {
    "type": "function",
    "function": {
        "name": "reserve",
        "description": "Reserve a table",
        "parameters": {
            "type": "object",
            "properties": {
                "guests": {"type": "integer", "minimum": 1, "maximum": 9},
                "room": {"$ref": "#/$defs/Room"},
            },
            "required": ["guests", "room"],
            "$defs": {"Room": {"enum": ["garden", "hall"]}},
        },
    },
}


@pytest.fixture
def model():
    options = {"threads": 1, "context_size": 8192, "max_tokens": 40, "temperature": 0, "seed": 1}
    return resolve_model(f"llamacpp/{model_file()}", **options)


@pytest.mark.slow
def test_a_real_model_speaks_calls_and_hears_the_result(model):
    spoken = model.chat([{"role": "user", "content": "Say hello. 你好"}])
    assert spoken.content
    assert 0 < spoken.usage["output_tokens"] <= 40

    conversation = [{"role": "user", "content": "A table for four in the garden, please"}]
    choice = {"type": "function", "function": {"name": "reserve"}}
    answer = model.chat(conversation, tools=[BOOK], tool_choice=choice)

    (call,) = answer.tool_calls
    arguments = json.loads(call["function"]["arguments"])
    assert call["function"]["name"] == "reserve"
    assert arguments.keys() == {"guests", "room"}
    assert 1 <= arguments["guests"] <= 9 and arguments["room"] in ("garden", "hall")

    result = {"role": "tool", "tool_call_id": call["id"], "content": "reserved"}
    told = model.chat([*conversation, answer.to_message(), result], tools=[BOOK])
    assert told.content or told.tool_calls
    assert model.gather_traces()["successful_calls"] == 3


def tool_with(schema):
    parameters = {"type": "object", "properties": {"valeur é": schema}, "required": ["valeur é"]}
    return {"type": "function", "function": {"name": "put", "parameters": parameters}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schema", "fits"),
    [
        ({"type": "string", "pattern": r"^[A-Z]-\d{3}$"}, r'"[A-Z]-\d{3}"'),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}, r"-?\d+|null"),
        ({"type": ["boolean", "null"]}, "true|false|null"),
        ({"type": "number", "minimum": 0, "maximum": 1}, r"0(\.\d+)?|1(\.0*)?"),
        ({"type": "string", "format": "date"}, r'"\d{4}-\d\d-\d\d"'),
        ({"type": "array", "items": {"const": "é"}, "maxItems": 2, "uniqueItems": True}, r"\[.*\]"),
        ({"type": "object", "additionalProperties": False}, r"\{\}"),
        (True, ".+"),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, dict | bool) else "",
)
def test_what_a_schema_says_of_a_value_holds(model, schema, fits):
    answer = model.chat(
        [{"role": "user", "content": "go"}],
        {"max_tokens": 60},
        tools=[tool_with(schema)],
        tool_choice="required",
    )

    (call,) = answer.tool_calls or [pytest.fail(f"no call in {answer}")]
    (value,) = json.loads(call["function"]["arguments"]).values()
    assert re.fullmatch(fits, json.dumps(value, ensure_ascii=False))


@pytest.mark.slow
@pytest.mark.parametrize(
    "schema", [{"$ref": "#/$defs/nowhere"}, {"type": "string", "pattern": "^(?!x)y$"}]
)
def test_a_schema_that_no_grammar_can_be_made_of_is_named(model, schema):
    with pytest.raises(MalformedRequestError, match="one of the tools \\['put'\\]"):
        model.chat([{"role": "user", "content": "go"}], tools=[tool_with(schema)])


@pytest.mark.slow
def test_an_answer_that_is_cut_off_says_what_there_is_of_it(model):
    answer = model.chat([{"role": "user", "content": "hi"}], {"max_tokens": 3}, tools=[BOOK])

    assert answer.stop_reason == "length"
    assert answer.content and answer.tool_calls is None


@pytest.mark.slow
def test_an_interrupted_answer_leaves_the_model_as_it_was(model):
    interruption = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    interruption.start()
    with pytest.raises(KeyboardInterrupt):
        model.generate("Tell me a story")
        interruption.join()  # a fast machine may be done before it is interrupted

    assert model.generate("Say hello")


@pytest.mark.slow
def test_a_real_model_names_its_limits(model):
    with pytest.raises(ContextOverflowError, match="exceeds the available context size"):
        model.generate("word " * 9000)
    with pytest.raises(MalformedRequestError, match="temperature"):
        model.generate("hi", temperature="hot")
    with pytest.raises(MalformedRequestError, match="schema must be an object"):
        schema = {"type": "object", "properties": {"a": 1}}
        model.generate("hi", response_format={"type": "json_object", "schema": schema})


def test_a_file_that_is_not_there_is_named_with_what_is(monkeypatch, tmp_path):
    monkeypatch.setenv("LLAMA_CACHE", str(tmp_path))
    (tmp_path / "one-7b.gguf").touch()
    (tmp_path / "two-7b.gguf").touch()

    with pytest.raises(ModelNotFoundError, match=r"one-7b\.gguf, two-7b\.gguf"):
        resolve_model("llamacpp/7b")
    with pytest.raises(ModelNotFoundError, match=r"did you mean 'llamacpp/two-7b\.gguf'"):
        resolve_model("llamacpp/tow-7b.gguf")
    with pytest.raises(ModelNotFoundError, match=rf"did you mean 'llamacpp/{tmp_path}/one-7b"):
        resolve_model(f"llamacpp/{tmp_path}/oen-7b.gguf")


def test_a_damaged_file_is_named(tmp_path):
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(b"GGUF, but not really")

    with pytest.raises(ModelNotFoundError, match="a complete GGUF file"):
        resolve_model(f"llamacpp/{damaged}")


def test_what_only_a_server_has_is_refused():
    with pytest.raises(ConfigurationError, match="runs in this process"):
        resolve_model("llamacpp/any", base_url="http://localhost")


class Table(BaseModel):
    """What even a small model writes, as a grammar leaves it no other way."""

    guests: Annotated[int, Field(ge=1, le=9)]
    room: Literal["garden", "hall"]


@pytest.mark.slow
def test_even_a_small_model_gives_a_structured_answer(model):
    answer = model.chat(
        [{"role": "user", "content": "A table for four in the garden."}], response_model=Table
    )

    assert isinstance(answer.parsed, Table)
    assert [entry["is_valid"] for entry in model.logs] == [True]
