"""HuggingFaceModelScorer: likelihoods from a causal model, here a tiny one with random weights."""

import math
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.core.provider_errors import ModelNotFoundError
from maseval.interface.inference import HuggingFaceModelScorer
from tests.interface.libraries import needing

WORDS = ["the", "cat", "sat", "on", "a", "mat", "dog", "ran", "yes", "no", "A", "B", "C", "D"]


def test_nothing_is_loaded_before_the_first_question():
    scorer = HuggingFaceModelScorer("some/model", device="cpu", seed=3)

    assert scorer.model_id == "some/model" and scorer.seed == 3
    config = scorer.gather_config()
    assert (config["device"], config["trust_remote_code"]) == ("cpu", False)
    with pytest.raises(ConfigurationError, match="batch_size is 0"):
        HuggingFaceModelScorer("some/model", batch_size=0)


def with_torch(test: Callable[..., Any]) -> Callable[..., Any]:
    for mark in needing("torch"):
        test = mark(test)
    return test


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The folder of a causal model of 20,000 random weights that knows fourteen words."""
    transformers, tokenizers = import_module("transformers"), import_module("tokenizers")
    torch = import_module("torch")
    folder = str(tmp_path_factory.mktemp("tiny"))
    vocabulary = {word: number for number, word in enumerate(["<end>", "?", *WORDS])}
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="?"))
    plain.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    wrapped = transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, eos_token="<end>", unk_token="?"
    )
    wrapped.save_pretrained(folder)
    torch.manual_seed(1)
    config = transformers.GPT2Config(
        vocab_size=len(vocabulary), n_positions=64, n_embd=32, n_layer=2, n_head=2
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def by_hand(folder: Path, context: Any, continuation: Any) -> Any:
    """The same number by one pass over one text, token by token."""
    torch, transformers = import_module("torch"), import_module("transformers")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    head = tokenizer.encode(context) or [tokenizer.eos_token_id]
    tail = tokenizer.encode(continuation)
    with torch.no_grad():
        logits = model(torch.tensor([head + tail])).logits[0]
    total = 0.0
    for place, token in enumerate(tail, start=len(head) - 1):
        total += math.log(torch.softmax(logits[place], dim=-1)[token].item())
    return total


@with_torch
def test_a_likelihood_is_that_of_the_tokens_in_turn(tiny):
    scorer = HuggingFaceModelScorer(tiny, device="cpu")

    for context, continuation in [("the cat", " sat on a mat"), ("the dog ", "ran"), ("", "yes")]:
        expected = by_hand(tiny, context, continuation)
        assert scorer.loglikelihood(context, continuation) == pytest.approx(expected, abs=1e-4)
    assert scorer.gather_traces()["successful_calls"] == 3


@with_torch
@pytest.mark.parametrize("size", [1, 2, 16])
def test_texts_of_different_lengths_do_not_disturb_each_other(tiny, size):
    scorer = HuggingFaceModelScorer(tiny, device="cpu", batch_size=size)
    pairs = [("the", " cat"), ("the cat sat on a", " mat"), ("dog", " ran on the mat"), ("a", " B")]

    together = scorer.loglikelihood_batch(pairs)

    assert together == pytest.approx([by_hand(tiny, *pair) for pair in pairs], abs=1e-4)


@with_torch
def test_choices_of_one_token_take_one_pass_and_give_the_same(tiny):
    scorer = HuggingFaceModelScorer(tiny, device="cpu")
    context = "the cat sat on a mat"

    letters = scorer.loglikelihood_choices(context, ["A", "B", "C", "D"])
    texts = scorer.loglikelihood_choices(context, ["yes", "the dog ran"])

    assert letters == pytest.approx(
        [by_hand(tiny, context, f" {each}") for each in "ABCD"], abs=1e-4
    )
    assert texts[1] == pytest.approx(by_hand(tiny, context, " the dog ran"), abs=1e-4)
    assert [entry["batch_size"] for entry in scorer.logs] == [4, 2]


@with_torch
def test_a_model_that_is_not_there_is_an_error_by_name(tmp_path):
    with pytest.raises(ModelNotFoundError, match="nowhere"):
        HuggingFaceModelScorer(str(tmp_path / "nowhere"), device="cpu").loglikelihood("a", "b")
