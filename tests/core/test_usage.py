import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.core.exceptions import ConfigurationError
from maseval.core.usage import (
    TOKEN_FIELDS,
    StaticPricingCalculator,
    TokenUsage,
    Usage,
    UsageEntry,
    UsageReporter,
)

# Whole numbers, so that the order of float additions does not matter.
amounts = st.integers(0, 10**9)
labels = st.none() | st.sampled_from(["a", "b"])
shared = {
    "cost": amounts.map(float),
    "units": st.dictionaries(st.sampled_from(["pages", "seconds"]), amounts),
    "provider": labels,
    "category": labels,
    "component_name": labels,
    "kind": labels,
}
records = st.builds(Usage, **shared) | st.builds(
    TokenUsage, **shared, **dict.fromkeys(TOKEN_FIELDS, amounts)
)


@given(records, records, records)
def test_addition_depends_on_neither_grouping_nor_order(a, b, c):
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a


@given(records, records)
def test_addition_leaves_its_operands_alone(a, b):
    before = (a.to_dict(), b.to_dict())
    (a + b).units["pages"] = -1
    assert (a.to_dict(), b.to_dict()) == before


@given(st.lists(records, min_size=1))
def test_a_sum_adds_every_number(usages):
    total = sum(usages)
    assert total.cost == sum(usage.cost for usage in usages)
    for unit in ("pages", "seconds"):
        assert total.units.get(unit, 0) == sum(usage.units.get(unit, 0) for usage in usages)
    assert isinstance(total, TokenUsage) == any(isinstance(u, TokenUsage) for u in usages)
    for name in TOKEN_FIELDS:
        assert getattr(total, name, 0) == sum(getattr(usage, name, 0) for usage in usages)


@given(records)
def test_a_record_survives_being_written_as_json(usage):
    back = Usage.from_dict(json.loads(json.dumps(usage.to_dict())))
    assert back == usage
    assert type(back) is type(usage)


def test_the_usage_of_a_chat_response_counts_what_it_mentions():
    usage = TokenUsage.from_chat_response_usage(
        {"input_tokens": 7, "output_tokens": 2, "reasoning_tokens": None, "cost": 9},
        cost=0.5,
        provider="p",
        category="models",
        component_name="m",
    )
    assert usage == TokenUsage(
        cost=0.5,
        provider="p",
        category="models",
        component_name="m",
        kind="llm",
        input_tokens=7,
        output_tokens=2,
    )


PRICES = {
    "plain": {"input": 2.0, "output": 10.0},
    "caching": {"input": 2.0, "output": 10.0, "cached_input": 0.5, "cache_creation_input": 3.0},
}
TOKENS = TokenUsage(
    input_tokens=100, output_tokens=10, cached_input_tokens=30, cache_creation_input_tokens=20
)


@pytest.mark.parametrize(
    ("model", "usage", "cost"),
    [
        ("plain", TOKENS, 100 * 2 + 10 * 10),
        ("caching", TOKENS, 50 * 2 + 30 * 0.5 + 20 * 3 + 10 * 10),
        ("caching", replace(TOKENS, input_tokens=10), 30 * 0.5 + 20 * 3 + 10 * 10),
        ("plain", TokenUsage(), 0),
        ("unheard of", TOKENS, None),
    ],
)
def test_tokens_are_priced_from_the_table(model, usage, cost):
    assert StaticPricingCalculator(PRICES).calculate_cost(usage, model) == cost


@pytest.mark.parametrize("rates", [{"input": 1.0}, {"input": 1.0, "output": 1.0, "cashed": 0.1}])
def test_rates_that_would_be_misread_are_refused(rates):
    with pytest.raises(ConfigurationError, match=r"'m'.*'cached_input'"):
        StaticPricingCalculator({"m": rates})


def report(task_id: str, usage: dict[str, Any] | None) -> dict[str, Any]:
    return {"task_id": task_id, "usage": usage}


def collected(**categories: Any) -> dict[str, Any]:
    """A report's usage as a registry writes it, with what is not a record around the records."""
    metadata = {"timestamp": "2025-01-01T00:00:00", "thread_id": 7, "total_components": 2}
    return {"metadata": metadata, "models": {}, "user": None, **categories}


def test_reports_are_summed_by_task_and_by_component():
    agent = TokenUsage(cost=1.0, input_tokens=10, kind="llm")
    judge = TokenUsage(cost=0.25, input_tokens=3, kind="llm")
    world = Usage(cost=2.0, units={"pages": 4})
    reporter = UsageReporter.from_reports(
        [
            report("t1", collected(models={"a": agent.to_dict(), "j": judge.to_dict()})),
            report("t1", collected(models={"a": agent.to_dict()}, environment=world.to_dict())),
            report("t2", collected(models={"a": agent.to_dict()})),
        ]
    )

    assert reporter.by_task() == {"t1": agent + judge + agent + world, "t2": agent}
    assert reporter.by_component() == {
        "models:a": agent + agent + agent,
        "models:j": judge,
        "environment": world,
    }
    assert reporter.total() == sum([agent, judge, agent, world, agent])
    assert reporter.summary() == {
        "total": reporter.total().to_dict(),
        "by_task": {key: usage.to_dict() for key, usage in reporter.by_task().items()},
        "by_component": {key: usage.to_dict() for key, usage in reporter.by_component().items()},
    }


def test_what_could_not_be_collected_is_left_out():
    broken = {"error": "Failed to gather usage: x", "error_type": "ValueError"}
    reporter = UsageReporter.from_reports(
        [
            {"task_id": "t1"},
            report("t2", None),
            report("t3", {}),
            report("t4", broken),
            report("t5", collected(environment=broken, models={"a": broken, "b": {"cost": 1.0}})),
        ]
    )
    assert reporter.entries == [UsageEntry("t5", "models:b", Usage(cost=1.0))]
