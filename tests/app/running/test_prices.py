"""Prices: a file of one's own, the installed list, and what a run notes of them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maseval.app.running.prices import Prices, noted_prices, unpriced_models
from maseval.core.exceptions import ConfigurationError
from maseval.core.usage import TokenUsage

USED = TokenUsage(input_tokens=2_000_000, output_tokens=1_000_000)
OWN = {"my-model": {"input": 0.5, "output": 1.5}}


def file_with(tmp_path: Path, content: dict[str, Any] | str, name: str = "prices.json") -> Path:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize("model_id", ["my-model", "openai/my-model"])
def test_prices_of_ones_own_are_per_million_tokens(model_id, tmp_path):
    price = Prices.of(file_with(tmp_path, OWN)).at(model_id, "http://localhost:8000/v1")

    assert price is not None
    assert price.calculate_cost(USED, "whatever the server says") == pytest.approx(2.5)


def test_prices_may_be_toml(tmp_path):
    text = '["my-model"]\ninput = 0.5\noutput = 1.5\ncached_input = 0.1\n'
    price = Prices.of(file_with(tmp_path, text, "prices.toml")).at("my-model")

    assert price is not None
    noted = price.to_config()
    assert noted["source"] == "prices.toml"
    assert (noted["input"], noted["output"]) == (0.5, 1.5)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "is not JSON"),
        ("[]", "has no prices"),
        ("{}", "has no prices"),
        ({"m": {"input": 1}}, r"has \['input'\] for model 'm'"),
        ({"m": 3}, "has 3 for model 'm'"),
        ({"m": {"input": 1, "output": 2, "images": 3}}, "images"),
        ({"m": {"input": "1", "output": 2}}, "'1' as the input price"),
        ({"m": {"input": -1, "output": 2}}, "-1 as the input price"),
        ({"m": {"input": True, "output": 2}}, "True as the input price"),
        ({"m": {"input": 2e-06, "output": 8e-06}}, "2e-06 as the input price"),
    ],
)
def test_a_file_that_has_no_prices_is_refused_with_the_form_it_should_have(content, told, tmp_path):
    with pytest.raises(ConfigurationError, match=told) as refused:
        Prices.of(file_with(tmp_path, content))
    assert "US dollars per million tokens" in str(refused.value)


def test_a_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"nowhere.toml.*No such file"):
        Prices.of(tmp_path / "nowhere.toml")


def test_a_scripted_model_is_priced_by_a_file_alone(tmp_path):
    assert Prices().at("scripted/echo") is None
    own = Prices.of(file_with(tmp_path, {"scripted/echo": {"input": 1, "output": 1}}))
    assert own.at("scripted/echo") is not None


def test_a_run_notes_what_its_models_cost_and_which_price_it_does_not_know():
    pytest.importorskip("genai_prices")
    elsewhere = Prices().at("gpt-4.1", "http://localhost:1/v1")
    config = noted_prices({"openai/gpt-4.1": Prices().at("openai/gpt-4.1"), "gpt-4.1": elsewhere})

    assert config["prices"]["models"]["openai/gpt-4.1"]["source"].startswith("genai-prices ")
    assert unpriced_models(config) == ["gpt-4.1"]
    assert unpriced_models({}) is None


def test_an_agent_that_names_its_own_models_is_priced_by_their_names(tmp_path):
    prices = replace(Prices.of(file_with(tmp_path, OWN)), base_url="http://localhost:1/v1")

    assert prices.calculate_cost(USED, "my-model") == pytest.approx(2.5)
    assert prices.calculate_cost(USED, "gpt-4.1") is None
