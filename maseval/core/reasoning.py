"""Reasoning: the earlier thoughts that a model is sent again.

Models think before they answer, and many were trained to see the thoughts that led to a tool call
while they work on its result. What is sent back is decided here for all providers; how, by each
adapter. A thought is sent to nobody but the model that had it.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import cast

from maseval.core.exceptions import ConfigurationError
from maseval.core.messages import ChatResponse, Message, Reasoning


class ReasoningPolicy(StrEnum):
    """A rule for the thoughts that are sent back to the model that had them."""

    KEEP = "keep"
    """All that the conversation has."""
    DROP = "drop"
    """None."""
    AUTO = "auto"
    """Those that the provider's documentation asks for, mostly since the last user message."""

    @classmethod
    def of(cls, value: "str | ReasoningPolicy") -> "ReasoningPolicy":
        """Return the policy of that name; raise ``ConfigurationError`` if there is none."""
        if isinstance(value, cls):
            return value
        if value not in list(cls):
            raise ConfigurationError(
                f"the reasoning policy is {value!r}; choose one of: {', '.join(cls)}"
            )
        return cls(value)


class ReasoningMemory:
    """The thoughts of one model, for conversations whose messages have no place for them.

    Those of an answer that calls tools are found by the id of its first call. A message that has
    its own ``reasoning`` needs no memory.
    """

    def __init__(self) -> None:
        self._by_call: dict[str, Reasoning] = {}

    def note(self, response: ChatResponse) -> None:
        """Remember the thoughts that led to tool calls; some servers use an id again."""
        if not response.tool_calls:
            return
        call = response.tool_calls[0]["id"]
        if response.reasoning:
            self._by_call[call] = response.reasoning
        else:
            # Otherwise this answer would get the thoughts of an earlier one.
            self._by_call.pop(call, None)

    def select(
        self,
        messages: Sequence[Message],
        policy: ReasoningPolicy,
        *,
        model_id: str,
        auto_with_every_call: bool,
    ) -> list[Message]:
        """Return the conversation in which only the thoughts that are sent back are left."""
        asked = (place for place, message in enumerate(messages) if message.get("role") == "user")
        since_user = 1 + max(asked, default=-1)
        selected = []
        for place, message in enumerate(messages):
            match policy:
                case ReasoningPolicy.AUTO if auto_with_every_call:
                    wanted = bool(message.get("tool_calls"))
                case ReasoningPolicy.AUTO:
                    wanted = place >= since_user
                case _:
                    wanted = policy is ReasoningPolicy.KEEP
            thought = self._thought_of(message) if wanted else None
            # Encrypted thoughts of another model are refused, and plain ones mislead.
            if thought and thought.get("model") == model_id:
                selected.append(cast(Message, {**message, "reasoning": thought}))
            else:
                selected.append(without_reasoning(message))
        return selected

    def _thought_of(self, message: Message) -> Reasoning | None:
        if message.get("role") != "assistant":
            return None
        if own := reasoning_of(message):
            return own
        calls = message.get("tool_calls")
        return self._by_call.get(calls[0].get("id") or "") if calls else None


def reasoning_of(message: Mapping[str, object]) -> Reasoning | None:
    """Return the thoughts in a message; other libraries use that key in other ways."""
    found = message.get("reasoning")
    if found is None:  # as of nearly all: to ask for the type takes longer
        return None
    return cast(Reasoning, found) if isinstance(found, Mapping) else None


def without_reasoning(message: Message) -> Message:
    """Return a message as everybody may see it who did not think it."""
    if reasoning_of(message) is None:
        return message
    return cast(Message, {key: part for key, part in message.items() if key != "reasoning"})
