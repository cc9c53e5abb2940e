"""Faults of each party, written into gold conversations of telecom."""

import random
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from tests.benchmark.tau2.compliance.gold_talk import Do, Say, Step
from tests.benchmark.tau2.compliance.gold_telecom import (
    LINE,
    OFFER,
    REQUEST,
    TRANSFER,
    clean_steps,
)
from tests.benchmark.tau2.injected.faults import Fault
from tests.benchmark.tau2.staged import gold

TRANSFER_CALL = Do("transfer_to_human_agents", {"summary": "The customer needs help."})
OTHER_LINE = "L1001"


@dataclass
class Talk:
    """A conversation as its steps, and how it ends."""

    task: Mapping[str, Any]
    parts: list[Step]
    reason: str = "user_stop"

    def steps(self) -> list[Step]:
        return self.parts

    def copy(self) -> "Talk":
        return deepcopy(self)

    def calls(self, requestor: str, *names: str) -> list[int]:
        """The places of the calls of the reference solution that one side makes."""
        own = [each["name"] for each in gold(self.task) if each["requestor"] == requestor]
        return [
            at
            for at, each in enumerate(self.parts)
            if isinstance(each, Do)
            and each.name in (names or own)
            and each.role == requestor
            and each.name in own
        ]


def talk_of(task: Mapping[str, Any]) -> Talk | None:
    """The reference solution; None for tasks whose solution is a transfer."""
    if any(each["name"] == TRANSFER_CALL.name for each in gold(task)):
        return None
    return Talk(task, clean_steps(task))


FAULTS: list[Fault] = []
Change = Callable[[Talk, random.Random], Talk | None]


def fault(who: str) -> Callable[[Change], Change]:
    def note(change: Change) -> Change:
        FAULTS.append(Fault(change.__name__, who, ("telecom",), change))  # type: ignore[arg-type]
        return change

    return note


def _place(talk: Talk, rng: random.Random, requestor: str, *names: str) -> int | None:
    found = talk.calls(requestor, *names)
    return rng.choice(found) if found else None


# ---- faults of the agent


@fault("agent")
def step_never_mentioned(talk: Talk, rng: random.Random) -> Talk | None:
    at = _place(talk, rng, "user")
    if at is None or not isinstance(talk.parts[at - 1], Say):
        return None
    del talk.parts[at - 1 : at + 2]
    talk.parts[-2:] = [
        Say("assistant", "I have done all that I can do for you."),
        Say("user", "It still does not work, but thank you. ###STOP###"),
    ]
    return talk


@fault("agent")
def transferred_before_a_step(talk: Talk, rng: random.Random) -> Talk | None:
    at = _place(talk, rng, "user")
    if at is None or not isinstance(talk.parts[at - 1], Say):
        return None
    talk.parts[at - 1 :] = [
        TRANSFER_CALL,
        Say("assistant", TRANSFER),
        Say("user", "###TRANSFER###"),
    ]
    return talk


@fault("agent")
def transferred_before_anything(talk: Talk, rng: random.Random) -> Talk | None:
    talk.parts[1:] = [TRANSFER_CALL, Say("assistant", TRANSFER), Say("user", "###TRANSFER###")]
    return talk


@fault("agent")
def write_left_out(talk: Talk, rng: random.Random) -> Talk | None:
    at = _place(talk, rng, "assistant", "refuel_data", "enable_roaming", "resume_line")
    if at is None:
        return None
    del talk.parts[at]
    talk.parts[-1] = Say("user", "No, it does not work. Never mind, goodbye. ###STOP###")
    return talk


@fault("agent")
def write_on_another_line(talk: Talk, rng: random.Random) -> Talk | None:
    at = _place(talk, rng, "assistant", "refuel_data", "enable_roaming")
    if at is None:
        return None
    call = talk.parts[at]
    assert isinstance(call, Do)
    talk.parts[at] = replace(call, arguments=call.arguments | {"line_id": OTHER_LINE})
    talk.parts[-1] = Say("user", "No, it does not work. Never mind, goodbye. ###STOP###")
    return talk


@fault("agent")
def write_on_another_line_then_transferred(talk: Talk, rng: random.Random) -> Talk | None:
    if write_on_another_line(talk, rng) is None:
        return None
    talk.parts[-1:] = [
        Say("user", "No, it does not work."),
        *(TRANSFER_CALL, Say("assistant", TRANSFER), Say("user", "###TRANSFER###")),
    ]
    return talk


@fault("agent")
def too_little_data_added(talk: Talk, rng: random.Random) -> Talk | None:
    at = _place(talk, rng, "assistant", "refuel_data")
    if at is None:
        return None
    call = talk.parts[at]
    assert isinstance(call, Do)
    talk.parts[at] = replace(call, arguments=call.arguments | {"gb_amount": 1.0})
    return talk


@fault("agent")
def cut_off_while_repeating_a_read(talk: Talk, rng: random.Random) -> Talk | None:
    at = _place(talk, rng, "user")
    if at is None or not isinstance(talk.parts[at - 1], Say):
        return None
    talk.parts[at - 1 :] = [Do("get_details_by_id", {"id": LINE})] * 8
    talk.reason = "max_steps"
    return talk


@fault("agent")
def cut_off_by_failing_calls(talk: Talk, rng: random.Random) -> Talk | None:
    talk.parts[3:] = [Do("get_details_by_id", {"id": "L9999"})] * 10
    talk.reason = "too_many_errors"
    return talk


@fault("agent")
def refuel_refused(talk: Talk, rng: random.Random) -> Talk | None:
    at = _place(talk, rng, "assistant", "refuel_data")
    offers = [n for n, each in enumerate(talk.parts) if each == Say("assistant", OFFER)]
    if at is None or not offers:
        return None
    no = Say("assistant", "I am sorry, but I cannot refuel data on your line.")
    talk.parts[offers[0] : at + 2] = [no, Say("user", "That is a pity.")]
    return talk


# ---- faults of the user


@fault("user")
def told_and_left(talk: Talk, rng: random.Random) -> Talk | None:
    at = _place(talk, rng, "user")
    if at is None or not isinstance(talk.parts[at - 1], Say):
        return None
    talk.parts[at:] = [Say("user", "###STOP###")]
    return talk


@fault("user")
def said_to_be_done_and_never_done(talk: Talk, rng: random.Random) -> Talk | None:
    at = _place(talk, rng, "user")
    if at is None or talk.parts[at + 1] != Say("user", "I did that."):
        return None
    del talk.parts[at]
    return talk


@fault("user")
def nothing_ever_done(talk: Talk, rng: random.Random) -> Talk | None:
    places = talk.calls("user")
    if len(places) < 3:
        return None
    talk.parts = [each for each in talk.parts if not (isinstance(each, Do) and each.role == "user")]
    return talk


@fault("user")
def step_refused(talk: Talk, rng: random.Random) -> Talk | None:
    at = _place(talk, rng, "user")
    if at is None or talk.parts[at + 1] != Say("user", "I did that."):
        return None
    talk.parts[at : at + 2] = [Say("user", "No, I do not want to do that.")]
    talk.parts[-1] = Say("user", "No. Goodbye. ###STOP###")
    return talk


@fault("user")
def switched_back(talk: Talk, rng: random.Random) -> Talk | None:
    toggles = ("toggle_data", "toggle_roaming", "toggle_airplane_mode", "toggle_data_saver_mode")
    at = _place(talk, rng, "user", *toggles)
    if at is None:
        return None
    talk.parts.insert(at, talk.parts[at])
    return talk


@fault("user")
def offered_data_turned_down(talk: Talk, rng: random.Random) -> Talk | None:
    at = _place(talk, rng, "assistant", "refuel_data")
    offers = [n for n, each in enumerate(talk.parts) if each == Say("assistant", OFFER)]
    if at is None or not offers:
        return None
    talk.parts[offers[0] + 1 : at + 2] = [Say("user", "No, I do not want to add any data.")]
    return talk


@fault("user")
def payment_request_left_open(talk: Talk, rng: random.Random) -> Talk | None:
    requests = [n for n, each in enumerate(talk.parts) if each == Say("assistant", REQUEST)]
    if not requests:
        return None
    talk.parts[requests[0] + 1 :] = [Say("user", "Thank you, that is all. ###STOP###")]
    return talk


@fault("user")
def yes_and_stop_in_one_message(talk: Talk, rng: random.Random) -> Talk | None:
    offers = [n for n, each in enumerate(talk.parts) if each == Say("assistant", OFFER)]
    if not offers:
        return None
    talk.parts[offers[0] + 1 :] = [Say("user", "Yes, please add 2 GB. ###STOP###")]
    return talk


@fault("user")
def nothing_said(talk: Talk, rng: random.Random) -> Talk | None:
    at = _place(talk, rng, "user")
    if at is None or not isinstance(talk.parts[at - 1], Say):
        return None
    talk.parts[at:] = [
        Say("user", ""),
        Say("assistant", "Are you still there?"),
        Say("user", "Goodbye. ###STOP###"),
    ]
    return talk


# ---- nobody's in the conversation


@fault("infrastructure")
def cut_off_with_everything_done(talk: Talk, rng: random.Random) -> Talk | None:
    talk.parts[-1] = Say("user", "Let me see.")
    talk.reason = "max_steps"
    return talk


@fault("infrastructure")
def ended_by_a_crash(talk: Talk, rng: random.Random) -> Talk | None:
    talk.parts = talk.parts[:4]
    talk.reason = rng.choice(["infrastructure_error", "unexpected_error", "timeout"])
    return talk
