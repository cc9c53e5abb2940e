"""What tokens cost, by the price list of the library ``genai-prices``.

The list comes with the library and needs no network. Its version, and the day for which a price
is asked, say which price was used.
"""

from importlib.metadata import version
from types import ModuleType
from typing import Any

from maseval.core.usage import TokenUsage
from maseval.interface import extras

# What the list calls the providers that are known here, or to LiteLLM, under another name.
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
        """The cost of ``usage`` at today's prices; None for a model that is not listed."""
        counted = {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_read_tokens": usage.cached_input_tokens,
            "cache_write_tokens": usage.cache_creation_input_tokens,
        }
        used = self._library.Usage(**{name: value for name, value in counted.items() if value})
        provider, name = _named(model_id)
        where = {"provider_api_url": self.base_url} if self.base_url else {"provider_id": provider}
        try:
            return float(self._library.calc_price(used, name, **where).total_price)
        except (LookupError, ValueError):  # not listed; or counts that no price can be put on
            return None

    def gather_config(self) -> dict[str, Any]:
        """The settings, for the report."""
        return {"type": type(self).__name__, "source": self.source, "base_url": self.base_url}


def _named(model_id: str) -> tuple[str | None, str]:
    """The list's name of the provider, if one is named, and the provider's name of the model."""
    provider, slash, name = model_id.removeprefix("litellm/").partition("/")
    return (_PROVIDERS.get(provider, provider), name) if slash else (None, model_id)
