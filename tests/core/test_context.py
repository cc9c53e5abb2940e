"""TaskContext: the clock of a repetition, and which repetition some code runs in."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from maseval import TaskContext, TaskTimeoutError
from maseval.core.exceptions import NoRepetitionError


def test_without_a_deadline_there_is_no_end():
    context = TaskContext()

    assert context.deadline is None
    assert context.remaining is None
    assert not context.is_expired
    context.check_timeout()


def test_the_clock_runs_from_the_beginning():
    context = TaskContext(deadline=100.0)
    first = context.elapsed

    assert 0 <= first <= context.elapsed
    assert 0 < context.remaining <= 100.0


def test_after_the_deadline_the_check_raises_with_what_was_left_behind():
    context = TaskContext(deadline=0.0)
    context.set_collected_traces({"step": 3})

    assert context.is_expired
    assert context.remaining == 0.0
    with pytest.raises(
        TaskTimeoutError, match=r"Task exceeded 0\.0s deadline after \d+\.\d\ds"
    ) as caught:
        context.check_timeout()
    assert caught.value.component == "timeout_check"
    assert caught.value.timeout == 0.0
    assert caught.value.elapsed >= 0.0
    assert caught.value.partial_traces == {"step": 3}


def test_the_check_of_an_abandoned_repetition_raises_too():
    context = TaskContext(deadline=100.0)
    context.abandoned = True

    with pytest.raises(TaskTimeoutError):
        context.check_timeout()


def test_a_deadline_expires_when_its_time_has_passed(ticks):
    context = TaskContext(deadline=10.0)
    ticks.advance(9.0)
    assert (context.elapsed, context.remaining, context.is_expired) == (9.0, 1.0, False)

    ticks.advance(1.0)
    assert (context.elapsed, context.remaining, context.is_expired) == (10.0, 0.0, True)
    with pytest.raises(TaskTimeoutError, match=r"10\.0s deadline after 10\.00s"):
        context.check_timeout()


def test_outside_any_repetition_there_is_no_context_and_the_error_tells_the_way_out():
    with pytest.raises(NoRepetitionError, match=r"TaskContext\.bind\(function\)"):
        TaskContext.current()
    with pytest.raises(NoRepetitionError):
        TaskContext.bind(print)


def test_the_active_context_is_current_until_it_is_left():
    outer, inner = TaskContext(), TaskContext()
    with outer.active():
        with inner.active():
            assert TaskContext.current() is inner
        assert TaskContext.current() is outer
    with pytest.raises(NoRepetitionError):
        TaskContext.current()


def test_async_code_finds_its_repetition_by_itself():
    async def look():
        here = TaskContext.current()
        there = await asyncio.to_thread(TaskContext.current)
        child = await asyncio.create_task(asyncio.sleep(0, TaskContext.current()))
        return {here, there, child}

    context = TaskContext()
    with context.active():
        assert asyncio.run(look()) == {context}


def test_a_coroutine_sent_to_another_threads_loop_finds_its_repetition():
    async def look():
        return TaskContext.current()

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    context = TaskContext()
    try:
        with context.active():
            found = asyncio.run_coroutine_threadsafe(look(), loop).result(timeout=60)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    assert found is context


def test_a_bare_thread_knows_no_repetition_but_a_bound_function_does():
    context = TaskContext()
    with ThreadPoolExecutor(1) as pool, context.active():
        bound = TaskContext.bind(TaskContext.current)
        with pytest.raises(NoRepetitionError):
            pool.submit(TaskContext.current).result()
        assert pool.submit(bound).result() is context
        with pytest.raises(NoRepetitionError):
            pool.submit(TaskContext.current).result()


def test_a_bound_function_passes_arguments_results_and_its_name():
    def add(a: int, *, b: int) -> int:
        return a + b

    with TaskContext().active():
        bound = TaskContext.bind(add)

    assert bound(1, b=2) == 3
    assert bound.__name__ == "add"
