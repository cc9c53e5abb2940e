"""What takes long is worked out once, however many threads ask for it."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from maseval.benchmark.tau2.world.state.copying import once


def test_threads_that_ask_at_the_same_time_get_one_answer():
    worked_on, everybody = [], threading.Barrier(8)

    @once(maxsize=4)
    def square(number):
        worked_on.append(number)
        threading.Event().wait(0.05)
        return number * number

    def ask(number):
        everybody.wait()
        return square(number)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, [3, 4] * 4)) == [9, 16] * 4
    assert sorted(worked_on) == [3, 4]


def test_a_failure_is_not_remembered():
    attempts = []

    @once(maxsize=4)
    def fail():
        attempts.append(1)
        raise OSError("not yet")

    for _ in range(2):
        with pytest.raises(OSError, match="not yet"):
            fail()
    assert len(attempts) == 2
