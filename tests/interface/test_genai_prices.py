"""The price list of genai-prices: which names it understands, and what it does not price."""

import pytest

from maseval.core.usage import CostCalculator, TokenUsage
from maseval.interface.usage import GenAIPricesCalculator
from tests.interface.libraries import needing

pytestmark = needing("genai_prices")

MANY = TokenUsage(input_tokens=1_000_000)


def test_a_listed_model_is_priced_by_input_and_output():
    calculator = GenAIPricesCalculator()

    asked = calculator.calculate_cost(MANY, "openai/gpt-4.1")
    answered = calculator.calculate_cost(TokenUsage(output_tokens=1_000_000), "openai/gpt-4.1")
    both = TokenUsage(input_tokens=1_000_000, output_tokens=1_000_000)

    assert isinstance(calculator, CostCalculator)
    assert asked and answered and answered > asked
    assert calculator.calculate_cost(both, "openai/gpt-4.1") == pytest.approx(asked + answered)


def test_cached_tokens_cost_less():
    calculator, cached = GenAIPricesCalculator(), TokenUsage(input_tokens=1_000_000)
    cached.cached_input_tokens = 800_000

    less, more = (calculator.calculate_cost(one, "gpt-4.1") for one in (cached, MANY))

    assert less and more and less < more


@pytest.mark.parametrize(
    "model_id", ["gpt-4.1", "anthropic/claude-sonnet-4-5", "google/gemini-2.5-pro"]
)
def test_models_are_found_by_the_ids_of_a_run(model_id):
    assert GenAIPricesCalculator().calculate_cost(MANY, model_id)


def test_a_model_of_litellm_has_the_price_of_its_provider():
    calculator = GenAIPricesCalculator()

    direct = calculator.calculate_cost(MANY, "google/gemini-2.5-pro")

    assert calculator.calculate_cost(MANY, "litellm/gemini/gemini-2.5-pro") == direct


@pytest.mark.parametrize("model_id", ["my-model", "openai/my-model", "nowhere/x"])
def test_a_model_that_is_not_listed_has_no_price(model_id):
    assert GenAIPricesCalculator().calculate_cost(MANY, model_id) is None


def test_a_server_of_ones_own_has_no_listed_price_whatever_it_calls_its_model():
    own = GenAIPricesCalculator("http://localhost:8000/v1")
    providers = GenAIPricesCalculator("https://api.openai.com/v1")

    assert own.calculate_cost(MANY, "openai/gpt-4.1") is None
    assert providers.calculate_cost(MANY, "openai/gpt-4.1")
