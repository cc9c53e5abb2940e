"""Steps on the user's device: which of them a text of the agent asks for."""

import re
from functools import cache

from maseval.benchmark.tau2.domains.base import ToolType
from maseval.benchmark.tau2.review import words
from maseval.benchmark.tau2.review.users.part import UserPart

_VERBS = r"^(?:toggle|turn|set|reset|reseat|grant|disconnect|connect|make|reboot)_"
_KINDS = r"_(?:on|off|mode|preference|settings|mode_preference|card|device)$"
_ALSO = {
    "grant_app_permission": "permission",
    "make_payment": r"pay\b|payment",
    "reboot_device": "restart|reboot",
    "set_network_mode_preference": "network mode|network preference|[45]g",
    "toggle_data": "mobile data|cellular data",
}
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
        if kit.tool_type(name) is ToolType.WRITE and any(_thing(name).search(s) for s in asking)
    ]


@cache
def _thing(tool: str) -> re.Pattern[str]:
    """Return a pattern for what a tool changes."""
    noun = re.sub(_KINDS, "", re.sub(_VERBS, "", tool)).replace("_", "[ _-]?")
    thing = _ALSO.get(tool, rf"{noun}s?\b")
    return re.compile(rf"\b(?:{thing})")
