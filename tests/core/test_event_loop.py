"""Async work from threads, from a running loop, and with a deadline."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import pytest

from maseval.core.clock import Clock
from maseval.core.event_loop import in_thread, run_async
from maseval.core.exceptions import ConfigurationError, TaskTimeoutError


async def doubled(number: int) -> int:
    await asyncio.sleep(0)
    return number * 2


def test_inside_its_own_loop_it_would_wait_for_itself_and_says_so():
    async def inner():
        return run_async(doubled(4))

    with pytest.raises(ConfigurationError, match=r"asyncio\.to_thread"):
        run_async(inner())

    async def outer():
        return await asyncio.to_thread(lambda: run_async(doubled(4)))

    assert run_async(outer()) == 8


def test_many_threads_share_one_loop():
    async def home():
        return id(asyncio.get_running_loop())

    with ThreadPoolExecutor(8) as threads:
        homes = list(threads.map(lambda _: run_async(home()), range(40)))

    assert len(set(homes)) == 1


def test_work_past_the_deadline_is_given_up_and_cancelled():
    cancelled = threading.Event()

    async def hang():
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    with Clock(deadline=0.05).active(), pytest.raises(TaskTimeoutError):
        run_async(hang())

    assert cancelled.wait(60)


def test_a_time_out_of_the_work_itself_is_its_own():
    async def impatient():
        raise TimeoutError("too slow for me")

    with Clock(deadline=60).active(), pytest.raises(TimeoutError, match="too slow for me"):
        run_async(impatient())


def test_work_that_is_not_async_holds_up_nobody():
    met = threading.Barrier(3, timeout=60)

    async def all_at_once():
        await asyncio.gather(*[in_thread(met.wait) for _ in range(3)])
        return "met"

    assert run_async(all_at_once()) == "met"


def test_work_in_a_thread_sees_the_context_and_raises_its_errors():
    place = ContextVar("place")
    place.set("here")

    async def work():
        assert await in_thread(place.get) == "here"
        await in_thread(lambda: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        run_async(work())
