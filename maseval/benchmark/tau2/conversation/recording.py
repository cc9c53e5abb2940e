"""Recorded simulations, checked before they are scored: from files, other programs or live runs.

Traces of another program may hold the conversation twice, as the agent and as the user saw it. Both
saw what was said; each made tool calls that the other did not see. The agent calls tools after the
user has spoken, and the user after the agent has, so there is only one order to merge them in.

After tau2-bench v0.2.0, src/tau2/data_model/simulation.py (MIT, Sierra Research).
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, cast

from maseval.benchmark.tau2.formats.message import (
    OVERRIDE,
    AnsweredCall,
    AnsweredMessages,
    Requestor,
    Tau2Message,
    from_chat,
    is_tool_call,
    is_user_stop,
    original_calls,
)
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.core.exceptions import MASEvalError

_ROLES = ("assistant", "user", "tool", "system")
_SIDES = ("assistant", "user")


class SimulationFormatError(MASEvalError, ValueError):
    """A simulation is not in v0.2.0's form; the message names the field."""


class RecordedConversation(NamedTuple):
    """The part of a simulation that is scored; ``silent`` if it has null instead of messages."""

    messages: Sequence[Tau2Message]
    termination_reason: str | None
    task_id: str | None
    silent: bool = False

    @property
    def ended_by_choice(self) -> bool:
        """True if one of the two sides ended it; what was cut off is not scored."""
        return self.termination_reason in (
            TerminationReason.AGENT_STOP,
            TerminationReason.USER_STOP,
        )


def read_recording(
    simulation: Mapping[str, object], *, messages_required: bool = True
) -> RecordedConversation:
    """Check a simulation's form; keys that v0.2.0 gives a default may be missing.

    A simulation of two sides that speak at once is refused: only its messages could be read, and
    they are not what was said.
    """
    if not isinstance(simulation, _MAPPING):
        _refuse("simulation", simulation, "a mapping in v0.2.0's form")
    if is_full_duplex(simulation):
        raise SimulationFormatError(
            f"simulation {simulation.get('id')!r} is a full-duplex (voice) simulation, which is "
            "not supported and cannot be scored here; leave it out"
        )
    messages = simulation.get("messages")
    silent = messages is None and not messages_required
    if silent:
        messages = ()
    if not isinstance(messages, _LIST):
        _refuse("messages", messages, "a list of messages")
    answered = _answered_calls(messages)
    if answered is None:
        for index, message in enumerate(messages):
            _check_message(message, f"messages[{index}]")
    else:
        messages = AnsweredMessages(messages, answered)
    reason = simulation.get("termination_reason")
    if reason is not None and not isinstance(reason, str):
        _refuse("termination_reason", reason, "a text")
    task_id = simulation.get("task_id")
    return RecordedConversation(
        cast(Sequence[Tau2Message], messages),
        reason,
        None if task_id is None else str(task_id),
        silent,
    )


def is_full_duplex(simulation: Mapping[str, object]) -> bool:
    """Return True if both sides could speak at the same time, as v1.0.x records voice."""
    return simulation.get("mode") == "full_duplex" or simulation.get("ticks") is not None


# Asked of every message and call, and nearly always a dict, which is found out at once.
_MAPPING = (dict, Mapping)
_LIST = (list, tuple)


def _answered_calls(messages: Sequence[Any]) -> list[AnsweredCall] | None:
    """Return the calls if no message needs a further check and each is answered; the quick way."""
    found: list[Any] = []
    waiting: list[Any] = []  # the last is to be answered next
    try:
        for index, message in enumerate(messages):
            if type(message) is not dict:
                return None
            role, content = message["role"], message["content"]
            if content is not None and type(content) is not str:
                return None
            if role == "tool":
                call = waiting.pop()
                if call["id"] != message["id"]:
                    return None
                if OVERRIDE in message:
                    found += original_calls(index, call, cast(Tau2Message, message))
                else:
                    found.append((index, call, message))
                continue
            calls = message["tool_calls"]
            if waiting or role not in _SIDES:
                return None
            if calls is not None and not _are_plain_calls(calls):
                return None
            waiting = [] if calls is None else calls[::-1]
    except (KeyError, IndexError):  # a key may have a default; an answer to nothing is an error
        return None
    return None if waiting else found


def _are_plain_calls(calls: object) -> bool:
    if type(calls) is not list:
        return False
    for call in calls:
        if type(call) is not dict or type(call["arguments"]) is not dict:
            return False
        if type(call["name"]) is not str or type(call["id"]) is not str:
            return False
        if call["requestor"] not in _SIDES:
            return False
    return True


def _check_message(message: object, place: str) -> None:
    if not isinstance(message, _MAPPING):
        _refuse(place, message, "a mapping")
    role = message.get("role")
    if role not in _ROLES:
        _refuse(f"{place}.role", role, f"one of {', '.join(_ROLES)}")
    content = message.get("content")
    if content is not None and not isinstance(content, str):
        _refuse(f"{place}.content", content, "a text or null")
    if role == "tool":
        _check_id(message, place)
    elif role in _SIDES and message.get("tool_calls") is not None:
        _check_calls(message["tool_calls"], f"{place}.tool_calls")


def _check_calls(calls: object, place: str) -> None:
    if not isinstance(calls, _LIST):
        _refuse(place, calls, "a list of tool calls or null")
    for index, call in enumerate(calls):
        here = f"{place}[{index}]"
        if not isinstance(call, _MAPPING):
            _refuse(here, call, "a mapping")
        if not isinstance(call.get("name"), str):
            _refuse(f"{here}.name", call.get("name"), "a text")
        if not isinstance(call.get("arguments"), _MAPPING):
            _refuse(f"{here}.arguments", call.get("arguments"), "a mapping of argument names")
        if call.get("requestor", "assistant") not in _SIDES:
            _refuse(f"{here}.requestor", call["requestor"], "assistant or user")
        _check_id(call, here)


def _check_id(record: Mapping[str, object], place: str) -> None:
    if not isinstance(record.get("id", ""), str):
        _refuse(f"{place}.id", record["id"], "a text")


def _refuse(place: str, value: object, expected: str) -> NoReturn:
    shown = repr(value)
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    raise SimulationFormatError(f"{place} is {shown}; it must be {expected}")


class NoConversationError(SimulationFormatError):
    """Traces in which no conversation of a tau2 simulation is found."""


def merge_conversation(traces: Mapping[str, Any]) -> list[Tau2Message]:
    """Return all messages in order, from ``traces["agents"]`` and ``traces["user"]``.

    Messages may be in OpenAI's form or in v0.2.0's. Of several agents the first speaks for all.
    """
    agents = traces.get("agents") or {}
    users = [traces.get("user"), *_values(traces.get("users"))]
    agent = _messages(_values(agents), "assistant")
    user = _messages(users, "user")
    if not agent and not user:
        found = ", ".join(map(repr, traces)) or "nothing at all"
        raise NoConversationError(
            "the traces hold no conversation: neither environment.simulation.messages nor messages "
            f"of an agent or a user, but {found}; give the traces of a finished simulation"
        )
    return _merge(deque(agent), deque(user)) if agent and user else agent or user


def ending_of(messages: list[Tau2Message]) -> str:
    """Return the termination reason of a conversation whose record gives none."""
    stopped = messages[-1]["role"] == "user" and is_user_stop(messages[-1])
    return (TerminationReason.USER_STOP if stopped else TerminationReason.AGENT_STOP).value


def _values(parts: object) -> list[object]:
    return list(parts.values()) if isinstance(parts, Mapping) else []


def _messages(components: Iterable[object], side: Requestor) -> list[Tau2Message]:
    for component in components:
        messages = component.get("messages") if isinstance(component, Mapping) else None
        if messages:
            return [
                _with_plain_content(message, side)
                for message in from_chat(messages)
                if message["role"] != "system"  # a model's instructions are not part of it
            ]
    return []


def _with_plain_content(message: Tau2Message, side: Requestor) -> Tau2Message:
    content: object = message.get("content")
    if isinstance(content, list):  # OpenAI's parts
        content = "\n".join(part.get("text", "") for part in content)
    plain = {**message, "content": content}
    if message["role"] == "tool":
        # In OpenAI's form nobody says whose tool it was; each history has the calls of its own
        # side.
        plain.setdefault("requestor", side)
    return cast(Tau2Message, plain)


def _merge(agent: deque[Tau2Message], user: deque[Tau2Message]) -> list[Tau2Message]:
    merged: list[Tau2Message] = []
    if user[0]["role"] == "assistant" and agent[0]["role"] == "user":
        merged.append(user.popleft())  # the greeting, which the agent does not see
    while agent or user:
        merged.extend(_take_tool_messages(agent))
        merged.extend(_take_tool_messages(user))
        if agent and user and agent[0].get("content") != user[0].get("content"):
            raise NoConversationError(
                "the agent's and the user's messages are not of one conversation: the agent has "
                f"{agent[0].get('content')!r} where the user has {user[0].get('content')!r}"
            )
        said = [side.popleft() for side in (agent, user) if side]
        # Both sides have these words, which stand once in the conversation.
        merged.extend(said[:1])
    return merged


def _take_tool_messages(side: deque[Tau2Message]) -> list[Tau2Message]:
    """Remove and return the tool calls and results before the next words."""
    taken = []
    while side and (side[0]["role"] == "tool" or is_tool_call(side[0])):
        taken.append(side.popleft())
    return taken
