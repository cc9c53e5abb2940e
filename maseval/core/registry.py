"""The components of one repetition, with their traces, configuration and usage."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple, TypeVar

from maseval.core.agent import AgentAdapter
from maseval.core.answer_cache import AnswerCache
from maseval.core.call_policy import CallPolicy
from maseval.core.exceptions import ConfigurationError, DuplicateComponentError
from maseval.core.model import ModelAdapter
from maseval.core.report import gathering_failure
from maseval.core.tracing import ConfigurableMixin, JsonObject, TraceableMixin, now
from maseval.core.usage import CostCalculator, Usage, UsageTrackableMixin

RegisterableComponent = TraceableMixin | ConfigurableMixin | UsageTrackableMixin
ComponentT = TypeVar("ComponentT")
Key = tuple[str, str]
"""A category and a name in it."""

_SINGLE = ("environment", "user")


class ModelSettings(NamedTuple):
    """The settings of all registered models, and the prices also of agents, that have none."""

    prices: CostCalculator | None = None
    cache: AnswerCache | None = None
    policy: CallPolicy | None = None

    def apply_to(self, component: object) -> None:
        if self.prices is not None and isinstance(component, ModelAdapter | AgentAdapter):
            component.use_prices(self.prices)
        if isinstance(component, ModelAdapter):
            component.policy = component.policy or self.policy
            if self.cache is not None:
                component.use_cache(self.cache)


class UsageTotals:
    """The usage of all repetitions so far, by component; may be read during a run.

    Each registry has its own account. A component reports its usage since its creation, so a new
    report replaces the previous one: however often it is asked, it counts once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._settled: dict[str, Usage] = {}
        self._accounts: dict[object, dict[str, Usage]] = {}

    def __reduce__(self) -> tuple[type["UsageTotals"], tuple[()]]:
        """Pickle as empty totals: another process counts anew."""
        return UsageTotals, ()

    def open(self, account: object) -> None:
        with self._lock:
            self._accounts[account] = {}

    def note(self, account: object, key: str, usage: Usage) -> None:
        """Record a component's usage so far; a closed account ignores it."""
        with self._lock:
            if account in self._accounts:
                self._accounts[account][key] = usage

    def close(self, account: object, *, reopen: bool = False) -> None:
        """Add the recorded usage to the totals; later usage counts only if it is reopened."""
        with self._lock:
            known = account in self._accounts
            _add(self._settled, self._accounts.pop(account, {}))
            if known and reopen:
                self._accounts[account] = {}

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
        return sum(self.by_component.values()) or Usage()


class _Shelf:
    def __init__(self) -> None:
        self.components: dict[Key, object] = {}
        self.keys: dict[int, Key] = {}
        self.included: list[tuple[str, object]] = []


class _ThreadShelf(_Shelf, threading.local):
    """Holds for each thread what that thread has registered."""


class ComponentRegistry:
    """The components of a repetition, by category and name.

    All threads of a repetition share its registry. One that is made by hand, without ``totals``,
    shows each thread only what that thread has registered.

    Most components are registered by the engine; models, simulators and tools by the code that
    creates them, with ``benchmark.register(category, name, component)``. The components of
    ``shared`` belong to the whole run: their traces and configuration are reported here as well,
    but not their usage, which would count once for every repetition.
    """

    def __init__(
        self,
        benchmark_config: Mapping[str, object] | None = None,
        *,
        totals: UsageTotals | None = None,
        shared: "ComponentRegistry | None" = None,
        models: ModelSettings | None = None,
    ) -> None:
        self._benchmark_config = benchmark_config if benchmark_config is not None else {}
        self._shared = shared
        self._totals = totals if totals is not None else UsageTotals()
        self._totals.open(self)
        self._models = models or ModelSettings()
        self._shelf = _ThreadShelf() if totals is None else _Shelf()

    def register(self, category: str, name: str, component: ComponentT) -> ComponentT:
        """Register a component for traces, configuration and usage; returns it."""
        if not isinstance(component, RegisterableComponent):
            raise ConfigurationError(
                f"cannot register {component!r} as '{category}:{name}': it reports nothing; "
                "derive its class from TraceableMixin, ConfigurableMixin or UsageTrackableMixin"
            )
        key, shelf = (category, name), self._shelf
        known = shelf.keys.get(id(component), key)
        if known != key:
            raise DuplicateComponentError(
                f"component {component!r} is already registered as '{':'.join(known)}' and cannot "
                f"be re-registered as '{category}:{name}'; environments, users and agents are "
                "registered automatically, so register only what no setup hook returns"
            )
        # A component that is replaced may be freed, and another one may get its ``id``.
        shelf.keys.pop(id(shelf.components.get(key)), None)
        shelf.components[key] = component
        shelf.keys[id(component)] = key
        self._models.apply_to(component)
        return component

    def include(self, category: str, component: object) -> None:
        """Report by its class's name what gathers traces of its own or a configuration.

        A component that is registered as well keeps the name it is registered under.
        """
        self._shelf.included.append((category, component))

    def components_in(self, *categories: str) -> dict[Key, object]:
        """Return the components of these categories, registered for this repetition alone."""
        # Copied in one step, as whoever watches the run asks from another thread.
        known = tuple(self._shelf.components.items())
        return {key: component for key, component in known if key[0] in categories}

    def _everything(self, gathers: Callable[[object], bool]) -> dict[Key, object]:
        """Return all components; of those that are only included, the ones that gather it."""
        everything = {} if self._shared is None else self._shared._everything(gathers)
        everything |= self._shelf.components
        for category, component in filter(lambda one: gathers(one[1]), self._shelf.included):
            if not any(component is known for known in everything.values()):
                everything[_free_key(category, component, everything)] = component
        return everything

    def clear(self) -> None:
        """Unregister the components; usage totals stay."""
        self._totals.close(self, reopen=True)
        shelf = self._shelf
        shelf.components.clear()
        shelf.keys.clear()
        shelf.included.clear()

    def close(self) -> None:
        """Count no more usage; the components stay registered."""
        self._totals.close(self)

    def collect_traces(self) -> JsonObject:
        """Return the traces of each component, by category and name."""
        everything = self._everything(_gathers_traces).items()
        return _collect(
            "traces",
            {
                key: component
                for key, component in everything
                if isinstance(component, TraceableMixin)
            },
            lambda component, key: {"name": key[1], **component.gather_traces()},
        )

    def collect_configs(self) -> JsonObject:
        """Return the configuration of each component, and of the machine under ``benchmark``."""
        everything = self._everything(_gathers_config).items()
        known: dict[Key, Any] = {
            key: component for key, component in everything if _gathers_config(component)
        }
        configs = _collect(
            "config", known, lambda component, key: {"name": key[1], **component.gather_config()}
        )
        return {**configs, "benchmark": self._benchmark_config}

    def collect_usage(self) -> JsonObject:
        """Return the usage of each component; also added to the totals."""
        components = self._shelf.components.copy()
        tracked = {
            k: component
            for k, component in components.items()
            if isinstance(component, UsageTrackableMixin)
        }
        return _collect(
            "usage", tracked, lambda component, key: self._note(component.gather_usage(), key)
        )

    def _note(self, told: Usage, key: Key) -> JsonObject:
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

    @property
    def total_usage(self) -> Usage:
        return self._totals.total

    @property
    def usage_by_component(self) -> dict[str, Usage]:
        """Usage of all repetitions so far, keyed ``category:name``."""
        return self._totals.by_component

    def update_benchmark_config(self, config: Mapping[str, object]) -> None:
        """Replace the ``benchmark`` entry of ``collect_configs``."""
        self._benchmark_config = config


def _collect(
    what: str,
    components: Mapping[Key, ComponentT],
    ask: Callable[[ComponentT, Key], Mapping[str, object]],
) -> JsonObject:
    collected: JsonObject = {
        "metadata": {
            "timestamp": now(),
            "thread_id": threading.get_ident(),
            "total_components": len(components),
        },
        **{name: {} for name in ("agents", "models", "tools", "simulators", "callbacks")},
        "environment": None,
        "user": None,
        "other": {},
    }
    for (category, name), component in components.items():
        try:
            told = ask(component, (category, name))
        except Exception as error:  # one component's failure must not hide the others
            told = gathering_failure(what, component, error)
        if category in _SINGLE:
            collected[category] = told
        else:
            collected.setdefault(category, {})[name] = told
    return collected


def _free_key(category: str, component: object, taken: Mapping[Key, object]) -> Key:
    kind = type(component).__name__
    names = (kind if number == 1 else f"{kind}_{number}" for number in count(1))
    return next((category, name) for name in names if (category, name) not in taken)


def _gathers_config(component: object) -> bool:
    """Return whether it has a configuration; a callback need not derive from the mixin."""
    # Asking for an instance of a protocol takes longer than gathering most configurations.
    return callable(getattr(component, "gather_config", None))


def _gathers_traces(component: object) -> bool:
    """Return whether a component has traces beyond those that every component has."""
    own = getattr(type(component), "gather_traces", TraceableMixin.gather_traces)
    return isinstance(component, TraceableMixin) and own is not TraceableMixin.gather_traces


def _add(totals: dict[str, Usage], noted: Mapping[str, Usage]) -> None:
    for key, usage in noted.items():
        totals[key] = totals[key] + usage if key in totals else usage
