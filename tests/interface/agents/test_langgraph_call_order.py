import threading

import pytest

from maseval.interface.agents import langgraph_callbacks
from maseval.interface.agents.langgraph_callbacks import CallOrder


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However late a thread is started, the order is not given up."""
    monkeypatch.setattr(langgraph_callbacks, "UNTIL_STARTED", 3600)
    monkeypatch.setattr(langgraph_callbacks, "UNTIL_FINISHED", 3600)


class PassingTime:
    """Time that passes only while somebody sleeps."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def passing_time(monkeypatch: pytest.MonkeyPatch) -> PassingTime:
    time = PassingTime()
    monkeypatch.setattr(langgraph_callbacks, "time", time)
    return time


def make_in_threads(order: CallOrder, call_ids: list[str | None]) -> list[str | None]:
    made = []

    def call(call_id):
        order.wait(call_id)
        made.append(call_id)
        order.finish(call_id)

    threads = []
    for call_id in call_ids:
        threads.append(threading.Thread(target=call, args=[call_id], daemon=True))
        threads[-1].start()
    for thread in threads:
        thread.join(60)
    return made


def test_calls_that_come_in_any_order_are_made_in_the_announced_one(patient):
    order = CallOrder()
    order.announce(["a", "b", "c", "d"])

    assert make_in_threads(order, ["d", "b", "a", "c"]) == ["a", "b", "c", "d"]


def test_an_id_that_is_used_again_counts_for_the_newer_answer(patient):
    order = CallOrder()
    order.announce(["a", "b"])
    make_in_threads(order, ["a", "b"])
    order.announce(["b", "a"])

    assert make_in_threads(order, ["a", "b"]) == ["b", "a"]


def test_a_call_that_never_comes_holds_up_the_others_for_a_moment_only(passing_time):
    order = CallOrder()
    order.announce(["unknown", "b", "c"])

    order.wait("b")
    order.finish("b")
    order.wait("c")

    assert passing_time.now == pytest.approx(langgraph_callbacks.UNTIL_STARTED, rel=0.01)


def test_a_call_that_never_ends_holds_up_the_others_for_a_while_only(passing_time):
    order = CallOrder()
    order.announce(["a", "b"])
    order.wait("a")

    order.wait("b")

    assert passing_time.now == pytest.approx(langgraph_callbacks.UNTIL_FINISHED, rel=0.01)


@pytest.mark.parametrize("ids", [["", ""], [None, None], ["a", "a"], ["a", "b", "a"], []])
def test_ids_that_are_not_distinct_order_nothing_and_hold_nobody_up(patient, ids):
    order = CallOrder()
    order.announce(ids)

    assert sorted(make_in_threads(order, ids), key=str) == sorted(ids, key=str)
