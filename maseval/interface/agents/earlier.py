"""An earlier conversation that an agent is given to continue, as every framework needs it."""

from collections.abc import Iterable, Iterator

from maseval.core.messages import Message


def named_results(messages: Iterable[Message]) -> Iterator[Message]:
    """The messages; a tool's result carries the name of the tool, which only its call may have."""
    names: dict[str, str] = {}
    for message in messages:
        for call in message.get("tool_calls") or ():
            names[call["id"]] = call["function"]["name"]
        if (call_id := message.get("tool_call_id")) in names:
            message = {**message, "name": names[call_id]}
        yield message
