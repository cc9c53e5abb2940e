"""How many requests a provider gets at once."""

import math
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from maseval.core.call_policy import Slot, Throttle
from maseval.core.clock import Clock
from maseval.core.exceptions import TaskTimeoutError
from maseval.core.provider_errors import (
    AuthenticationError,
    OverloadedError,
    ProviderError,
    ProviderTimeoutError,
    RateLimitError,
)


def complaint(kind: type[Any] = RateLimitError) -> ProviderError:
    return kind("too much", provider="acme")


def entered(throttle: Throttle, count: int) -> list[Slot]:
    return [throttle.enter(Clock()) for _ in range(count)]


def narrowed(under_way: int) -> Throttle:
    """A throttle whose provider complained when that many requests were under way."""
    throttle = Throttle()
    slots = entered(throttle, under_way)
    throttle.leave(slots.pop(), complaint())
    for slot in slots:
        throttle.leave(slot)
    return throttle


def in_thread(work: Callable[..., Any]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def until(condition: Callable[..., Any]) -> None:
    """Wait for another thread; as with ``join``, pytest's own limit ends a wait in vain."""
    while not condition():
        threading.Event().wait(0.001)


@pytest.mark.parametrize("kind", [None, AuthenticationError, ProviderTimeoutError])
def test_nothing_is_held_back_until_the_provider_complains_of_too_much(kind):
    throttle = Throttle()

    for slot in entered(throttle, 1000):
        throttle.leave(slot, kind and complaint(kind))

    assert throttle.limit == math.inf


@pytest.mark.parametrize("count", [1, 16])
@pytest.mark.parametrize("kind", [RateLimitError, OverloadedError])
def test_the_complaints_about_one_burst_halve_once_what_was_under_way(kind, count):
    throttle = Throttle()

    for slot in entered(throttle, 16)[:count]:
        throttle.leave(slot, complaint(kind))

    assert throttle.limit == 8


def test_each_later_complaint_halves_again_but_one_request_is_always_let_through():
    throttle = narrowed(16)

    limits = []
    for _ in range(4):
        slots = entered(throttle, int(throttle.limit))
        for slot in slots:
            throttle.leave(slot, complaint())
        limits.append(throttle.limit)

    assert limits == [4, 2, 1, 1]


def test_answers_win_back_one_slot_a_round():
    throttle = narrowed(8)
    slots, limits = entered(throttle, 4), [throttle.limit]

    for _ in range(40):
        throttle.leave(slots.pop(0))
        slots += entered(throttle, 1 if throttle.limit == limits[-1] else 2)
        limits.append(throttle.limit)

    assert sorted(set(limits)) == [4, 5, 6, 7, 8, 9]
    assert limits == sorted(limits)
    assert limits.count(5) == 5


def test_answers_win_nothing_while_slots_stay_free():
    throttle = narrowed(16)

    for _ in range(1000):
        throttle.leave(entered(throttle, 1)[0])

    assert throttle.limit == 8


def test_who_waits_is_let_in_in_the_order_of_coming():
    throttle = narrowed(2)
    (first,) = entered(throttle, 1)
    order = []

    def work(number):
        slot = throttle.enter(Clock())
        order.append(number)
        throttle.leave(slot, complaint(ProviderTimeoutError))

    threads = []
    for number in range(5):
        threads.append(in_thread(lambda number=number: work(number)))
        until(lambda number=number: len(throttle._queue) == number + 1)
    throttle.leave(first, complaint(ProviderTimeoutError))
    for thread in threads:
        thread.join()

    assert order == [0, 1, 2, 3, 4]


def test_nobody_waits_for_a_slot_past_a_deadline():
    throttle = narrowed(2)
    (slot,) = entered(throttle, 1)

    with pytest.raises(TaskTimeoutError):
        throttle.enter(Clock(deadline=0.05))
    throttle.leave(slot)

    assert throttle.enter(Clock())


def test_the_slot_of_a_repetition_that_hangs_is_given_to_others():
    throttle, hanging = narrowed(2), Clock()
    lost = throttle.enter(hanging)
    entering = in_thread(lambda: throttle.enter(Clock()))

    hanging.abandoned = True
    entering.join()
    throttle.leave(lost)

    assert throttle.under_way == 1


def test_never_more_than_the_limit_are_under_way_and_all_get_through():
    throttle, lock = narrowed(8), threading.Lock()
    done = now = 0
    excess = []

    def work():
        nonlocal done, now
        for _ in range(50):
            slot = throttle.enter(Clock())
            with lock:
                now += 1
                if now > throttle.limit:
                    excess.append((now, throttle.limit))
            time.sleep(0)  # lets another thread run
            with lock:
                now -= 1
                done += 1
            throttle.leave(slot)

    threads = [in_thread(work) for _ in range(20)]
    for thread in threads:
        thread.join()

    assert (done, now, excess) == (1000, 0, [])
