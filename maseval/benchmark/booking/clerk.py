"""The model behind the demo: a script that reads the conversation and decides what comes next."""

import re
from random import Random

from maseval.core.messages import Message, text_of, tool_call
from maseval.core.scripted import FixedReply, ScriptedModelAdapter, Tools


def clerk(
    seed: int | None, slip_rate: float = 0.0, delay_seconds: float = 0.0
) -> ScriptedModelAdapter:
    """A clerk who looks for a free room and books the first one found.

    In ``slip_rate`` of all conversations it forgets how many people there are.
    """
    slips = Random(seed).random() < slip_rate

    def reply(messages: list[Message], tools: Tools) -> FixedReply:
        people, hour = (int(number) for number in re.findall(r"\d+", text_of(messages[0]))[:2])
        match [text_of(message) for message in messages if message["role"] == "tool"]:
            case []:
                return tool_call("free_rooms", {"hour": hour, "seats": 1 if slips else people})
            case ["none"]:
                return "I am sorry, no room is free."
            case [rooms] if not rooms.startswith("Error"):
                return tool_call("book", {"room": rooms.split(", ")[0], "hour": hour})
            case [*_, last]:
                return last
        raise AssertionError("every list matches one of the cases")

    return ScriptedModelAdapter(
        reply, model_id="scripted/clerk", seed=seed, delay_seconds=delay_seconds
    )
