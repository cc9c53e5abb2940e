"""A function applied to many values by tasks of Ray, with the results in order.

Ray itself repeats a task whose process or machine dies. If a batch loses its process every time,
its values are tried one by one, so that the one to blame can be named.
"""

import logging
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any, NamedTuple

from maseval.core.engine.engines import MappedBatch
from maseval.core.exceptions import WorkerDiedError
from maseval.interface.ray.code import Source, install, own_modules
from maseval.interface.ray.connection import RayConnectionError, load_ray
from maseval.interface.ray.facts import Facts, check_code
from maseval.interface.ray.parcel import packed, packed_for_worker, unpacked

logger = logging.getLogger(__name__)

Function = Callable[[Sequence[Any]], Any]

# How often Ray repeats a task whose process died.
_REPEATED = 2
_WAY = "give values that consist of plain data"


class _Reply(NamedTuple):
    """What comes back from a task; without a result, the function raised an exception."""

    place: str
    facts: Facts
    result: bytes | None
    problem: str


def _applied(code: tuple[dict[str, Source], list[str]], work: bytes) -> _Reply:
    install(*code)
    ray = load_ray()
    result, problem = None, ""
    try:
        function, values = unpacked(work)
        result = packed(function(values))
    except Exception as error:  # for the driver to decide
        problem = f"{type(error).__name__}: {error}"
    return _Reply(ray.util.get_node_ip_address(), Facts.here(), result, problem)


class RayMap:
    """Applies one function to batches of values, ``at_once`` of them at a time."""

    def __init__(self, ray: ModuleType, function: Function, at_once: int) -> None:
        self._ray = ray
        self._function = function
        self._at_once = at_once
        self._code = ray.put((own_modules(), list(sys.path)))
        self._task = ray.remote(num_cpus=1, max_retries=_REPEATED, scheduling_strategy="SPREAD")(
            _applied
        )
        self._under_way: deque[tuple[Sequence[Any], Any]] = deque()

    def over(self, batches: Iterable[Sequence[Any]]) -> Iterator[MappedBatch[Any, Any]]:
        """The results, in the order of the batches."""
        try:
            for batch in batches:
                self._under_way.append((batch, self._started(batch)))
                if len(self._under_way) >= self._at_once:
                    yield from self._next()
            while self._under_way:
                yield from self._next()
        finally:
            for _, reply in self._under_way:
                with suppress(Exception):  # the connection may be what is gone
                    self._ray.cancel(reply, force=True)

    def _started(self, batch: Sequence[Any]) -> Any:
        work = packed_for_worker("what is to be done", (self._function, batch), _WAY)
        return self._task.remote(self._code, work)

    def _next(self) -> Iterator[MappedBatch[Any, Any]]:
        batch, reply = self._under_way[0]
        try:
            yield self._received(batch, reply)
        except WorkerDiedError:
            if len(batch) == 1:
                raise
            for value in batch:
                yield self._received([value], self._started([value]))
        self._under_way.popleft()

    def _received(self, batch: Sequence[Any], reply: Any) -> MappedBatch[Any, Any]:
        errors = self._ray.exceptions
        try:
            told: _Reply = self._ray.get(reply)
        except (errors.WorkerCrashedError, errors.NodeDiedError, errors.OutOfMemoryError) as error:
            raise WorkerDiedError(
                f"the process that worked on {batch[0]!s} died {_REPEATED + 1} times; look for "
                "what ends it there: too little memory, or a library that crashes"
            ) from error
        except errors.RayError as error:
            raise RayConnectionError(
                f"the connection to Ray was lost ({type(error).__name__}); is the cluster up?"
            ) from error
        check_code(told.place, told.facts, Facts.here())
        if told.result is None:
            logger.info("on %s: %s", told.place, told.problem)
        result = None if told.result is None else unpacked(told.result)
        return MappedBatch(batch, result, told.place)
