"""A simulation that is being played, as the page shows it."""

from collections.abc import Mapping
from typing import Any

from maseval.benchmark.tau2.app.running.play import SIDES, Play
from maseval.benchmark.tau2.app.running.tool_forms import fields_of
from maseval.benchmark.tau2.formats.message import Tau2Message, tool_calls_of
from maseval.core.exceptions import MASEvalError


def shown(play: Play, seen: int = 0) -> dict[str, object]:
    """What there is to be seen; what does not change only for a page that has ``seen`` nothing."""
    view = play.seat.view
    state: dict[str, object] = {
        "version": view.version,
        "messages": [_message(each) for each in view.messages],
        "your_turn": view.your_turn,
        "over": view.over,
        "domain": play.simulation.domain,
        "task": play.simulation.task_id,
        "other": play.other,
    }
    if view.over is not None:
        state |= _ending(play)
    if view.briefing is not None and seen == 0:
        side = next(name for name, role in SIDES.items() if role == view.briefing.side)
        tools = [_form(tool) for tool in view.briefing.tools]
        state["briefing"] = {"side": side, "text": view.briefing.text, "tools": tools}
    return state


def _ending(play: Play) -> dict[str, object]:
    """Whether it was judged, or why it could not be held."""
    try:
        play.result()
    except MASEvalError as error:
        return {"problem": str(error), "judged": False}
    return {"judged": play.has_verdict, "outcome": play.outcome}


def _message(message: Tau2Message) -> dict[str, object]:
    return {
        "who": message["role"],
        "text": message.get("content"),
        "failed": bool(message.get("error")),
        "calls": [
            {"name": call["name"], "arguments": call["arguments"]}
            for call in tool_calls_of(message) or ()
        ],
    }


def _form(tool: Mapping[str, Any]) -> dict[str, object]:
    function = tool["function"]
    return {
        "name": function["name"],
        "description": function.get("description") or "",
        "fields": [each.to_json() for each in fields_of(tool)],
    }
