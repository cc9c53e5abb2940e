"""Faults of the simulated user, looked for in passes as well as in failures.

Only what the record shows is looked for: a turn without a word or a call, a conversation that ends
in the yes to an offer, an id or address that nobody gave the user, and in a failure what ``causes``
blames it for. Most of what readers note (wishes never said, conditions turned around, reports
without a look at the device) is not found, so that a share of conversations with a fault is a lower
bound.
"""

from collections.abc import Iterator
from dataclasses import replace

from maseval.benchmark.tau2.review import words
from maseval.benchmark.tau2.review.causes.failure import Conversation
from maseval.benchmark.tau2.scoring.case import Case
from maseval.core.finding import NOT_READ, Finding

LOOKED_FOR = (
    "Looked for: empty turns, leaving in the same message as a yes, ids and "
    "addresses that nobody gave the user, and in failures a mind that was not changed. "
    "These were 12 of the 125 faults that readers noted in 180 conversations."
)
"""A sentence to stand above every number of faults."""


def user_findings(case: Case, cause: Finding | None = None) -> tuple[Finding, ...]:
    """Return the faults of the user in a recorded conversation, in the order of its messages.

    ``cause`` is why it failed, if it did. An agent that worked alone had no user.
    """
    if case.setting.solo:
        return ()
    conversation = Conversation(case)
    if not conversation.talk.is_english:
        return (*_silent_turns(conversation), user_not_read("the conversation is not in English"))
    found = [*_silent_turns(conversation), *_other_faults(conversation)]
    blamed = cause is not None and "user" in (cause.who, cause.also)
    if cause is not None and blamed and cause.kind not in {each.kind for each in found}:
        found.append(replace(cause, source="user", who="user", also=None))
    return tuple(sorted(found, key=lambda each: each.message or 0))


def user_not_read(why: str) -> Finding:
    """Return the finding that nobody could look for faults of the user."""
    return Finding("user", "user", NOT_READ, NOT_READ, why, "undecided", weight="remark")


def _fault(kind: str, text: str, message: int) -> Finding:
    return Finding("user", "user", kind, kind, text, message=message)


def _silent_turns(conversation: Conversation) -> Iterator[Finding]:
    for at in conversation.silent_turns():
        yield _fault("said nothing", "the user neither speaks nor acts", at)


def _other_faults(conversation: Conversation) -> Iterator[Finding]:
    """Yield what is found by reading words."""
    for value, at in conversation.invented_values():
        text = f"the user gives {value!r}, which is neither in its task nor said before"
        yield _fault("invented fact", text, at)
    done = [(each.call["name"], words.record(each.call)) for each in conversation.done]
    left = [e for e in conversation.undone if (e["name"], words.record(e)) not in done]
    found = conversation.offer_left_in_a_yes(left)
    if found is not None:
        text = f"the user says yes to the offer of message {found[0]} and leaves at once"
        yield _fault("left while agreeing", text, len(conversation.messages) - 1)
