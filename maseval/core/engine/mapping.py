"""Engines that also apply a function to many values, for work that is no run of a benchmark."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

ValueT = TypeVar("ValueT")
ResultT = TypeVar("ResultT")


class MappedBatch(NamedTuple, Generic[ValueT, ResultT]):
    """Some values, and what the function made of them; None if it raised an exception."""

    values: Sequence[ValueT]
    result: ResultT | None
    place: str
    """The machine on which it was applied."""


@runtime_checkable
class MappingEngine(Protocol):
    """An engine that can apply a function elsewhere than in this process."""

    def mapped(
        self, function: Callable[[Sequence[Any]], ResultT], batches: Iterable[Sequence[Any]]
    ) -> Iterator[MappedBatch[Any, ResultT]]:
        """The results in the order of ``batches``, of which only a few are in memory at once."""
