"""Methods of a benchmark that a subclass writes in its own way."""

from collections.abc import Callable
from typing import TypeVar

ResultT = TypeVar("ResultT")


def hook(method: Callable[..., ResultT]) -> Callable[..., ResultT]:
    """Mark a method that a subclass may write with other types of arguments, or with fewer.

    A setup hook may leave out ``seed_generator``, or name its own types of seeds, environment and
    user; the engine copes with each. So that a type checker does too, the method is returned as it
    is, but as one that takes anything.
    """
    return method
