"""The components of one repetition, and what they can tell: traces, configuration, usage."""

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from maseval.core.exceptions import ConfigurationError, DuplicateComponentError
from maseval.core.tracing import ConfigurableMixin, TraceableMixin, now
from maseval.core.usage import Usage, UsageTrackableMixin

RegisterableComponent = TraceableMixin | ConfigurableMixin | UsageTrackableMixin
ComponentT = TypeVar("ComponentT")

_SINGLE = ("environment", "user")


class UsageTotals:
    """What all repetitions used so far, by component; may be read while a run goes on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_component: dict[str, Usage] = {}
        self._total: Usage | None = None

    def add(self, key: str, usage: Usage) -> None:
        """Count one component's usage in one repetition."""
        with self._lock:
            known = self._by_component.get(key)
            self._by_component[key] = usage if known is None else known + usage
            self._total = usage if self._total is None else self._total + usage

    @property
    def total(self) -> Usage:
        """Everything together."""
        with self._lock:
            return Usage() if self._total is None else self._total

    @property
    def by_component(self) -> dict[str, Usage]:
        """A copy of the totals, keyed ``category:name``."""
        with self._lock:
            return dict(self._by_component)


class ComponentRegistry:
    """Who takes part in a repetition, under which name.

    Most components are registered by the engine; models, simulators and tools by whoever makes
    them, with ``benchmark.register(category, name, component)``.
    """

    def __init__(
        self,
        benchmark_config: Mapping[str, Any] | None = None,
        *,
        totals: UsageTotals | None = None,
    ) -> None:
        self._benchmark_config = benchmark_config if benchmark_config is not None else {}
        self._totals = totals if totals is not None else UsageTotals()
        self._components: dict[str, object] = {}
        self._keys: dict[int, str] = {}

    def register(self, category: str, name: str, component: ComponentT) -> ComponentT:
        """Have a component asked for its traces, configuration and usage; returns it."""
        if not isinstance(component, TraceableMixin | ConfigurableMixin | UsageTrackableMixin):
            raise ConfigurationError(
                f"cannot register {component!r} as '{category}:{name}': it can tell nothing; "
                "derive its class from TraceableMixin, ConfigurableMixin or UsageTrackableMixin"
            )
        key = f"{category}:{name}"
        known = self._keys.get(id(component))
        if known is not None and known != key:
            raise DuplicateComponentError(
                f"component {component!r} is already registered as '{known}' and cannot be "
                f"re-registered as '{key}'; environments, users and agents are registered "
                "automatically, so register only what no setup hook returns"
            )
        replaced = self._components.get(key)
        if replaced is not None and replaced is not component:
            del self._keys[id(replaced)]
        self._components[key] = component
        self._keys[id(component)] = key
        return component

    def has(self, component: object) -> bool:
        """Whether this very object is registered."""
        return id(component) in self._keys

    def clear(self) -> None:
        """Forget the components; usage totals stay."""
        self._components.clear()
        self._keys.clear()

    def collect_traces(self) -> dict[str, Any]:
        """What happened to each component, by category and name."""
        return self._collect(
            "traces", TraceableMixin, lambda one, key: _named(one.gather_traces(), key)
        )

    def collect_configs(self) -> dict[str, Any]:
        """How each component was set up, and the machine under ``benchmark``."""
        configs = self._collect(
            "config", ConfigurableMixin, lambda one, key: _named(one.gather_config(), key)
        )
        return {**configs, "benchmark": self._benchmark_config}

    def collect_usage(self) -> dict[str, Any]:
        """What each component used; also adds it to the totals."""
        return self._collect("usage", UsageTrackableMixin, self._use)

    def _use(self, component: UsageTrackableMixin, key: str) -> dict[str, Any]:
        usage = component.gather_usage()
        category, name = key.split(":", 1)
        usage.category = usage.category if usage.category is not None else category
        usage.component_name = usage.component_name if usage.component_name is not None else name
        self._totals.add(key, usage)
        return usage.to_dict()

    def _collect(
        self, what: str, kind: type[ComponentT], ask: Callable[[ComponentT, str], dict[str, Any]]
    ) -> dict[str, Any]:
        components = {
            key: component
            for key, component in tuple(self._components.items())
            if isinstance(component, kind)
        }
        collected = _empty(len(components))
        for key, component in components.items():
            category, name = key.split(":", 1)
            try:
                told = ask(component, key)
            except Exception as error:  # one component's failure must not hide the others
                told = {
                    "error": f"Failed to gather {what}: {error}",
                    "error_type": type(error).__name__,
                    "component_type": type(component).__name__,
                }
            if category in _SINGLE:
                collected[category] = told
            else:
                collected.setdefault(category, {})[name] = told
        return collected

    @property
    def total_usage(self) -> Usage:
        """Usage of all repetitions so far."""
        return self._totals.total

    @property
    def usage_by_component(self) -> dict[str, Usage]:
        """Usage of all repetitions so far, keyed ``category:name``."""
        return self._totals.by_component

    def update_benchmark_config(self, config: Mapping[str, Any]) -> None:
        """Replace what ``collect_configs`` says of the benchmark itself."""
        self._benchmark_config = config


def _empty(components: int) -> dict[str, Any]:
    return {
        "metadata": {
            "timestamp": now(),
            "thread_id": threading.get_ident(),
            "total_components": components,
        },
        **{name: {} for name in ("agents", "models", "tools", "simulators", "callbacks")},
        "environment": None,
        "user": None,
        "other": {},
    }


def _named(told: dict[str, Any], key: str) -> dict[str, Any]:
    return {"name": key.split(":", 1)[1], **told}
