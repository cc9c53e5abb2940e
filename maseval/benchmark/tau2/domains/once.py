"""A cache for what takes long: a thousand threads that ask at once wait for one answer."""

import threading
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")


def once(maxsize: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """``lru_cache`` without the stampede: the same question is never worked on twice."""

    def remember(function: Callable[P, T]) -> Callable[P, T]:
        cached = cast(Callable[P, T], lru_cache(maxsize)(function))
        lock = threading.Lock()

        @wraps(function)
        def ask(*args: P.args, **kwargs: P.kwargs) -> T:
            with lock:
                return cached(*args, **kwargs)

        return ask

    return remember
