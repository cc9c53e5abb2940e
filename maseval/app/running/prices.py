"""Prices of models: from the user's file, else from a price list that is installed."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from maseval.core.exceptions import ConfigurationError
from maseval.core.recorded import entries, mapping, number
from maseval.core.storage import strict_json
from maseval.core.usage import CostCalculator, StaticPricingCalculator, TokenUsage

_MILLION = 1_000_000
_UNIT = "usd per million tokens"
OWN_PRICES = "own_prices"
_RATES = {"input", "output", "cached_input", "cache_creation_input"}
_FORM = (
    "write a table for each model with its prices in US dollars per million tokens, like "
    '{"my-model": {"input": 0.5, "output": 1.5}} in JSON; optional: cached_input, '
    "cache_creation_input"
)
# Nobody sells a million tokens for less; who writes so little means the price of a single one.
_LEAST = 0.001


@dataclass(frozen=True)
class ModelPrice:
    """The price of one model; ``list_id`` is its name in the list."""

    source: str
    calculator: CostCalculator
    list_id: str

    def calculate_cost(self, usage: TokenUsage, model_id: str) -> float | None:
        """Return the cost of ``usage``, whatever the adapter calls the model."""
        return self.calculator.calculate_cost(usage, self.list_id)

    def to_config(self) -> dict[str, object]:
        """Return the record for the run's configuration: US dollars per million tokens."""
        return {
            "source": self.source,
            "on": date.today().isoformat(),
            "input": self._per_million("input_tokens"),
            "output": self._per_million("output_tokens"),
        }

    def gather_config(self) -> dict[str, Any]:
        return {"type": type(self).__name__, **self.to_config()}

    def _per_million(self, kind: str) -> float:
        # Of a thousand at once: some prices rise with the length of a request.
        usage = TokenUsage(**{kind: 1000})  # type: ignore[arg-type]
        return round((self.calculate_cost(usage, self.list_id) or 0.0) * 1000, 6)


@dataclass(frozen=True)
class Prices:
    """The sources of prices: ``own``, per million tokens, first, then the installed list.

    Models that agents choose themselves are at ``base_url`` or elsewhere.
    """

    own: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    source: str = ""
    base_url: str | None = None

    @classmethod
    def of(cls, file: str | os.PathLike[str]) -> "Prices":
        """Read the prices in ``file``, which take precedence over the installed list."""
        path = Path(file)
        content = _content(path)
        own = {model: _rates(path, model, given) for model, given in content.items()}
        return cls(own, path.name)

    @classmethod
    def from_config(cls, config: Mapping[str, object]) -> "Prices":
        """Return the prices that a run noted when it was started with a file of them."""
        noted = mapping(config, OWN_PRICES)
        own = {
            model: {kind: number(rate) or 0 for kind, rate in mapping(rates).items()}
            for model, rates in mapping(noted, "models").items()
        }
        return cls(own, str(noted.get("source") or ""))

    def to_notes(self) -> dict[str, object]:
        """Return the file's prices for the run's configuration, so that resuming knows them."""
        return {OWN_PRICES: {"source": self.source, "unit": _UNIT, "models": dict(self.own)}}

    def at(self, model_id: str, base_url: object = None) -> ModelPrice | None:
        """Return the price of a model at ``base_url``, or at its provider's own address."""
        # The same models at the same prices, asked in another way.
        model_id = re.sub("^openai-responses/", "openai/", model_id)
        for name in _names(model_id):
            if name in self.own:
                rates = {kind: rate / _MILLION for kind, rate in self.own[name].items()}
                return ModelPrice(self.source, StaticPricingCalculator({name: rates}), name)
        return _list_price(model_id, address_of(model_id, base_url))

    def calculate_cost(self, usage: TokenUsage, model_id: str) -> float | None:
        price = self.at(model_id, self.base_url)
        return price.calculate_cost(usage, model_id) if price else None


@dataclass(frozen=True)
class FreePrices(Prices):
    """The prices of a scripted model, by whatever name it is asked."""

    def at(self, model_id: str, base_url: object = None) -> ModelPrice | None:
        nothing = {model_id: {"input": 0.0, "output": 0.0}}
        return ModelPrice("a script", StaticPricingCalculator(nothing), model_id)


def noted_prices(models: Mapping[str, ModelPrice | None]) -> dict[str, object]:
    known = {model: price.to_config() for model, price in models.items() if price}
    unknown = [model for model, price in models.items() if price is None]
    return {"prices": {"unit": _UNIT, "models": known, "unknown": unknown}}


def unpriced_models(config: Mapping[str, object]) -> list[str] | None:
    """Return the models of a run without a known price; None if the run noted no prices."""
    noted = config.get("prices")
    return [str(name) for name in entries(mapping(noted).get("unknown"))] if noted else None


def without_list() -> str:
    """Return a note if no price list is installed, else an empty text."""
    from maseval.interface import extras

    known = extras.is_installed("genai_prices")
    return "" if known else " (no price list is installed: pip install genai-prices)"


def _names(model_id: str) -> list[str]:
    """Return the names that a file may have for a model, with and without ``openai/``."""
    bare = model_id.partition("/")[2]
    return [model_id, *([bare] if bare else []), f"openai/{model_id}"]


@cache
def _list_price(model_id: str, base_url: str | None) -> ModelPrice | None:
    from maseval.interface import extras  # only a run with models needs a list

    if model_id.startswith("scripted/") or not extras.is_installed("genai_prices"):
        return None
    from maseval.interface.usage import GenAIPricesCalculator

    listed = GenAIPricesCalculator(base_url)
    whole = model_id if "/" in model_id else f"openai/{model_id}"
    price = ModelPrice(listed.source, listed, whole)
    # The list takes any name: only a price for some tokens shows that it knows the model.
    known = price.calculate_cost(TokenUsage(input_tokens=1000), model_id) is not None
    return price if known else None


def _content(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text in UTF-8"
        raise ConfigurationError(f"the prices in {str(path)!r} cannot be read: {reason}") from None
    try:
        is_toml = path.suffix == ".toml"
        content = strict_json.loads_toml(text) if is_toml else strict_json.loads(text)
    except ValueError as error:
        kind = "TOML" if path.suffix == ".toml" else "JSON"
        raise ConfigurationError(f"{path} is not {kind}: {error}; {_FORM}") from None
    if not isinstance(content, dict) or not content:
        raise ConfigurationError(f"{path} has no prices; {_FORM}")
    return content


def _rates(path: Path, model: str, given: object) -> dict[str, float]:
    if not isinstance(given, dict) or not {"input", "output"} <= given.keys() <= _RATES:
        named = sorted(given) if isinstance(given, dict) else given
        raise ConfigurationError(f"{path} has {named!r} for model {model!r}; {_FORM}")
    for kind, rate in given.items():
        # For Python, True is a number.
        is_number = isinstance(rate, int | float) and not isinstance(rate, bool)
        if not is_number or (rate and not _LEAST <= rate < 1e6):
            raise ConfigurationError(
                f"{path} has {rate!r} as the {kind} price of {model!r}; {_FORM}"
            )
    return given


# Which variable each provider's library reads.
_VARIABLES = {
    "openai": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
    "google": "GOOGLE_GEMINI_BASE_URL",
}


def address_of(model_id: str, base_url: object = None) -> str | None:
    """Return the address given, or the one that the environment names for the provider."""
    if base_url:
        return str(base_url)
    provider = model_id.partition("/")[0] if "/" in model_id else "openai"
    return os.environ.get(_VARIABLES.get(provider, "")) or None
