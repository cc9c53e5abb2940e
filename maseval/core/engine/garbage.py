"""How often Python looks for garbage while a run goes on.

By default it does so after every 700 new objects, and now and then walks over everything that is
alive. With a thousand simulations in flight that took a third of all our work, and found nothing:
what a repetition leaves behind is freed by counting references.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SELDOM = (200_000, 20, 50)
_lock = threading.Lock()
_runs = 0
_before = (0, 0, 0)


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Have garbage looked for less often; as before when the last of several runs is over.

    A process that never collects, or even more seldom, stays with that.
    """
    global _runs, _before
    with _lock:
        if _runs == 0:
            _before = gc.get_threshold()
            if _before[0]:
                gc.set_threshold(*map(max, zip(_before, _SELDOM, strict=True)))
        _runs += 1
    try:
        yield
    finally:
        with _lock:
            _runs -= 1
            if _runs == 0:
                gc.set_threshold(*_before)
