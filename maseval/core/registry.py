"""The components of one repetition, with their traces, configuration and usage."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from maseval.core.exceptions import ConfigurationError, DuplicateComponentError
from maseval.core.report import gathering_failure
from maseval.core.tracing import ConfigurableMixin, JsonObject, TraceableMixin, now
from maseval.core.usage import Usage, UsageRecord, UsageTrackableMixin

RegisterableComponent = TraceableMixin | ConfigurableMixin | UsageTrackableMixin
ComponentT = TypeVar("ComponentT")
Key = tuple[str, str]
"""A category and a name in it."""

_SINGLE = ("environment", "user")


class UsageTotals:
    """The usage of all repetitions so far, by component; may be read during a run.

    Each registry has its own account. A component reports its usage since its creation, so a new
    report replaces the previous one: however often it is asked, it counts once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._settled: dict[str, Usage] = {}
        self._accounts: dict[object, dict[str, Usage]] = {}

    def open(self, account: object) -> None:
        """Open ``account``."""
        with self._lock:
            self._accounts[account] = {}

    def note(self, account: object, key: str, usage: Usage) -> None:
        """Record a component's usage so far; a closed account ignores it."""
        with self._lock:
            if account in self._accounts:
                self._accounts[account][key] = usage

    def settle(self, account: object) -> None:
        """Add the recorded usage to the totals; later usage is added on top."""
        with self._lock:
            if account in self._accounts:
                _add(self._settled, self._accounts[account])
                self._accounts[account] = {}

    def close(self, account: object) -> None:
        """Add the recorded usage to the totals and close the account."""
        with self._lock:
            _add(self._settled, self._accounts.pop(account, {}))

    @property
    def by_component(self) -> dict[str, Usage]:
        """A copy of the totals, keyed ``category:name``."""
        with self._lock:
            totals = dict(self._settled)
            for noted in self._accounts.values():
                _add(totals, noted)
            return totals

    @property
    def total(self) -> Usage:
        """The sum over all components."""
        return sum(self.by_component.values()) or Usage()


class ComponentRegistry:
    """The components of a repetition, by category and name.

    Most components are registered by the engine; models, simulators and tools by the code that
    creates them, with ``benchmark.register(category, name, component)``.
    """

    def __init__(
        self,
        benchmark_config: Mapping[str, object] | None = None,
        *,
        totals: UsageTotals | None = None,
    ) -> None:
        self._benchmark_config = benchmark_config if benchmark_config is not None else {}
        self._totals = totals if totals is not None else UsageTotals()
        self._totals.open(self)
        self._components: dict[Key, object] = {}
        self._keys: dict[int, Key] = {}

    def register(self, category: str, name: str, component: ComponentT) -> ComponentT:
        """Register a component for traces, configuration and usage; returns it."""
        if not isinstance(component, RegisterableComponent):
            raise ConfigurationError(
                f"cannot register {component!r} as '{category}:{name}': it reports nothing; "
                "derive its class from TraceableMixin, ConfigurableMixin or UsageTrackableMixin"
            )
        key = (category, name)
        known = self._keys.get(id(component), key)
        if known != key:
            raise DuplicateComponentError(
                f"component {component!r} is already registered as '{':'.join(known)}' and cannot "
                f"be re-registered as '{category}:{name}'; environments, users and agents are "
                "registered automatically, so register only what no setup hook returns"
            )
        self._keys.pop(id(self._components.get(key)), None)
        self._components[key] = component
        self._keys[id(component)] = key
        return component

    def clear(self) -> None:
        """Unregister the components; usage totals stay."""
        self._totals.settle(self)
        self._components.clear()
        self._keys.clear()

    def close(self) -> None:
        """Count no more usage; the components stay registered."""
        self._totals.close(self)

    def collect_traces(self) -> JsonObject:
        """The traces of each component, by category and name."""
        return self._collect(
            "traces", TraceableMixin, lambda one, key: {"name": key[1], **one.gather_traces()}
        )

    def collect_configs(self) -> JsonObject:
        """The configuration of each component, and of the machine under ``benchmark``."""
        configs = self._collect(
            "config", ConfigurableMixin, lambda one, key: {"name": key[1], **one.gather_config()}
        )
        return {**configs, "benchmark": self._benchmark_config}

    def collect_usage(self) -> JsonObject:
        """The usage of each component; also added to the totals."""
        return self._collect("usage", UsageTrackableMixin, self._use)

    def _use(self, component: UsageTrackableMixin, key: Key) -> UsageRecord:
        told = component.gather_usage()
        category, name = key
        # A copy: the component may keep writing to its own record.
        usage = replace(
            told,
            units=dict(told.units),
            category=category if told.category is None else told.category,
            component_name=name if told.component_name is None else told.component_name,
        )
        self._totals.note(self, f"{category}:{name}", usage)
        return usage.to_dict()

    def _collect(
        self,
        what: str,
        kind: type[ComponentT],
        ask: Callable[[ComponentT, Key], Mapping[str, object]],
    ) -> JsonObject:
        components = [
            (key, component)
            for key, component in tuple(self._components.items())
            if isinstance(component, kind)
        ]
        collected = _empty(len(components))
        for key, component in components:
            category, name = key
            try:
                told = ask(component, key)
            except Exception as error:  # one component's failure must not hide the others
                told = gathering_failure(what, component, error)
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

    def update_benchmark_config(self, config: Mapping[str, object]) -> None:
        """Replace the ``benchmark`` entry of ``collect_configs``."""
        self._benchmark_config = config


def _add(totals: dict[str, Usage], noted: Mapping[str, Usage]) -> None:
    for key, usage in noted.items():
        totals[key] = totals[key] + usage if key in totals else usage


def _empty(components: int) -> JsonObject:
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
