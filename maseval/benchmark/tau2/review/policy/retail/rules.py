"""The shop's policy as rules; ``statements.json`` says what of the policy they cover.

Here are those about what the customer is told: before the yes, and of records and times.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from maseval.benchmark.tau2.domains.retail import (
    CANCEL,
    MODIFY_ADDRESS,
    OF_ITEMS,
    REPLACING,
    RETURN,
    WRITES,
)
from maseval.benchmark.tau2.domains.retail.models import OrderItem, UserAddress, Variant
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.absence import missing, spoken, telling_clause
from maseval.benchmark.tau2.review.policy.claims import RETAIL_CLAIMS, only_done_is_claimed
from maseval.benchmark.tau2.review.policy.confirming import (
    explicit_yes,
    find_consent,
    no_text_beside_a_call,
    nothing_after_a_transfer,
    one_call_at_a_time,
    transfer_is_announced,
    transfer_is_wanted,
)
from maseval.benchmark.tau2.review.policy.retail import agreement, eligibility
from maseval.benchmark.tau2.review.policy.retail.eligibility import (
    ADDRESSES,
    BEFORE_A_YES,
    REASONS,
    RetailCall,
    retail,
)
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell, rules_in
from maseval.benchmark.tau2.review.policy.told import Offer, Offers, claims_are_true
from maseval.benchmark.tau2.review.replies import agrees
from maseval.benchmark.tau2.review.talk import Talk, Utterance
from maseval.benchmark.tau2.review.words import mentions, refusal

_REASON_WORDS = {
    "no longer needed": re.compile(
        r"\b(?:no longer|any ?more|any longer|(?:do|does|did|is|are|was)(?:n?'?t| not)|not|never"
        r"|no|without) (?:\w+ ){0,3}(?:need|want(?!ed to )|require|use|interest)|changed (?:my"
        r"|their) mind|(?:need|want) (?:it|them|this|that|those|these) any|unneeded|unnecessary"
    ),
    "ordered by mistake": re.compile(
        r"\b(?:mistake|accident|wrong|in error|by error|didn't mean|did not mean|unintention"
        r"|inadvertent)"
    ),
}
_WHOLE = ("anything else", "everything", "complete list", "full list", "one-time", "one time")
_DIGIT = re.compile(r"\d")
_SIZES = {"s": "s|small", "m": "m|medium", "l": "l|large", "xl": "xl|extra[ -]large"}


@retail.protocol("cancel.reason_said", "Cancel pending order: 2nd paragraph", CANCEL, manner=True)
def reason_is_the_customers(call: RetailCall) -> Iterator[Answer]:
    """The reason of a cancellation is the one that the customer gave or agreed to."""
    reason = call.arguments.get("reason")
    words = _REASON_WORDS.get(reason) if isinstance(reason, str) else None
    if words is None or words.search(call.user_words):
        return
    question, reply = call.question_and_reply
    other = next(name for name in _REASON_WORDS if name != reason)
    if question is not None and reply is not None and agrees(reply.text):
        offered = [name for name in REASONS if _REASON_WORDS[name].search(question.lower)]
        if offered == [reason] and not phrases.OTHER_REASON.search(call.user_words):
            return
    if _REASON_WORDS[other].search(call.user_words):
        yield Broken(f"the customer said {other!r}, and {reason!r} is booked")
    else:
        told = phrases.OTHER_REASON.search(call.user_words)
        unread = "" if told else telling_clause(call, "cancel")
        yield missing(f"the customer never gave the reason {reason!r}", unread)


@retail.form(
    "items.reminder", "Modify items, Exchange: 1st paragraph", *REPLACING, words=True, manner=True
)
def customer_is_reminded(call: RetailCall) -> Iterator[Answer]:
    """The customer is reminded to name all items before the only change of the items."""
    said = [each.lower for each in call.agent_texts]
    in_set_words = any(words in each for each in said for words in _WHOLE)
    if not in_set_words and not any(map(phrases.REMINDS.search, said)):
        yield Broken("the customer was not reminded to name all items that are to be changed")


@retail.protocol("details.order", "Cancel, Return: 2nd paragraph", CANCEL, RETURN, manner=True)
def order_was_named(call: RetailCall) -> Iterator[Answer]:
    """The customer is asked to confirm the order by its id."""
    order = call.order
    if order is None:
        return
    bare = order.order_id.lstrip("#").lower()
    if not any(bare in said.lower for said in call.texts_backwards):
        texts = "\n".join(said.lower for said in call.texts_backwards)
        yield missing(f"order {order.order_id} was never named", spoken(texts))


@retail.protocol("details.items", f"{BEFORE_A_YES}; Return: 2nd paragraph", *OF_ITEMS, manner=True)
def items_were_named(call: RetailCall) -> Iterator[Answer]:
    """The items that are changed or returned were named before the customer agreed."""
    text = _before_the_reply(call)
    order, listed = call.order, call.items
    if order is not None and len(listed) == len(order.items) and mentions(text, order.order_id):
        return
    # "Them" are nothing as long as nobody has named an item.
    ordered = order.items if order else ()
    for item in {each.item_id: each for each in listed}.values():
        if not _names_item(text, item):
            named = phrases.WHOLE.search(text) or any(_names_item(text, each) for each in ordered)
            if named and phrases.EVERYTHING.search(text) and len(listed) > 1:
                yield CannotTell(f"{item.name} may be meant by 'all'")
            else:
                yield Broken(f"{item.name} was not mentioned before the customer agreed")


def _before_the_reply(call: RetailCall) -> str:
    """Return all that both sides said before the customer's last words, in small letters."""
    _, reply = call.question_and_reply
    at = reply.message_index if reply else call.message_index
    return "\n".join(said.lower for said in call.texts_backwards if said.message_index < at)


def _names_item(text: str, item: OrderItem) -> bool:
    words = [each for each in re.split(r"[\s-]+", item.name.lower()) if len(each) > 2]
    return item.item_id in text or any(each.rstrip("s") in text for each in words)


@retail.protocol("details.options", BEFORE_A_YES, *REPLACING, manner=True)
def new_items_were_described(call: RetailCall) -> Iterator[Answer]:
    """The item that comes instead was described before the customer agreed."""
    text = _before_the_reply(call)
    for item, variant in call.replacements:
        if variant.item_id in text or f"{variant.price:.2f}" in text:
            continue
        changed = [
            key if value in ("yes", "no", "none") else value  # "waterproof" tells more than "yes"
            for key, value in variant.options.items()
            if item.options.get(key) != value
        ]
        told = [each for each in changed if _says_option(text, each)]
        if changed and not told:
            unread = spoken(text) if any(map(_DIGIT.search, changed)) else ""
            yield missing(f"the new {item.name} was never described", unread)
        elif len(told) < len(changed):
            untold = ", ".join(each for each in changed if each not in told)
            yield CannotTell(f"the new {item.name} was described without {untold}")


def _says_option(text: str, value: str) -> bool:
    """Return True if a text in small letters has the words of an option, in any order or as one."""
    words = re.findall(r"[a-z0-9]+", value.lower())
    near = all(word in text or word in _SIZES for word in words)
    if near and all(_find_word(_SIZES.get(word, word)).search(text) for word in words):
        return True
    return (
        len(value) > 3 and not value.isalpha() and "".join(words) in phrases.NO_WORD.sub("", text)
    )


@cache
def _find_word(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9])(?:{word})(?:s|en)?(?![a-z0-9])")


@retail.spoken_flow("items.confirmed", BEFORE_A_YES, *OF_ITEMS)
def items_are_those_agreed(call: RetailCall) -> Iterator[Answer]:
    """The items of a change are those that the question before the yes was about."""
    question, reply = call.question_and_reply
    if question is None or reply is None or call.changes_on_this_reply > 1:
        return
    consent = find_consent(call)
    named = call.order is not None and question.asks and call.order.order_id in question.text
    if consent is None or not (consent.described or named):  # an opening request is no agreement
        return
    # Of several that were offered, the reply chooses.
    chooses = phrases.CHOICE.search(question.lower)
    both = (*(() if chooses else question.sentences), *reply.sentences)
    text = "\n".join(each for each in both if not phrases.STAYS.search(each))
    for item, variant in call.replacements:
        other = _other_variant(text, call, item, variant)
        if other is not None:
            yield Broken(f"{item.name} {other} was agreed to, and {variant.item_id} is booked")
    yield from _unexpected_items(call, text)
    yield from _other_items_meant(call, text)


def _other_variant(text: str, call: RetailCall, item: OrderItem, variant: Variant) -> str | None:
    """Return the id, or an option, of a variant that a text names instead of the booked one."""
    if variant.item_id in text:
        return None
    variants = call.variants(item)
    named = [each for each in variants if each != item.item_id and each in text]
    if named:
        return named[0]
    for key, value in variant.options.items():
        if not value.isalpha() or len(value) < 3 or value == "none" or _says_option(text, value):
            continue
        known = {each.options.get(key, "") for each in variants.values()} - {value}
        words = [each for each in sorted(known) if each.isalpha() and len(each) > 2]
        said = [each for each in words if _says_option(text, each)]
        if said and f"{variant.price:.2f}" not in text:
            return said[0]
    return None


def _other_items_meant(call: RetailCall, text: str) -> Iterator[Answer]:
    """Yield the items of which a text names another one of the same product by its options."""
    listed = call.items
    ordered = call.order.items if call.order and call.tool == RETURN else ()
    for item in listed if ordered else ():
        twins = [each for each in ordered if each.name == item.name and each not in listed]
        for other in twins if f"{item.price:.2f}" not in text and item.item_id not in text else ():
            own = set(item.options.values()) - set(other.options.values())
            its = [each for each in other.options.values() if each not in item.options.values()]
            meant = [each for each in its if each.isalpha() and _says_option(text, each)]
            if meant and not any(_says_option(text, each) for each in own):
                yield Broken(f"{item.name} {meant[0]} was agreed to, and {item.item_id} is taken")


def _unexpected_items(call: RetailCall, text: str) -> Iterator[Answer]:
    """Yield the items that a question about items of the same order leaves out."""
    listed, order = call.items, call.order
    named = [item for item in listed if _names_item(text, item)]
    if len(named) == len(listed) or phrases.WHOLE.search(text):
        return
    if not named and order is not None:  # the question may be about other items
        named = [item for item in order.items if item.name.lower() in text]
    if not named:
        return
    asked = [said.lower for said in call.agent_texts if said.asks]
    earlier = "\n".join(asked[-1:] if phrases.ONLY.search(text) else asked)
    about = ", ".join(each.name for each in named)
    for item in listed:
        if not _names_item(earlier, item):
            text = f"{item.name} {item.item_id} is changed, and the question was about {about}"
            yield Broken(text)


@retail.protocol("details.address", BEFORE_A_YES, *ADDRESSES, manner=True)
def address_was_named(call: RetailCall) -> Iterator[Answer]:
    """The new address was named before the customer agreed."""
    texts = "\n".join(said.lower for said in call.texts_backwards)
    street, suite, zip_code, city = (
        call.arguments.get(each) for each in ("address1", "address2", "zip", "city")
    )
    unnamed = {
        name: value
        for name, value in (("address1", street), ("address2", suite), ("zip", zip_code))
        if isinstance(value, str)
        and value
        and value.lower() not in texts
        and value != getattr(_address_now(call), name, None)
    }
    is_default = call.owner is not None and call.owner.address.address1 == street
    if not unnamed or (is_default and phrases.DEFAULT.search(texts)):
        return
    if isinstance(city, str) and city != "" and city.lower() in texts:
        yield CannotTell(f"the address in {city} may have been named in other words")
        return
    yield missing(f"{', '.join(unnamed.values())} was never named", spoken(texts), unnamed)


@retail.spoken_flow("address.confirmed", BEFORE_A_YES, *ADDRESSES)
def address_is_the_one_agreed(call: RetailCall) -> Iterator[Answer]:
    """The address that is entered is the one that was agreed to."""
    question, reply = call.question_and_reply
    if question is None or reply is None:
        return
    text, now = question.lower, _address_now(call)
    for name, told in (
        ("zip", phrases.ZIP.findall(text)),
        ("address1", phrases.STREET.findall(text)),
        ("address2", phrases.SUITE.findall(text)),
    ):
        value = call.arguments.get(name)
        others = set(told) - {_in_short(name, getattr(now, name, ""))}
        own = re.escape(_in_short(name, str(value)))
        if value and others and not re.search(rf"(?<!\d){own}(?!\d)", text):
            yield Broken(f"{', '.join(sorted(others))} was agreed to, and {value} is entered")
            return


def _in_short(name: str, value: str) -> str:
    """Return a part of an address as it is compared: of a suite or flat the number alone."""
    return "".join(filter(str.isdigit, value)) if name == "address2" else value.lower()


def _address_now(call: RetailCall) -> UserAddress | None:
    """Return the address that a call would replace."""
    record = call.order if call.tool == MODIFY_ADDRESS else call.owner
    return record.address if record else None


_UNITS = (" day", " hour", " hr", " week", " fortnight")
_KNOWN_SPANS = (("5", "7"), ("five", "seven"))


@retail.talk("told.time", "Introduction: 6th paragraph", manner=True)
def times_told_are_known(talk: Talk) -> Iterator[Answer]:
    """The agent tells no other time than the policy has: five to seven days for a refund."""
    for said, sentence in talk.agent_sentences(*_UNITS):
        for found in phrases.SPAN.finditer(sentence):
            goods = phrases.DELIVERY.search(sentence) and not phrases.MONEY.search(sentence)
            right = found.groups() in _KNOWN_SPANS and not goods
            if not right and not _is_known(sentence, found, said, talk):
                text = f"neither the policy nor a record gives the time {found[0]!r}"
                yield Broken(text, message_index=said.message_index)


def _is_known(sentence: str, found: re.Match[str], said: Utterance, talk: Talk) -> bool:
    """Return True if a time is that of a product, or was said by the customer or read."""
    if phrases.PRODUCT_TIME.search(sentence) or (found[1] == "a" and refusal(sentence)):
        return True
    known = talk.known_before(said.message_index).lower()
    return found[0] in known or f"{found[1]} hours" in known


@retail.protocol("told.foreign", "Introduction: 4th paragraph", "get_order_details")
def strangers_order_is_not_told(call: RetailCall) -> Iterator[Answer]:
    """The agent does not tell one customer about the order of another."""
    order, helped = call.order, call.helped_user
    if order is None or helped is None or order.user_id == helped:
        return
    report = call.report
    if report is None or refusal(report.text):
        return
    named = [item.name for item in order.items if item.name.lower() in report.lower]
    status = order.order_id in report.text and order.status.split()[0] in report.lower
    if named or status or order.address.address1 in report.text:
        text = f"order {order.order_id} of {order.user_id} is disclosed to {helped}"
        yield Broken(text, message_index=report.message_index)


def variants_shown(answer: Any) -> Iterator[Offers]:
    """Yield the variants of a product."""
    offers = (
        Offer(each["item_id"], each["price"], each["available"], frozenset(options.values()))
        for each in answer["variants"].values()
        if (options := each["options"]) is not None
    )
    yield Offers(re.compile(re.escape(answer["name"].lower())), tuple(offers))


RULES = (
    *rules_in(*map(vars, (eligibility, agreement)), globals()),
    explicit_yes("retail", BEFORE_A_YES, WRITES),
    nothing_after_a_transfer("retail", "Introduction: 9th paragraph", WRITES),
    transfer_is_wanted("retail", "Introduction: 9th paragraph"),
    *claims_are_true(
        "retail", "Introduction: 6th paragraph", "get_product_details", variants_shown, r"\d\d{9}"
    ),
    only_done_is_claimed("retail", "Introduction: 6th paragraph", RETAIL_CLAIMS, WRITES),
    transfer_is_announced("retail", "Introduction: 9th paragraph"),
    one_call_at_a_time("retail", "Introduction: 7th paragraph"),
    no_text_beside_a_call("retail", "Introduction: 7th paragraph"),
)
