from typing import Any

import pytest

from maseval.core.agent import AgentAdapter
from maseval.core.usage import StaticPricingCalculator, TokenUsage, Usage


class Parrot:
    """A framework's own agent."""


class ParrotAdapter(AgentAdapter):
    def _run_agent(self, query: str) -> Any:
        self.messages = self.get_messages()
        self.messages.add_message("user", query)
        self.messages.add_message("assistant", query.upper())
        return query.upper()


class Counting(AgentAdapter):
    counted = TokenUsage(input_tokens=3, output_tokens=2)

    def _run_agent(self, query: str) -> Any:
        return query

    def _gather_usage(self) -> Usage:
        return self.counted


class Failing(AgentAdapter):
    def _run_agent(self, query: str) -> Any:
        raise ConnectionError("line down, api https://host?key=hush")


class Recorder:
    def __init__(self) -> None:
        self.events = []

    def on_run_start(self, agent: AgentAdapter) -> None:
        self.events.append(("start", agent.name))

    def on_run_end(self, agent: ParrotAdapter, result: str) -> None:
        self.events.append(("end", agent.name, result))


def test_a_run_returns_the_answer_and_tells_the_callbacks():
    recorder = Recorder()
    adapter = ParrotAdapter(Parrot(), "polly", callbacks=[recorder])

    assert adapter.run("hi") == "HI"
    assert recorder.events == [("start", "polly"), ("end", "polly", "HI")]


def test_an_agent_that_raises_is_logged_with_its_time_and_ends_no_run():
    recorder = Recorder()
    adapter = Failing(Parrot(), "polly", callbacks=[recorder])

    with pytest.raises(ConnectionError):
        adapter.run("hi")

    (entry,) = adapter.logs
    assert (entry["status"], entry["error_type"]) == ("error", "ConnectionError")
    assert entry["duration_seconds"] >= 0 and "hush" not in entry["error"]
    assert recorder.events == [("start", "polly")]


def test_a_callback_that_fails_is_heard():
    class Broken(Recorder):
        def on_run_end(self, agent, result):
            raise KeyError("broken")

    with pytest.raises(KeyError):
        ParrotAdapter(Parrot(), "polly", callbacks=[Broken()]).run("hi")


PRICES = StaticPricingCalculator({"m": {"input": 1.0, "output": 10.0}})


@pytest.mark.parametrize(
    ("prices", "model_id", "cost"),
    [(PRICES, "m", 23.0), (PRICES, "unknown", 0.0), (PRICES, None, 0.0), (None, "m", 0.0)],
)
def test_counted_tokens_are_priced_if_price_and_model_are_known(prices, model_id, cost):
    adapter = Counting(Parrot(), "polly", cost_calculator=prices, model_id=model_id)

    assert adapter.gather_usage().cost == cost
    assert Counting.counted.cost == 0.0


def test_a_framework_may_know_its_model_and_its_cost():
    class Detecting(Counting):
        counted = TokenUsage(cost=0.5, input_tokens=3)

        def _resolve_model_id(self):
            return "m"

    adapter = Detecting(Parrot(), "polly", cost_calculator=PRICES)
    assert adapter.gather_usage().cost == 0.5

    adapter.counted = TokenUsage(input_tokens=3)
    assert adapter.gather_usage().cost == 3.0
