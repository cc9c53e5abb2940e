"""One conversation from what the agent and the user each saw of it.

Both saw what was said; each made tool calls that the other did not see. The agent calls tools after
the user has spoken, and the user after the agent has, so there is only one order.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, cast

from maseval.benchmark.tau2.conversation.recording import SimulationFormatError
from maseval.benchmark.tau2.formats.chat import from_chat
from maseval.benchmark.tau2.formats.message import (
    Requestor,
    Tau2Message,
    is_tool_call,
    is_user_stop,
)
from maseval.benchmark.tau2.formats.simulation import TerminationReason


class NoConversationError(SimulationFormatError):
    """Traces in which no conversation of a tau2 simulation is found."""


def merged_conversation(traces: Mapping[str, Any]) -> list[Tau2Message]:
    """All messages in order, from ``traces["agents"]`` and ``traces["user"]``.

    Messages may be in OpenAI's form or in v0.2.0's. Of several agents the first speaks for all.
    """
    agents = traces.get("agents") or {}
    users = [traces.get("user"), *_values(traces.get("users"))]
    agent = _messages(_values(agents), "assistant")
    user = _messages(users, "user")
    if not agent and not user:
        raise NoConversationError(
            "the traces hold no conversation: neither environment.simulation.messages nor messages "
            f"of an agent or a user, but {_shown(traces)}; give the traces of a finished simulation"
        )
    return _merged(deque(agent), deque(user)) if agent and user else agent or user


def ending_of(messages: list[Tau2Message]) -> str:
    """Why a conversation ended of which nothing else is known."""
    stopped = messages[-1]["role"] == "user" and is_user_stop(messages[-1])
    return (TerminationReason.USER_STOP if stopped else TerminationReason.AGENT_STOP).value


def _values(parts: object) -> list[object]:
    return list(parts.values()) if isinstance(parts, Mapping) else []


def _messages(components: Iterable[object], side: Requestor) -> list[Tau2Message]:
    for component in components:
        messages = component.get("messages") if isinstance(component, Mapping) else None
        if messages:
            return [_of_side(message, side) for message in from_chat(messages) if _counts(message)]
    return []


def _counts(message: Tau2Message) -> bool:
    """Whether a message belongs to the conversation; a model's instructions do not."""
    return message["role"] != "system"


def _of_side(message: Tau2Message, side: Requestor) -> Tau2Message:
    content: object = message.get("content")
    if isinstance(content, list):  # OpenAI's parts
        content = "\n".join(part.get("text", "") for part in content)
    plain = {**message, "content": content}
    if message["role"] == "tool":
        plain.setdefault("requestor", side)
    return cast(Tau2Message, plain)


def _merged(agent: deque[Tau2Message], user: deque[Tau2Message]) -> list[Tau2Message]:
    merged: list[Tau2Message] = []
    if user[0]["role"] == "assistant" and agent[0]["role"] == "user":
        merged.append(user.popleft())  # the greeting, which the agent does not see
    while agent or user:
        merged.extend(_deeds(agent))
        merged.extend(_deeds(user))
        if agent and user and not _same(agent[0], user[0]):
            raise NoConversationError(
                f"the agent's and the user's messages are not of one conversation: the agent has "
                f"{_line(agent[0])} where the user has {_line(user[0])}"
            )
        said = [side.popleft() for side in (agent, user) if side]
        merged.extend(said[:1])
    return merged


def _deeds(side: deque[Tau2Message]) -> list[Tau2Message]:
    """The tool calls and results before the next words."""
    deeds = []
    while side and (side[0]["role"] == "tool" or is_tool_call(side[0])):
        deeds.append(side.popleft())
    return deeds


def _same(one: Tau2Message, other: Tau2Message) -> bool:
    return one["role"] == other["role"] and one.get("content") == other.get("content")


def _line(message: Tau2Message) -> str:
    return f"{message['role']} {str(message.get('content'))[:60]!r}"


def _shown(traces: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, traces)) or "nothing at all"
