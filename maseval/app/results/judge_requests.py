"""Requests of a benchmark to a judge about a conversation, and conversations with known answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class JudgeRequest(NamedTuple):
    """The parts that fill a question's template, and what the evidence is compared with."""

    parts: Mapping[str, str]
    subject: object = None


@dataclass(frozen=True)
class LabelledCase:
    """A conversation of which it is known what a judge should answer.

    ``pair`` names the case together with the one that it is compared with, if there is one.
    ``broken`` says whether there is something to be found, and ``finds`` whether an answer, in the
    form of its question, finds it; ``is_exact`` whether an answer that does is right in detail, as
    in the message it names. ``group`` is its domain, ``weight`` what a breach weighs, and ``style``
    the way of speaking.
    """

    id: str
    pair: str
    group: str
    weight: str
    style: str
    broken: bool
    request: Callable[[], JudgeRequest] = field(compare=False)
    finds: Callable[[Mapping[str, Any]], bool] = field(compare=False)
    is_exact: Callable[[Mapping[str, Any]], bool] | None = field(default=None, compare=False)
