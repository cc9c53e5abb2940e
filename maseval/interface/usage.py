"""The cost of tokens, from the price list of the library ``litellm``."""

from collections.abc import Mapping
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
        """The cost of ``usage``; None if the model's price is unknown."""
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
        """The settings, for the report."""
        return {
            "type": type(self).__name__,
            "custom_pricing": self._custom_pricing or None,
            "model_id_map": self._model_id_map or None,
        }
