"""Rules of the shop about what the agent tells: only what a record or the policy has."""

import re
from collections.abc import Iterator

from maseval.benchmark.tau2.review.policy.retail.agreement import report_of
from maseval.benchmark.tau2.review.policy.retail.eligibility import order_of, retail
from maseval.benchmark.tau2.review.policy.retail.identity import helped_user
from maseval.benchmark.tau2.review.policy.rules import (
    Answer,
    Broken,
    CallMoment,
    Talk,
    Utterance,
)
from maseval.benchmark.tau2.review.words import refusal, sentences

_SPAN = re.compile(
    r"\b(\d+)(?: ?(?:-|to|\u2013|\u2014|or|and) ?(\d+))? (?:business |working )?"
    r"(?:days?|hours?|weeks?)\b",
    re.IGNORECASE,
)
_UNITS = (" day", " hour", " week")
_PRODUCT_TIME = re.compile(r"\bbattery|\blife\b|\bcharg|\bplay", re.IGNORECASE)
_DELIVERY = re.compile(r"\b(?:arriv|deliver|ship)", re.IGNORECASE)
_REFUND = re.compile(r"\brefund|\bcredit|\bmoney", re.IGNORECASE)
_KNOWN_SPAN = ("5", "7")


@retail.talk("told.time", "Introduction: 6th paragraph")
def times_told_are_known(talk: Talk) -> Iterator[Answer]:
    """The agent tells no other time than the policy has: five to seven days for a refund."""
    for said in talk.agent:
        if not any(unit in said.text for unit in _UNITS) or not _SPAN.search(said.text):
            continue
        for sentence in sentences(said.text):
            for found in _SPAN.finditer(sentence):
                right = found.groups() == _KNOWN_SPAN and not _of_a_delivery(sentence)
                if not right and not _is_known(sentence, found, said, talk):
                    yield Broken(
                        f"neither the policy nor a record gives the time {found[0]!r}",
                        message_index=said.message_index,
                    )


def _of_a_delivery(sentence: str) -> bool:
    return _DELIVERY.search(sentence) is not None and _REFUND.search(sentence) is None


def _is_known(sentence: str, found: re.Match[str], said: Utterance, talk: Talk) -> bool:
    """Tell whether a time is that of a product, or was said by the customer or read."""
    if _PRODUCT_TIME.search(sentence):
        return True
    times = (found[0], f"{found[1]} hours")
    return any(talk.is_known_before(each, said.message_index) for each in times)


@retail.protocol("told.foreign", "Introduction: 4th paragraph", "get_order_details")
def strangers_order_is_not_told(moment: CallMoment) -> Iterator[Answer]:
    """The agent does not tell one customer about the order of another."""
    order, helped = order_of(moment), helped_user(moment)
    if order is None or helped is None or order.user_id == helped:
        return
    report = report_of(moment)
    if report is None or refusal(report.text):
        return
    named = [item.name for item in order.items if item.name.lower() in report.text.lower()]
    if named or order.address.address1 in report.text:
        yield Broken(
            f"order {order.order_id} of {order.user_id} is told to {helped}",
            message_index=report.message_index,
        )
