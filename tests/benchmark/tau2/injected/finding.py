"""Gold conversations with a fault of the user in them, held against what is found about the user.

Where no wish is to stay unsaid, the user begins with the wishes of its task, as a good user does.
"""

import random
from collections.abc import Mapping
from typing import Any

from maseval.benchmark.tau2.review import words
from maseval.benchmark.tau2.review.users import FaultKind, UserFaults, check_user
from tests.benchmark.tau2.compliance.gold_talk import Say, play
from tests.benchmark.tau2.injected import carrier
from tests.benchmark.tau2.injected.faults import Fault
from tests.benchmark.tau2.injected.scenes import Conversation, conversation

Task = Mapping[str, Any]
EXPECTED = {
    **dict.fromkeys(
        (
            *("yes_and_stop_in_one_message", "yes_and_transfer_in_one_message"),
            *("left_without_an_answer", "told_and_left", "payment_request_left_open"),
        ),
        FaultKind.LEFT,
    ),
    **dict.fromkeys(
        (
            *("other_address_given", "order_that_does_not_exist", "other_date_of_birth_given"),
            "reservation_that_does_not_exist",
        ),
        FaultKind.INVENTED,
    ),
    **dict.fromkeys(
        ("said_to_be_done_and_never_done", "nothing_ever_done"),
        FaultKind.BLIND,
    ),
    "wish_never_brought_forward": FaultKind.UNSAID,
    "nothing_said": FaultKind.SILENT,
}
"""The kind of each fault; what is not here is a choice against the task."""


def gold_talk(
    domain: str, task: Task, *, voiced: bool = True
) -> Conversation | carrier.Talk | None:
    """The reference solution as a conversation; ``voiced``, if the user begins with its wishes."""
    if domain == "telecom":
        return carrier.talk_of(task)
    talk = conversation(domain, task)
    wishes = " ".join(_wishes(task))
    if talk is not None and voiced and wishes:
        talk.opening[0] = Say("user", wishes)
    return talk


def _wishes(task: Task) -> list[str]:
    told = task["user_scenario"]["instructions"]
    text = "\n".join(str(told[key]) for key in ("reason_for_call", "task_instructions"))
    kept = ("mention", "reveal", "confirm", "(")
    return [
        each.replace("You ", "I ").replace("your", "my")
        for each in words.sentences(text)
        if ("want" in each or "sk " in each) and not any(word in each for word in kept)
    ]


def found_in_gold(domain: str, task: Task) -> UserFaults | None:
    """What is found where nothing is wrong; None if the task has no such conversation."""
    talk = gold_talk(domain, task)
    return None if talk is None else check_user(play(domain, task, talk.steps()), domain=domain)


def found_with(fault: Fault, domain: str, task: Task, rng: random.Random) -> UserFaults | None:
    """What is found where a fault was written in; None if the task gives no occasion for it."""
    talk = gold_talk(domain, task, voiced=fault.name != "wish_never_brought_forward")
    changed = None if talk is None else fault.change(talk.copy(), rng)  # type: ignore[arg-type]
    if changed is None:
        return None
    simulation = play(domain, task, changed.steps()) | {"termination_reason": changed.reason}
    return check_user(simulation, domain=domain)


def is_found(fault: Fault, found: UserFaults) -> bool:
    wanted = EXPECTED.get(fault.name, FaultKind.CHOICE)
    return any(each.kind is wanted for each in found.faults)
