"""The cost of tokens, from the price lists of the libraries ``litellm`` and ``genai-prices``.

Both lists come with their library and need no network. The version of genai-prices, and the day for
which a price is asked, say which price was used.
"""

from collections.abc import Mapping
from importlib.metadata import version
from types import ModuleType
from typing import Any

from maseval.core.usage import TokenUsage
from maseval.interface import extras


class LiteLLMCostCalculator:
    """Prices for the models that LiteLLM knows.

    Args:
        custom_pricing: Your own prices, which take precedence:
            ``{model: {"input_cost_per_token": rate, "output_cost_per_token": rate}}``.
        model_id_map: LiteLLM's names for your model ids.
    """

    def __init__(
        self,
        custom_pricing: Mapping[str, Mapping[str, float]] | None = None,
        model_id_map: Mapping[str, str] | None = None,
    ) -> None:
        if not extras.is_installed("litellm"):
            raise extras.MissingExtraError(
                f"LiteLLMCostCalculator requires litellm. {extras.how_to_install('litellm')}"
            )
        self._custom_pricing = {name: dict(rates) for name, rates in (custom_pricing or {}).items()}
        self._model_id_map = dict(model_id_map or {})

    def calculate_cost(self, usage: TokenUsage, model_id: str) -> float | None:
        """Return the cost of ``usage``; None if the model's price is unknown."""
        name = self._model_id_map.get(model_id, model_id)
        if rates := self._custom_pricing.get(name):
            return (
                usage.input_tokens * rates["input_cost_per_token"]
                + usage.output_tokens * rates["output_cost_per_token"]
            )
        litellm: Any = extras.load("litellm", extra="litellm")
        # Otherwise it prints advice for every unknown model, in the middle of other output.
        litellm.suppress_debug_info = True
        try:
            asked, answered = litellm.cost_per_token(
                model=name,
                prompt_tokens=usage.input_tokens,
                completion_tokens=usage.output_tokens,
                cache_read_input_tokens=usage.cached_input_tokens,
                cache_creation_input_tokens=usage.cache_creation_input_tokens,
            )
        except Exception:  # LiteLLM raises many kinds of errors for an unknown model
            return None
        return float(asked + answered)

    def gather_config(self) -> dict[str, Any]:
        return {
            "type": type(self).__name__,
            "custom_pricing": self._custom_pricing or None,
            "model_id_map": self._model_id_map or None,
        }


# The list's names for providers that are known here, or to LiteLLM, under another one.
_PROVIDERS = {
    **{"gemini": "google", "vertex_ai": "google", "bedrock": "aws", "xai": "x-ai"},
    **{"together_ai": "together", "fireworks_ai": "fireworks", "moonshot": "moonshotai"},
}


class GenAIPricesCalculator:
    """Prices of the models that genai-prices lists.

    A model is named by its provider's name for it, with or without the provider before it
    (``gpt-4.1``, ``openai/gpt-4.1``, ``litellm/groq/llama-3.1-8b-instant``).

    Args:
        base_url: The address that is asked, if it is not the provider's own. A server that the
            list does not know has no prices, whatever its models are called.
    """

    def __init__(self, base_url: str | None = None) -> None:
        self.base_url = base_url
        self._library: ModuleType = extras.load(
            "genai_prices", extra="prices", package="genai-prices"
        )

    @property
    def source(self) -> str:
        """The list and its version."""
        return f"genai-prices {version('genai-prices')}"

    def calculate_cost(self, usage: TokenUsage, model_id: str) -> float | None:
        """Return the cost of ``usage`` at today's prices; None for a model that is not listed."""
        counted = {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_read_tokens": usage.cached_input_tokens,
            "cache_write_tokens": usage.cache_creation_input_tokens,
        }
        used = self._library.Usage(**{name: value for name, value in counted.items() if value})
        provider, name = _split_model_id(model_id)
        where = {"provider_api_url": self.base_url} if self.base_url else {"provider_id": provider}
        try:
            return float(self._library.calc_price(used, name, **where).total_price)
        except (LookupError, ValueError):  # not listed; or counts that no price can be put on
            return None

    def gather_config(self) -> dict[str, Any]:
        return {"type": type(self).__name__, "source": self.source, "base_url": self.base_url}


def _split_model_id(model_id: str) -> tuple[str | None, str]:
    """Return the list's name of the provider, if one is named, and the provider's of the model."""
    provider, slash, name = model_id.removeprefix("litellm/").partition("/")
    return (_PROVIDERS.get(provider, provider), name) if slash else (None, model_id)
