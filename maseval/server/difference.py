"""Where two requests differ: the explanation of why no exchange was found."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from maseval.server.matching import Canonical

# Clients cut long errors short, and the way out comes last.
_LONGEST_VALUE = 60
_BEFORE = 20
_LAST = ("tools", "messages")


class _Nothing:
    def __repr__(self) -> str:
        return "nothing"


_NOTHING = _Nothing()


@dataclass(frozen=True)
class RequestDifference:
    """The first place where a recorded request and the one that was made differ."""

    path: str
    recorded: object
    asked: object

    def __str__(self) -> str:
        start = _parting(self.recorded, self.asked)
        place = f"{self.path}, character {start + 1}" if start > _BEFORE else self.path
        recorded, asked = _shown(self.recorded, start), _shown(self.asked, start)
        return f"{place}: recorded {recorded}, asked {asked}"


def first_difference(recorded: Canonical, asked: Canonical) -> RequestDifference | None:
    """The first of them: in the model and the parameters, then in the tools and the messages."""
    keys = sorted({*recorded, *asked}, key=_rank)
    for key in keys:
        found = next(_differences(key, recorded.get(key, _NOTHING), asked.get(key, _NOTHING)), None)
        if found is not None:
            return found
    return None


def _rank(key: str) -> tuple[int, str]:
    if key == "model":
        return -1, key
    return (_LAST.index(key) + 1 if key in _LAST else 0), key


def _differences(path: str, recorded: object, asked: object) -> Iterator[RequestDifference]:
    if recorded == asked:
        return
    if isinstance(recorded, dict) and isinstance(asked, dict):
        for key in dict.fromkeys([*recorded, *asked]):
            inner = f"{path}.{key}"
            yield from _differences(inner, recorded.get(key, _NOTHING), asked.get(key, _NOTHING))
    elif isinstance(recorded, list) and isinstance(asked, list):
        for place, pair in enumerate(zip_longest(recorded, asked, fillvalue=_NOTHING)):
            yield from _differences(f"{path}[{place}]", *pair)
    else:
        yield RequestDifference(path, recorded, asked)


def _parting(recorded: object, asked: object) -> int:
    """How many characters two texts have in common; nothing else has any."""
    if not (isinstance(recorded, str) and isinstance(asked, str)):
        return 0
    pairs = zip(recorded, asked, strict=False)
    shorter = min(len(recorded), len(asked))
    return next((place for place, (one, other) in enumerate(pairs) if one != other), shorter)


def _shown(value: object, start: int) -> str:
    if isinstance(value, _Nothing):
        return repr(value)
    if not isinstance(value, str):
        value, start = json.dumps(value, ensure_ascii=False), 0
        return value if len(value) <= _LONGEST_VALUE else f"{value[:_LONGEST_VALUE]}…"
    first = max(0, start - _BEFORE)
    end = first + _LONGEST_VALUE
    return repr(f"{'…' * (first > 0)}{value[first:end]}{'…' * (end < len(value))}")
