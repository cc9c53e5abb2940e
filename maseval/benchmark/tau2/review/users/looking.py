"""Reports about the user's device that it did not look at, and steps that it did not take."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from maseval.benchmark.tau2.review import words
from maseval.benchmark.tau2.review.users.finding import FaultKind, UserFault
from maseval.benchmark.tau2.review.users.part import UserPart
from maseval.benchmark.tau2.review.users.steps import steps_asked_for


class _Thing(NamedTuple):
    """Something on the device: the words of a report about it, and what shows it.

    ``shown`` is found in the name or the answer of a tool that shows it. What ``changes`` with
    every write has to be looked at again after one.
    """

    report: re.Pattern[str]
    shown: re.Pattern[str]
    changes: bool = False


def _thing(report: str, shown: str, *, changes: bool = False) -> _Thing:
    return _Thing(re.compile(report), re.compile(shown), changes)


_IS = r"(?: \w+){0,2} (?:is|are|was|were|shows?|says?|seems?|looks?|appears?)\b"
_ON = rf"{_IS} (?:\w+ )?(?:on|off|enabled|disabled)\b"
_THINGS = (
    _thing(
        rf"\bspeed ?test(?:{_IS}| result| came| gave| returned| still)|\b\d+(?:\.\d+)? ?mbps",
        "speed_test",
        changes=True,
    ),
    _thing(rf"\bstatus bar{_IS}", "status bar"),
    _thing(rf"\bairplane mode{_ON}", "airplane|status bar"),
    _thing(rf"\bdata saver(?: mode)?{_ON}", "data saver|status bar"),
    _thing(rf"\bmobile data{_ON}", "mobile data|status bar"),
    _thing(rf"\broaming{_ON}", "roaming"),
    _thing(rf"\bsim(?: card)?{_IS}", "sim card|sim_card|sim_status"),
    _thing(rf"\bapn(?: settings?)?{_IS}", "apn"),
    _thing(rf"\bwi-?fi calling{_IS}", "wi-?fi calling|wifi_calling"),
    _thing(rf"\bvpn{_IS}", "vpn|status bar"),
    _thing(rf"\bpermissions?{_IS}", "permission"),
    _thing(
        rf"\bnetwork (?:mode|type|preference){_IS}",
        "network mode|network type|status bar|network_mode",
    ),
    _thing(
        r"\b(?:can|can't|cannot|able to|unable to|not) (?:\w+ )?send (?:\w+ )?mms",
        "can_send_mms",
        changes=True,
    ),
)
_ASKED = re.compile(r"\b(?:if|when|whenever)\b")
_MARKS = re.compile(r"[*\"\u201c\u201d]|(?<!\w)'|'(?!\w)")
_UNSURE = re.compile(
    r"\b(?:i'll|i will|let me|should|could|would|can you|if|whether|not sure|don't know|how|want"
    r"|need|going to|try|until|once|so that|hope|make sure|told|you said|when|before|after|think"
    r"|might|maybe|guess|wonder\w*|fix\w*|trouble|issue|problem|thanks|thank|confirming|ensuring"
    r"|let's|checking)\b"
)
_DONE = re.compile(
    r"^(?:ok(?:ay)?[,.!]? |alright[,.!]? |yes[,.!]? |hi[,.!]? )?"
    r"(?:i(?:'ve| have)? (?:just |now )?(?:did (?:that|it|this|so|what)|done (?:that|it|this|so)"
    r"|turned|toggled|enabled|disabled|reset|restarted|rebooted|re-?seated|granted|switched"
    r"|disconnected|paid|made the payment)\b|done\b)",
    re.IGNORECASE,
)
_BOTH_WAYS = re.compile(r"\bon\b.{0,80}\boff\b|\boff\b.{0,80}\bon\b|\btoggl|\bcycle\b|\bagain\b")


def reported_without_looking(part: UserPart) -> Iterator[UserFault]:
    """Yield the user's statements about its device for which it called no tool."""
    if part.setting.domain.user_toolkit is None:
        return
    for index, sentence in part.statements:
        lower = _MARKS.sub("", sentence.lower())
        if not part.talk.agent_before(index)[1:] or _UNSURE.search(lower):
            continue
        for thing in _THINGS:
            found = thing.report.search(lower)
            if found is None or _is_told(part, found[0]):
                continue
            looked = _last_look(part, thing, index)
            if looked is None:
                text = f"the user reports what it has not looked at: {found[0]}"
                yield UserFault(FaultKind.BLIND, text, index, sentence)
                break
            changed = _changed_between(part, looked, index) if thing.changes else None
            if changed is not None:
                text = f"the user has not looked again since the change in message {changed}"
                yield UserFault(FaultKind.BLIND, text, index, sentence)
                break


def _is_told(part: UserPart, report: str) -> bool:
    """Tell whether the task itself says it, and not only what to do if somebody asks."""
    told = (each.lower() for each in part.instructions)
    return any(report in each for each in told if not _ASKED.search(each))


def _last_look(part: UserPart, thing: _Thing, before: int) -> int | None:
    """Return the user's last call before a message that shows something."""
    looks = (
        made.message_index
        for made in reversed(part.talk.calls_before(before))
        if made.call["requestor"] == "user"
        and thing.shown.search(f"{made.call['name']} {made.answer}".lower())
    )
    return next(looks, None)


def _changed_between(part: UserPart, looked: int, before: int) -> int | None:
    changes = (w.message_index for w in part.writes if looked < w.message_index < before)
    return next(changes, None)


def said_to_be_done(part: UserPart) -> Iterator[UserFault]:
    """Yield the user's reports of a step that the agent asked for and that it never took."""
    for asked, said in part.exchanges():
        first = next(iter(words.sentences(said.text)), "")
        if not _DONE.search(first) or "?" in first:
            continue
        wanted = steps_asked_for(part, asked.text)
        made = {each.call["name"] for each in part.talk.calls_before(said.message_index)}
        if not wanted or made & set(wanted):
            continue
        if not part.acted_between(asked.message_index, said.message_index):
            text = f"the user has not taken the step, asked for in message {asked.message_index}"
            yield UserFault(FaultKind.BLIND, text, said.message_index, first)


def steps_refused(part: UserPart) -> Iterator[UserFault]:
    """Yield the user's refusals to take a step that the agent asks for."""
    for asked, said in part.exchanges():
        first = next(iter(words.sentences(said.text)), "")
        if words.declines(first) and len(stepped := steps_asked_for(part, asked.text)) == 1:
            done = {each.call["name"] for each in part.talk.calls}
            if stepped[0] not in done:
                text = f"the user refuses the step asked for in message {asked.message_index}"
                yield UserFault(FaultKind.CHOICE, text, said.message_index, said.text)


def steps_undone(part: UserPart) -> Iterator[UserFault]:
    """Yield switches that the user turned twice, where the agent asked for one turn."""
    last: tuple[str, int] | None = None
    for made in part.talk.calls:
        if made.call["requestor"] != "user" or not made.call["name"].startswith("toggle"):
            continue
        asked = part.question_before(made.message_index)
        place = (made.call["name"], -1 if asked is None else asked.message_index)
        if place == last and asked and not _BOTH_WAYS.search(asked.text.lower()):
            text = f"the user undoes the step it has just taken ({made.call['name']})"
            yield UserFault(FaultKind.CHOICE, text, made.message_index)
        last = None if place == last else place
