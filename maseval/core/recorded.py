"""Records from outside, each parsed where it enters into the type of its form.

A record is JSON that somebody wrote: an earlier version, a fork, another program. It may lack any
part, or hold something else where a part should be. A type lists the parts of its form::

    class RecordedError(Recorded):
        type = Part(text_or_none, "error_type")

Each is read when it is first asked for, as a run may have thousands of records of which one part
is wanted; whatever is not of the form reads as nothing.
"""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from maseval.core.words import text_or_none

ValueT = TypeVar("ValueT")
Shape = Mapping[str, object]

# A dict is recognised at once, anything else that is a mapping in ten times as long.
MAPPINGS = (dict, Mapping)
# A tuple of types is looked through faster than their union.
NUMBERS = (int, float)
_LISTS = (list, tuple)


class Recorded:
    """A record of one form; ``raw`` is what was written. It is false if that is nothing."""

    def __init__(self, value: object) -> None:
        given = value.raw if isinstance(value, Recorded) else value
        self.raw: Shape = given if isinstance(given, MAPPINGS) else {}

    def __bool__(self) -> bool:
        return bool(self.raw)


class Part(Generic[ValueT]):
    """The part of a record at ``path`` (by default at its own name), as ``read`` returns it."""

    def __init__(self, read: Callable[[object], ValueT], *path: str) -> None:
        self._read, self._path = read, path

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name
        self._first, *self._rest = self._path or (name,)

    def __get__(self, record: Recorded, owner: type) -> ValueT:
        if record is None:  # asked of the class, as documentation does
            return self
        value = record.raw.get(self._first)
        for key in self._rest:
            value = value.get(key) if isinstance(value, MAPPINGS) else None
        found = record.__dict__[self._name] = self._read(value)
        return found


def list_of(read: Callable[[object], ValueT]) -> Callable[[object], list[ValueT]]:
    """Return a function that reads each entry of a list."""
    return lambda value: [read(each) for each in value] if isinstance(value, _LISTS) else []


def dict_of(read: Callable[[object], ValueT]) -> Callable[[object], dict[str, ValueT]]:
    """Return a function that reads each value of an object, by its name."""
    return lambda value: {str(name): read(each) for name, each in mapping(value).items()}


def mapping(value: object, *path: str) -> Shape:
    """Return the mapping at ``path`` inside ``value``; an empty one where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, MAPPINGS) else None
    # Most of what is no mapping is nothing, which is told at once.
    return value if value is not None and isinstance(value, MAPPINGS) else {}


def entries(value: object) -> list[object]:
    return list(value) if isinstance(value, _LISTS) else []


def number(value: object) -> float | None:
    return value if isinstance(value, NUMBERS) and not isinstance(value, bool) else None


def amount(value: object) -> float | None:
    """``value`` as a number that can be added up, which NaN and Infinity of a file are not."""
    found = number(value)
    return found if found is not None and abs(found) < 1e300 else None


def whole_number(value: object) -> int | None:
    """``value`` as an integer if it is a whole number, however large."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def anything(value: object) -> object:
    return value


class RecordedCall(Recorded):
    """A tool call in OpenAI's form or in that of tau2; ``function`` has its ``arguments``."""

    id = Part(anything)
    requestor = Part(text_or_none)

    def __init__(self, value: object) -> None:
        super().__init__(value)
        self.function = mapping(self.raw, "function") or self.raw
        self.name = text_or_none(self.function.get("name"))


class RecordedMessage(Recorded):
    """A message of a conversation, or a tool's answer to a call in one."""

    role = Part(text_or_none)
    name = Part(text_or_none)
    content = Part(anything)
    calls = Part(list_of(RecordedCall), "tool_calls")
    requestor = Part(text_or_none)
    error = Part(anything)
    timestamp = Part(anything)
    agent = Part(text_or_none)
    agent_within = Part(text_or_none, "metadata", "agent")
    """The member that spoke, in the record of a team."""
    cost = Part(number)
    usage = Part(mapping)

    @property
    def call_id(self) -> object:
        return self.raw.get("tool_call_id") or self.raw.get("id")

    @property
    def input_tokens(self) -> float | None:
        """The tokens that its model read, as the engine or a file of tau2-bench counts them."""
        return number(self.usage.get("prompt_tokens", self.usage.get("input_tokens")))

    @property
    def output_tokens(self) -> float | None:
        return number(self.usage.get("completion_tokens", self.usage.get("output_tokens")))

    @property
    def reasoning(self) -> str | None:
        """The thoughts of its model; in tau2's form, they stand in what the provider sent."""
        held = self.raw if "reasoning" in self.raw else mapping(self.raw, "raw_data")
        return text_or_none(mapping(held, "reasoning").get("text"))


class LoggedCall(Recorded):
    """A call that an agent or a model logged: when it was, what it used, how it ended."""

    timestamp = Part(anything)
    start_time = Part(number)
    seconds = Part(amount, "duration_seconds")
    input_tokens = Part(number)
    output_tokens = Part(number)
    attempt = Part(number)
    agent = Part(text_or_none)
    status = Part(text_or_none)
    error_type = Part(text_or_none)
    error = Part(text_or_none)


class RecordedTrace(Recorded):
    """The trace of an agent, of a model, or of a simulation that an environment recorded."""

    id = Part(anything)
    type = Part(text_or_none)
    model_id = Part(text_or_none)
    messages = Part(list_of(RecordedMessage))
    members = Part(dict_of(list_of(RecordedMessage)))
    """The messages of members of a team that are recorded by their leader."""
    logs = Part(list_of(LoggedCall))
    start_time = Part(anything)
    termination_reason = Part(text_or_none)
    agent_cost = Part(number)
    user_cost = Part(number)
