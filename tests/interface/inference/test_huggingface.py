import json
import logging
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from maseval.core.messages import tool_call
from maseval.core.provider_errors import (
    ContextOverflowError,
    MalformedResponseError,
)
from maseval.interface.inference.huggingface import (
    HuggingFacePipelineModelAdapter,
    ToolCallingNotSupportedError,
)
from tests.interface.libraries import needing

HI = [{"role": "user", "content": "hi"}]
TOOLS = [{"type": "function", "function": {"name": "look"}}]


class Speaker:
    """A scripted model with a chat template, called like a pipeline."""

    task = "text-generation"
    name_or_path = "speaker"

    def __init__(self, said: str) -> None:
        self.said = said
        self.heard = []
        self.tokenizer = self

    def apply_chat_template(self, messages: list[dict[str, Any]], **options: Any) -> str:
        self.heard.append((messages, options))
        return "<prompt>"

    def __call__(self, prompt: str, **params: int) -> list[dict[str, str]]:
        self.heard.append((prompt, params))
        return [{"generated_text": f"{prompt} {self.said}"}]


def test_the_template_makes_the_prompt_and_the_prompt_is_no_answer():
    speaker = Speaker("hello")
    model = HuggingFacePipelineModelAdapter(speaker, default_generation_params={"top_p": 1})

    assert (
        model.generate("hi", {"max_tokens": 5, "temperature": 0, "response_format": {}}) == "hello"
    )
    (messages, options), (prompt, params) = speaker.heard
    assert (messages, prompt) == (HI, "<prompt>")
    assert options == {"add_generation_prompt": True, "tokenize": False}
    assert params == {"top_p": 1, "max_new_tokens": 5, "do_sample": False}
    assert model.model_id == "speaker"
    assert model.gather_config()["pipeline_config"] == {"task": "text-generation"}


@pytest.mark.parametrize(
    ("said", "text", "arguments"),
    [
        ('<tool_call>{"name": "look", "arguments": {"at": "é"}}</tool_call>', None, [{"at": "é"}]),
        ('So:<tool_call>{"name": "look"}</tool_call><tool_call>{"name": "look"}', "So:", [{}, {}]),
        ('Let me see {"name": "look", "arguments": {}} now', "Let me see", [{}]),
        ('{"name": 3}', '{"name": 3}', []),
        ("<tool_call>look</tool_call>", "<tool_call>look</tool_call>", []),
        ("no {call} here", "no {call} here", []),
    ],
)
def test_calls_are_read_from_the_text(said, text, arguments):
    earlier = {"role": "assistant", "tool_calls": [tool_call("look", id="call_0")]}
    answer = HuggingFacePipelineModelAdapter(Speaker(said)).chat([*HI, earlier], tools=TOOLS)

    calls = answer.tool_calls or []
    assert answer.content == text
    assert [json.loads(call["function"]["arguments"]) for call in calls] == arguments
    assert [call["id"] for call in calls] == [f"call_{n + 1}" for n in range(len(calls))]


def test_a_template_hears_of_earlier_calls_with_their_arguments_parsed():
    speaker = Speaker("ok")
    earlier = {"role": "assistant", "tool_calls": [tool_call("look", {"at": "me"}, id="a")]}

    HuggingFacePipelineModelAdapter(speaker).chat([*HI, earlier], tools=TOOLS)

    messages, options = speaker.heard[0]
    assert messages[1]["tool_calls"][0]["function"]["arguments"] == {"at": "me"}
    assert options["tools"] == TOOLS


def test_without_a_template_the_roles_are_spelled_out():
    heard = []

    def model(prompt):
        heard.append(prompt)
        return "fine"

    adapter = HuggingFacePipelineModelAdapter(model)

    assert adapter.chat([{"role": "system", "content": "Be kind"}, *HI]).content == "fine"
    assert heard == ["system: Be kind\nuser: hi\nassistant:"]
    assert adapter.model_id == "huggingface:unknown"


def test_tools_need_a_template_that_takes_them():
    old = SimpleNamespace(
        apply_chat_template=lambda messages, add_generation_prompt, tokenize: "prompt"
    )
    model = Speaker("ok")
    model.tokenizer = old

    for refused in (model, lambda prompt: "ok"):
        with pytest.raises(ToolCallingNotSupportedError, match="base_url"):
            HuggingFacePipelineModelAdapter(refused, "m").chat(HI, tools=TOOLS)
    assert HuggingFacePipelineModelAdapter(model).chat(HI, tools=TOOLS, tool_choice="none").content


def test_parameters_that_nobody_takes_are_mentioned(caplog):
    caplog.set_level(logging.WARNING)

    assert HuggingFacePipelineModelAdapter(lambda prompt: "ok", "m").generate("hi", {"top_p": 1})
    assert "model m takes no parameters: ['top_p'] unused" in caplog.text


def test_an_output_without_text_is_malformed():
    with pytest.raises(MalformedResponseError, match="no generated text"):
        HuggingFacePipelineModelAdapter(lambda prompt: [{"score": 1}], "m").generate("hi")


@pytest.fixture(params=[pytest.param("torch", marks=needing("torch"))])
def transformers(request: pytest.FixtureRequest) -> Any:
    """The library, which can do nothing without the other one."""
    import_module(request.param)
    return import_module("transformers")


@pytest.fixture
def tiny_model(transformers: Any, tmp_path: Path) -> Any:
    """A pipeline with random weights: no words of worth, but every part of it is real."""
    tokenizers = import_module("tokenizers")
    words = {"<unk>": 0, "<end>": 1, "user": 2, ":": 3, "hi": 4, "a": 5, "b": 6, "c": 7}
    base = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    base.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=base, unk_token="<unk>", eos_token="<end>", pad_token="<end>"
    )
    tokenizer.chat_template = "{% for m in messages %}{{ m.role }} : {{ m.content }} {% endfor %}"
    size = {"vocab_size": len(words), "n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 64}
    config = transformers.GPT2Config(**size, bos_token_id=1, eos_token_id=1, pad_token_id=1)
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    return transformers.pipeline("text-generation", str(tmp_path), device="cpu")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # transformers warns of much that is its own affair
def test_a_pipeline_repeats_itself_when_seeded(tiny_model):
    def said(seed):
        model = HuggingFacePipelineModelAdapter(tiny_model, seed=seed)
        return model.generate("hi", {"max_tokens": 12, "do_sample": True})

    assert said(1) == said(1)
    assert len({said(seed) for seed in range(5)}) > 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_pipeline_counts_tokens_and_names_a_prompt_that_is_too_long(tiny_model):
    model = HuggingFacePipelineModelAdapter(tiny_model, "m", {"max_tokens": 5, "temperature": 0})

    answer = model.chat(HI)

    assert answer.usage["input_tokens"] == 3  # user : hi
    assert 0 <= answer.usage["output_tokens"] <= 5
    assert model.gather_usage().total_tokens == answer.usage["total_tokens"]
    with pytest.raises(ContextOverflowError, match="has 72 tokens, but the model takes at most 64"):
        model.generate("hi " * 70)
