from importlib import import_module
from typing import Any

import pytest

from maseval.core.usage import CostCalculator, TokenUsage
from maseval.interface.usage import LiteLLMCostCalculator
from tests.interface.libraries import needing

pytestmark = needing("litellm")


@pytest.fixture
def local_prices(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    return import_module("litellm").model_cost["gpt-4o"]


def test_a_known_model_is_priced_from_the_list(local_prices):
    usage = TokenUsage(input_tokens=1000, output_tokens=10)

    cost = LiteLLMCostCalculator(model_id_map={"mine": "gpt-4o"}).calculate_cost(usage, "mine")

    paid_in, paid_out = local_prices["input_cost_per_token"], local_prices["output_cost_per_token"]
    assert cost == pytest.approx(1000 * paid_in + 10 * paid_out)


def test_cached_tokens_cost_less(local_prices):
    calculator = LiteLLMCostCalculator()
    plain, cached = TokenUsage(input_tokens=1000), TokenUsage(input_tokens=1000)
    cached.cached_input_tokens = 800

    assert calculator.calculate_cost(cached, "gpt-4o") < calculator.calculate_cost(plain, "gpt-4o")


def test_own_prices_come_first(local_prices):
    rates = {"input_cost_per_token": 1.0, "output_cost_per_token": 10.0}
    calculator = LiteLLMCostCalculator(custom_pricing={"gpt-4o": rates})

    assert calculator.calculate_cost(TokenUsage(input_tokens=2, output_tokens=1), "gpt-4o") == 12
    assert calculator.gather_config() == {
        "type": "LiteLLMCostCalculator",
        "custom_pricing": {"gpt-4o": rates},
        "model_id_map": None,
    }


def test_an_unknown_model_has_no_price(local_prices):
    calculator = LiteLLMCostCalculator()

    assert isinstance(calculator, CostCalculator)
    assert calculator.calculate_cost(TokenUsage(input_tokens=1), "no-such-model") is None
