"""One event loop for all async code, on which any thread can run work and wait for it.

A client of an async library belongs to the loop in which it was first used. Simulations run in many
threads and share clients, so all async work runs in one loop, in a thread of its own.
"""

import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import copy_context
from functools import cache
from types import GeneratorType
from typing import Any, TypeAlias, TypeVar

from maseval.core.clock import Clock
from maseval.core.exceptions import ConfigurationError

# asyncio is imported where it is used, to keep `import maseval` quick: most runs need none of it.
Loop: TypeAlias = Any

T = TypeVar("T")


def settle(value: Any) -> Any:
    """Return the result of a hook; if that is awaitable, wait for it first."""
    # Most are not, and to ask for a kind of class takes longer than to look for its method.
    if not hasattr(type(value), "__await__") and not isinstance(value, GeneratorType):
        return value
    return run_async(_wait_for(value)) if inspect.isawaitable(value) else value


async def _wait_for(value: Awaitable[object]) -> object:
    return await value


def run_async(work: Coroutine[object, None, T]) -> T:
    """Run async work from sync code and return its result, even if a loop runs in this thread.

    The work is cancelled if the deadline of the repetition passes, or if waiting is interrupted.
    """
    import asyncio
    from concurrent.futures import CancelledError

    clock, loop = Clock.here(), _loop()
    # The loop's own thread would wait for work that only it can do.
    if threading.current_thread().name == _THREAD:
        work.close()
        raise ConfigurationError(
            "async code cannot wait for an agent in the event loop that the agent needs; run it in "
            "a thread: await asyncio.to_thread(agent.run, query)"
        )
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return future.result(None if clock is None else clock.remaining)
    except (TimeoutError, CancelledError):
        if clock is not None:
            clock.check_timeout()
        raise
    finally:
        # Nobody waits for it any more after a time-out or Ctrl-C; one that is done stays as it is.
        future.cancel()


async def in_thread(work: Callable[[], T]) -> T:
    """Run sync work, such as a tool, and return its result without blocking the loop.

    Each call gets a thread of its own: it may wait for another agent, whose tools need threads
    too, so a pool could fill up with waiting threads.
    """
    import asyncio
    from concurrent.futures import Future

    done: Future[T] = Future()
    done.set_running_or_notify_cancel()  # it must be possible to set its result after nobody waits
    context = copy_context()

    def run() -> None:
        try:
            done.set_result(context.run(work))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, daemon=True, name="maseval-tool").start()
    return await asyncio.wrap_future(done)


_THREAD = "maseval-agents"
_starting = threading.Lock()


def _loop() -> Loop:
    # ``cache`` alone would let two threads that come first start a loop each.
    with _starting:
        return _started_loop()


@cache
def _started_loop() -> Loop:
    import asyncio

    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name=_THREAD).start()
    return loop
