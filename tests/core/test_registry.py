"""ComponentRegistry: who takes part, and what they tell."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from maseval import (
    ChatResponse,
    ComponentRegistry,
    ScriptedModelAdapter,
    StaticPricingCalculator,
    TraceableMixin,
    Usage,
    UsageTrackableMixin,
)
from maseval.core.exceptions import ConfigurationError
from maseval.core.registry import ModelSettings, UsageTotals
from maseval.core.tracing import ConfigurableMixin
from tests.core.worlds import Worker, failing


class Meter(UsageTrackableMixin):
    """A component that reports the given usage."""

    def __init__(self, usage: Usage) -> None:
        self.usage = usage

    def gather_usage(self) -> Usage:
        return self.usage


def test_a_component_is_asked_on_each_axis_it_has():
    registry = ComponentRegistry()
    registry.register("agents", "a", Worker())
    registry.register("tools", "t", TraceableMixin())

    assert set(registry.collect_traces()["agents"]) == {"a"}
    assert set(registry.collect_configs()["agents"]) == {"a"}
    assert set(registry.collect_usage()["agents"]) == {"a"}
    assert set(registry.collect_traces()["tools"]) == {"t"}
    assert registry.collect_configs()["tools"] == {}
    assert registry.collect_traces()["metadata"]["total_components"] == 2
    assert registry.collect_configs()["metadata"]["total_components"] == 1


def test_a_registry_made_by_hand_shows_each_thread_its_own_components():
    registry, seen = ComponentRegistry(), []
    registry.register("agents", "here", Worker())

    def work():
        seen.append(registry.collect_traces()["agents"])
        registry.register("agents", "there", Worker())
        seen.append(set(registry.collect_traces()["agents"]))
        registry.clear()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert seen == [{}, {"there"}]
    assert set(registry.collect_traces()["agents"]) == {"here"}


def test_another_component_under_the_same_name_replaces_the_first_and_each_tells_its_own():
    registry = ComponentRegistry()
    first, second = Worker(name="first"), Worker(name="second")
    registry.register("agents", "a", first)
    registry.register("agents", "a", second)
    registry.register("agents", "b", first)

    told = registry.collect_traces()["agents"]
    assert {key: trace["name"] for key, trace in told.items()} == {"a": "second", "b": "first"}


def test_what_can_tell_nothing_cannot_be_registered():
    with pytest.raises(ConfigurationError, match=r"cannot register 'text' as 'tools:t'.*derive"):
        ComponentRegistry().register("tools", "t", "text")


@pytest.mark.parametrize("axis", ["traces", "config", "usage"])
def test_a_component_that_fails_to_tell_hides_no_other(axis):
    class Broken(TraceableMixin, ConfigurableMixin, UsageTrackableMixin):
        pass

    broken = Broken()
    setattr(broken, f"gather_{axis}", failing(ValueError("lost")))
    registry = ComponentRegistry()
    registry.register("agents", "broken", broken)
    registry.register("agents", "sound", Worker())
    collect = {
        "traces": registry.collect_traces,
        "config": registry.collect_configs,
        "usage": registry.collect_usage,
    }[axis]

    told = collect()["agents"]
    assert told["broken"] == {
        "error": f"Failed to gather {axis}: lost",
        "error_type": "ValueError",
        "component_type": "Broken",
    }
    assert "error" not in told["sound"]


@pytest.mark.parametrize("nonsense", [None, "text", 3])
def test_a_component_that_tells_nonsense_is_a_failure_of_that_component(nonsense):
    class Confused(TraceableMixin, UsageTrackableMixin):
        def gather_traces(self):
            return nonsense

        def gather_usage(self):
            return nonsense

    registry = ComponentRegistry()
    registry.register("tools", "t", Confused())

    assert "Failed to gather traces" in registry.collect_traces()["tools"]["t"]["error"]
    assert "Failed to gather usage" in registry.collect_usage()["tools"]["t"]["error"]


def test_usage_is_labelled_with_where_it_came_from_unless_it_says_so():
    registry = ComponentRegistry()
    registry.register("models", "plain", Meter(Usage(cost=1.0)))
    registry.register("models", "own", Meter(Usage(category="judges", component_name="x")))

    told = registry.collect_usage()["models"]
    assert (told["plain"]["category"], told["plain"]["component_name"]) == ("models", "plain")
    assert (told["own"]["category"], told["own"]["component_name"]) == ("judges", "x")


def test_labelling_does_not_write_to_the_components_own_record():
    usage = Usage(cost=1.0, units={"calls": 1})
    registry = ComponentRegistry()
    registry.register("models", "m", Meter(usage))
    registry.collect_usage()
    usage.cost = 50.0
    usage.units["calls"] = 50

    assert usage.category is None
    assert registry.total_usage.cost == 1.0
    assert registry.total_usage.units == {"calls": 1}


def test_asking_twice_counts_once():
    meter = Meter(Usage(cost=1.0))
    registry = ComponentRegistry()
    registry.register("models", "m", meter)
    registry.collect_usage()
    meter.usage = Usage(cost=1.5)
    registry.collect_usage()

    assert registry.total_usage.cost == 1.5


def test_clearing_forgets_the_components_and_keeps_the_totals():
    registry = ComponentRegistry()
    for _ in range(2):
        registry.register("models", "m", Meter(Usage(cost=1.0)))
        registry.collect_usage()
        registry.clear()

    assert registry.collect_usage()["models"] == {}
    assert registry.total_usage.cost == 2.0


def test_a_closed_registry_still_tells_but_counts_no_more():
    meter = Meter(Usage(cost=1.0))
    registry = ComponentRegistry()
    registry.register("models", "m", meter)
    registry.collect_usage()
    registry.close()
    meter.usage = Usage(cost=9.0)

    assert registry.collect_usage()["models"]["m"]["cost"] == 9.0
    registry.clear()
    registry.close()
    assert registry.total_usage.cost == 1.0


def test_registries_that_share_totals_add_up_from_many_threads():
    totals = UsageTotals()

    def repetition(_):
        registry = ComponentRegistry(totals=totals)
        registry.register("models", "m", Meter(Usage(units={"calls": 1})))
        for _ in range(20):
            registry.collect_usage()
        registry.close()

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(repetition, range(16)))

    assert totals.total.units == {"calls": 16}


def test_a_model_without_prices_is_given_those_of_the_registry_when_it_is_registered():
    prices = StaticPricingCalculator({"m": {"input": 1.0, "output": 0.0}})
    dear = StaticPricingCalculator({"m": {"input": 100.0, "output": 0.0}})
    usage = {"input_tokens": 2, "output_tokens": 1}
    plain, own = (
        ScriptedModelAdapter([ChatResponse(content="x", usage=usage)], model_id="m", **given)
        for given in ({}, {"cost_calculator": dear})
    )
    registry = ComponentRegistry(models=ModelSettings(prices))
    registry.register("models", "plain", plain)
    registry.register("models", "own", own)
    plain.generate("?")
    own.generate("?")

    assert plain.gather_usage().cost == 2.0
    assert own.gather_usage().cost == 200.0
