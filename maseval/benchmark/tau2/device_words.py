"""What people call the things that the tools of a user's device change."""

import re
from functools import cache

_VERBS = r"^(?:toggle|turn|set|reset|reseat|grant|disconnect|connect|check|make|reboot)_"
_KINDS = r"_(?:on|off|mode|preference|settings|mode_preference|card|device)$"
_CALLED = {
    "grant_app_permission": "permission",
    "make_payment": r"pay\b|payment",
    "reboot_device": "reboot|restart|power cycle",
    "set_network_mode_preference": "network mode|network preference|[45]g",
    "toggle_data": r"(?:mobile|cellular|(?:turn|switch|toggl|enabl)\w{0,5}(?: on| off)? your) "
    r"data\b(?! sav| roam)",
    "toggle_wifi_calling": "wi-?fi calling",
}


def speaks_of_step(text: str, tool: str) -> bool:
    """Tell whether a text is about what one of the user's tools changes."""
    return _thing(tool).search(text) is not None


@cache
def _thing(tool: str) -> re.Pattern[str]:
    noun = re.sub(_KINDS, "", re.sub(_VERBS, "", tool)).replace("_", "[ _-]?")
    thing = _CALLED.get(tool, rf"{noun}s?\b")
    return re.compile(rf"\b(?:{thing})", re.IGNORECASE)
