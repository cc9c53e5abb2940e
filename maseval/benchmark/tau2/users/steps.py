"""Steps on the user's device: which of them a text of the agent asks for."""

import re

from maseval.benchmark.tau2 import words
from maseval.benchmark.tau2.device_words import speaks_of_step
from maseval.benchmark.tau2.domains.base import ToolType
from maseval.benchmark.tau2.users.part import UserPart

_ASKS = re.compile(r"\b(?:please|could you|can you|would you|go ahead|next step|let's try)\b")
# What follows is for another time, or for another answer than the one that is awaited.
_LATER = re.compile(
    r"\b(?:if|anytime|in the future|feel free|whenever|again|let me know|further|contact|reach)\b"
)


def steps_asked_for(part: UserPart, text: str) -> list[str]:
    """Return the tools of the user that change something and that a text asks it to use."""
    kit = part.setting.domain.user_toolkit
    if kit is None:
        return []
    asking = [
        lower
        for each in words.sentences(text)
        if _ASKS.search(lower := each.lower()) and not _LATER.search(lower)
    ]
    names = (each["function"]["name"] for each in kit.definitions()) if asking else ()
    return [
        name
        for name in names
        if kit.tool_type(name) is ToolType.WRITE and any(speaks_of_step(s, name) for s in asking)
    ]
