"""Tokens and cost: records that can be added, and sums over a finished run."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import NamedTuple, Protocol, Self, TypeVar, runtime_checkable

from maseval.core.exceptions import ConfigurationError
from maseval.core.recorded import MAPPINGS, NUMBERS
from maseval.core.tracing import JsonObject


@dataclass
class Usage:
    """Consumption, in money and in any other unit.

    Records add up with ``+`` and ``sum``. A label (provider, category, component_name, kind)
    survives only if both sides agree on it: adding a bare ``Usage()`` erases the labels.
    """

    cost: float = 0.0
    units: dict[str, float] = field(default_factory=dict)
    provider: str | None = None
    category: str | None = None
    component_name: str | None = None
    kind: str | None = None

    def __add__(self, other: "Usage") -> "Usage":
        if not isinstance(other, Usage):
            return NotImplemented
        # Its tokens must not be lost because it stands on the right.
        if isinstance(other, TokenUsage):
            return other + self
        return _add_shared_fields(Usage(), self, other)

    def __radd__(self, other: int) -> Self:
        """Let ``sum`` start from its zero."""
        return self if other == 0 else NotImplemented

    def to_dict(self) -> JsonObject:
        """Return the fields in order, ready for JSON."""
        return {**vars(self), "units": dict(self.units)}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> "Usage":
        """Read a record that ``to_dict`` wrote; one with input tokens is a ``TokenUsage``."""
        record = TokenUsage() if "input_tokens" in data else cls()
        for part in fields(record):
            if data.get(part.name) is not None:
                setattr(record, part.name, data[part.name])
        record.units = dict(record.units)
        return record


@dataclass
class TokenUsage(Usage):
    """The usage of one or more calls of a language model."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    cached_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    reasoning_tokens: int = 0
    audio_tokens: int = 0

    def __add__(self, other: Usage) -> "TokenUsage":
        if not isinstance(other, Usage):
            return NotImplemented
        total = _add_shared_fields(TokenUsage(), self, other)
        for name in TOKEN_FIELDS:
            setattr(total, name, getattr(self, name) + getattr(other, name, 0))
        return total

    @classmethod
    def from_chat_response_usage(
        cls,
        usage_dict: Mapping[str, object],
        *,
        cost: float = 0.0,
        provider: str | None = None,
        category: str | None = None,
        component_name: str | None = None,
        kind: str | None = "llm",
    ) -> Self:
        """Make the record of one answer from ``ChatResponse.usage``; what is missing is 0."""
        record = cls(cost, {}, provider, category, component_name, kind)
        for name in TOKEN_FIELDS:
            setattr(record, name, usage_dict.get(name) or 0)
        return record


TOKEN_FIELDS = tuple(f.name for f in fields(TokenUsage) if f.name.endswith("tokens"))
_LABELS = ("provider", "category", "component_name", "kind")
UsageT = TypeVar("UsageT", bound=Usage)


def _add_shared_fields(total: UsageT, one: Usage, other: Usage) -> UsageT:
    """``total`` with the sums of cost and units, and with the labels that both records share."""
    total.cost = one.cost + other.cost
    for unit in [*one.units, *other.units]:
        total.units[unit] = one.units.get(unit, 0) + other.units.get(unit, 0)
    # A sum over two models is of neither.
    for label in _LABELS:
        if getattr(one, label) == getattr(other, label):
            setattr(total, label, getattr(one, label))
    return total


class UsageTrackableMixin:
    """A component that reports what it has consumed."""

    def gather_usage(self) -> Usage:
        """Return the sum of everything consumed so far."""
        return Usage()


@runtime_checkable
class CostCalculator(Protocol):
    """Computes the cost of tokens."""

    def calculate_cost(self, usage: TokenUsage, model_id: str) -> float | None:
        """Return the cost of ``usage``, or None if the price of the model is not known."""
        ...


class StaticPricingCalculator:
    """Prices from a table: ``{model: {"input": rate, "output": rate}}``, in money per token.

    ``"cached_input"`` and ``"cache_creation_input"`` may be added; they default to the input rate.
    """

    def __init__(self, pricing: Mapping[str, Mapping[str, float]]) -> None:
        self._pricing: dict[str, dict[str, float]] = {}
        for model_id, rates in pricing.items():
            self.add_model(model_id, rates)

    def add_model(self, model_id: str, rates: Mapping[str, float]) -> None:
        """Add a model to the table, or replace its rates."""
        required, optional = {"input", "output"}, {"cached_input", "cache_creation_input"}
        if not required <= set(rates) <= required | optional:
            raise ConfigurationError(
                f"rates of model {model_id!r} are named {sorted(rates)}; give a price per token "
                "for 'input' and 'output', and optionally 'cached_input', 'cache_creation_input'"
            )
        self._pricing[model_id] = dict(rates)

    @property
    def models(self) -> list[str]:
        return list(self._pricing)

    def calculate_cost(self, usage: TokenUsage, model_id: str) -> float | None:
        """Return the cost of ``usage``; None for a model that is not in the table."""
        rates = self._pricing.get(model_id)
        if rates is None:
            return None
        cached, created = usage.cached_input_tokens, usage.cache_creation_input_tokens
        uncached = max(0, usage.input_tokens - cached - created)
        return (
            uncached * rates["input"]
            + cached * rates.get("cached_input", rates["input"])
            + created * rates.get("cache_creation_input", rates["input"])
            + usage.output_tokens * rates["output"]
        )

    def gather_config(self) -> JsonObject:
        """Return the table, for the report."""
        pricing = {model_id: dict(rates) for model_id, rates in self._pricing.items()}
        return {"type": type(self).__name__, "pricing": pricing}


class UsageEntry(NamedTuple):
    """The usage of one component in one repetition of a task."""

    task_id: str
    component: str
    usage: Usage


class UsageReporter:
    """Sums over a finished run: in all, by task, by component."""

    def __init__(self, entries: Iterable[UsageEntry]) -> None:
        self.entries = list(entries)

    @classmethod
    def from_reports(cls, reports: Iterable[Mapping[str, object]]) -> Self:
        """Read the usage in the reports of a run; what could not be collected is left out."""
        return cls(
            UsageEntry(str(report["task_id"]), component, Usage.from_dict(record))
            for report in reports
            for component, record in usage_records(report.get("usage"))
        )

    def total(self) -> Usage:
        return sum(entry.usage for entry in self.entries) or Usage()

    def by_task(self) -> dict[str, Usage]:
        """Return one sum for each task id, over its repetitions and components."""
        return self._sum_by(lambda entry: entry.task_id)

    def by_component(self) -> dict[str, Usage]:
        return self._sum_by(lambda entry: entry.component)

    def summary(self) -> dict[str, object]:
        return {
            "total": self.total().to_dict(),
            "by_task": {key: usage.to_dict() for key, usage in self.by_task().items()},
            "by_component": {key: usage.to_dict() for key, usage in self.by_component().items()},
        }

    def _sum_by(self, key_of: Callable[[UsageEntry], str]) -> dict[str, Usage]:
        sums: dict[str, Usage] = {}
        for entry in self.entries:
            key = key_of(entry)
            sums[key] = sums[key] + entry.usage if key in sums else entry.usage
        return sums


def usage_records(usage: object) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the records in a report's ``usage``: a category is one record or holds one per name.

    Anything else, such as the time of collection or an error in place of a record, is skipped.
    """
    if not isinstance(usage, MAPPINGS) or "error" in usage:
        return
    for category, value in usage.items():
        if not value or not isinstance(value, MAPPINGS):
            continue
        if _is_record(value):
            yield category, value
        else:
            for name, record in value.items():
                if isinstance(record, MAPPINGS) and _is_record(record):
                    yield f"{category}:{name}", record


_COSTS = (*NUMBERS, type(None))  # None: not known


def _is_record(value: Mapping[str, object]) -> bool:
    return isinstance(value.get("cost", ""), _COSTS) and "error" not in value
