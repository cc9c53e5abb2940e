"""What was said last in each repetition that is running, for whoever watches a run.

Repetitions do nothing for it: whoever asks looks at their agents and users, from another thread.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from maseval.core.messages import Message, text_of
from maseval.core.registry import ComponentRegistry
from maseval.core.task.task import RepetitionKey


class Said(NamedTuple):
    """The last message of a conversation, and how many there were."""

    role: str
    text: str
    messages: int


class Conversations:
    """The conversations of a run that are going on; may be asked from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._here: dict[RepetitionKey, ComponentRegistry] = {}
        self._elsewhere: dict[RepetitionKey, Said] = {}

    def __reduce__(self) -> tuple[type["Conversations"], tuple[()]]:
        """Another process has conversations of its own."""
        return Conversations, ()

    @contextmanager
    def held(self, key: RepetitionKey, registry: ComponentRegistry) -> Iterator[None]:
        """While the context is open, the repetition runs in this process."""
        with self._lock:
            self._here[key] = registry
        try:
            yield
        finally:
            with self._lock:
                # A repetition that ran out of time may outlive the beginning of its next attempt.
                if self._here.get(key) is registry:
                    del self._here[key]

    def note(self, key: RepetitionKey, said: Said) -> None:
        """Remember what was said last in a repetition that runs in another process."""
        with self._lock:
            self._elsewhere[key] = said

    def forget(self, key: RepetitionKey) -> None:
        """A repetition in another process is over."""
        with self._lock:
            self._elsewhere.pop(key, None)

    def last(self, key: RepetitionKey) -> Said | None:
        """What was said last in a repetition; None if nobody knows."""
        with self._lock:
            registry, noted = self._here.get(key), self._elsewhere.get(key)
        return noted if registry is None else last_said(registry)


def last_said(registry: ComponentRegistry) -> Said | None:
    """The latest message of all agents and the user; None before there is one."""
    told = map(_last_of, registry.components_in("user", "agents"))
    known = [each for each in told if each is not None]
    if not known:
        return None
    _, role, words, _ = max(known, key=lambda each: each.timestamp)
    return Said(role, words, max(each.messages for each in known))


class _Last(NamedTuple):
    timestamp: str
    role: str
    text: str
    messages: int


def _last_of(participant: object) -> _Last | None:
    try:
        ask = getattr(participant, "get_messages", None)
        messages = ask() if callable(ask) else getattr(participant, "messages", None)
        if not messages:
            return None
        last: Message = messages[-1]
        words = _text_or_calls(last)
        return _Last(last.get("timestamp") or "", last["role"], words, len(messages))
    except Exception:  # a framework's memory, read while the framework writes to it
        return None


def _text_or_calls(message: Message) -> str:
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    return text_of(message) or ", ".join(f"{each['name']}({each['arguments']})" for each in calls)
