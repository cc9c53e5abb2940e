"""Steps that the agent told the user to take with its own tools, and what the user made of them."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from maseval.benchmark.tau2.formats.message import Tau2ToolCall, is_tool_call, spoken_text
from maseval.benchmark.tau2.review import words
from maseval.benchmark.tau2.review.explain.explanation import format_value, render_call
from maseval.benchmark.tau2.review.labels.failure import Failure, turns_down
from maseval.stats.failure_labels import Label

_VERBS = re.compile(r"^(?:toggle|turn|set|reset|reseat|grant|disconnect|connect|check|make)_")
_ENDS = re.compile(r"_(?:on|off|mode|preference|settings|mode_preference)$")
# What people call the things that tools are named for.
_CALLED = {
    "data": r"(?:mobile|cellular|(?:turn|switch|toggl|enabl)\w{0,5}(?: on| off)? your) data\b"
    r"(?! sav| roam)",
    "wifi_calling": r"wi-?fi calling",
    "app_permission": "permission",
    "reboot_device": r"reboot|restart|power cycle",
    "sim_card": r"\bsim\b",
}
_CLAIMS = re.compile(
    r"\b(?:did|done|have|'ve|turned|switched|enabled|disabled|granted|set|reset|restarted"
    r"|is (?:now )?o)",
    re.IGNORECASE,
)


class Told(NamedTuple):
    """An instruction, and the user's answer in words; ``acted`` if it used one of its tools."""

    at: int
    reply: tuple[int, str] | None
    acted: bool


def instructs(failure: Failure, text: str, call: Tau2ToolCall) -> bool:
    """Tell whether a text of the agent is about what one of the user's tools changes.

    It is not if it names only what another step with the same tool is for.
    """
    noun = _ENDS.sub("", _VERBS.sub("", call["name"]))
    pattern = _CALLED.get(noun, noun.replace("_", "[ _-]?"))
    if not re.search(pattern, text, re.IGNORECASE):
        return False
    own = set(words.own_values(call))
    steps = (each.call() for each in failure.gold if each.name == call["name"])
    alike = (each for each in steps if each["arguments"] != call["arguments"])
    others = {value for each in alike for value in words.own_values(each)}
    named = {value for value in own ^ others if words.mentions(text, value)} if others else own
    return not named or bool(named & own)


def left_when_told(failure: Failure) -> Label | None:
    """The agent's last words told the user to do what is missing, and the user left."""
    if failure.subject.case.recording.termination_reason != "user_stop":
        return None
    if not failure.nothing_wrong_done or failure.messages[-1]["role"] != "user":
        return None
    for call in _missing(failure):
        told = next(reversed(list(_instructions(failure, call))), None)
        last = [at for at, _ in failure.said_by("assistant")][-1:]
        if told and [told.at] == last and not told.acted:
            evidence = (
                f"message {told.at}, the agent: {format_value(failure.text_of(told.at))}",
                f"still missing: {render_call(call)}",
            )
            return Label("user", "left too early", "left when told", evidence)
    return None


def told_and_not_done(failure: Failure) -> Label | None:
    """The user was told to do all that is missing, and refused it or only said that it did."""
    missing = _missing(failure)
    if not missing or len(missing) < len(failure.to_add) or failure.wrong_writes:
        return None
    found = [list(_instructions(failure, call)) for call in missing]
    for call, told in zip(missing, found, strict=True):
        idle = [each for each in told if each.reply is not None and not each.acted]
        for each in idle if all(found) else ():
            at, reply = each.reply or (0, "")
            refused = turns_down(reply, call) or words.declines(reply)
            if refused or (_CLAIMS.search(reply) and not reply.rstrip().endswith("?")):
                what = "turned down by the user" if refused else "reported without doing"
                evidence = (
                    f"message {each.at}, the agent: {format_value(failure.text_of(each.at))}",
                    f"message {at}, the user: {format_value(reply)}",
                    f"never called: {render_call(call)}",
                )
                return Label("user", what, "told and not done", evidence)
    return None


def _missing(failure: Failure) -> list[Tau2ToolCall]:
    calls = [change.call for change in failure.to_add]
    return [call for call in calls if call["requestor"] == "user"]


def _instructions(failure: Failure, call: Tau2ToolCall) -> Iterator[Told]:
    """Yield the agent's texts about a step, with what the user did before the agent went on."""
    for at, text in failure.said_by("assistant"):
        if not instructs(failure, text, call) or words.refusal(text):
            continue
        reply, acted = None, False
        for index, message in enumerate(failure.messages[at + 1 :], at + 1):
            if message["role"] == "assistant":
                break
            if message["role"] == "user":
                acted = acted or is_tool_call(message)
                said = spoken_text(message)
                reply = (index, said) if said and reply is None else reply
        yield Told(at, reply, acted)
