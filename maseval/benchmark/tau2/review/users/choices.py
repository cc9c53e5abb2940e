"""Choices of the user against its task: another value, another option, a no to what it wants."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from maseval.benchmark.tau2.formats.message import Tau2ToolCall, record_in
from maseval.benchmark.tau2.review import words
from maseval.benchmark.tau2.review.policy.consent import Meaning, read_reply
from maseval.benchmark.tau2.review.users.finding import FaultKind, UserFault
from maseval.benchmark.tau2.review.users.part import UserPart
from maseval.core.recorded import entries, mapping

_WISH = re.compile(
    r"\b(?:i(?:'d| would)? (?:like|want|prefer|need|choose|pay)|i'll (?:take|use|pay|go)"
    r"|please|let's|go with|my (?:preference|choice)|should (?:be|go)|put (?:it|that|this))\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"(?:\b(?:not|no|never|instead of|rather than|from|without|than)\b|n't\b)[^,.;:]{0,25}$",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\b(?:if|unless|whether)\b", re.IGNORECASE)
_CABINS = {
    "basic_economy": r"basic[ _]economy",
    "economy": r"(?<!basic[ _])economy",
    "business": "business",
}
_PAYMENTS = {
    "credit_card": r"credit card|visa|mastercard",
    "gift_card": r"gift ?card|\bgc\b",
    "paypal": r"pay ?pal",
    "certificate": r"certificate|voucher",
}
_REASONS = {
    "no longer needed": r"no longer need|don't need|do not need|not needed",
    "ordered by mistake": r"mistake|by accident|accidental",
}
_USES = re.compile(r"\b(?:pay|paid|use|using|charge|refund) ", re.IGNORECASE)
_BECAUSE = re.compile(r"\b(?:reason|because|since|need|mistake|accident)\b", re.IGNORECASE)
_COUNTS = ("zero", "one", "two", "three", "four", "five", "six", "seven")
_NUMBERS = {name: str(number) for number, name in enumerate(_COUNTS)}
_BAGS = re.compile(rf"\b(\d|{'|'.join(_COUNTS)})\b(?: \w+){{0,2}} (?:bag|suitcase)")
_MORE = re.compile(r"\b(?:more|extra|additional|another|add|free|each|per)\b")
_NO_TRANSFER = re.compile(
    r"\b(?:do not|don't|not want|no circumstances)\b[^.,]{0,30}\btransfer", re.IGNORECASE
)
_WANTS_TRANSFER = re.compile(
    r"\b(?:please|can you|could you|i'd like|i want|i would like|yes)\b[^.]{0,40}"
    r"\b(?:transfer|(?:speak|talk|connect)\b[^.]{0,12}\b(?:supervisor|human|representative))\b",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"\b(?:up to|less than|under|at most|no more than|maximum of) \$(\d[\d,]*)", re.IGNORECASE
)
_TOTAL = re.compile(
    r"\btotal (?:additional |extra )?(?:cost|charge|fee|amount (?:due|to pay))\b[^.$\n]{0,40}"
    r"\$\s?(\d[\d,]*(?:\.\d\d)?)",
    re.IGNORECASE,
)
_CHEAPER = re.compile(r"\brefund|\bcheaper\b|\bcredit(?:ed)?\b|\bsav(?:e|ing)", re.IGNORECASE)
_ONLY_REFUNDED = re.compile(
    r"\b(?:not|n't) want to (?:cancel|go ahead)\b[^.]{0,40}\bif you (?:don't|do not|cannot|can't)"
    r"[^.]{0,12}\brefund",
    re.IGNORECASE,
)
_NO_REFUND = re.compile(
    r"\bno refund\b|\bwithout (?:a |any )?refund\b|\bnot (?:be )?(?:refunded|refundable)\b"
    r"|\bnot (?:be )?eligible for (?:a |any )?refund\b|\bnon-?refundable\b",
    re.IGNORECASE,
)


def other_value_named(part: UserPart) -> Iterator[UserFault]:
    """Yield wishes for another cabin, payment or reason than the only one in the task."""
    for call in part.gold:
        for name, value in call["arguments"].items():
            if name == "cabin":
                yield from _other_values(part, _CABINS, value, "cabin")
            elif name == "reason":
                yield from _other_values(part, _REASONS, value, "reason", _BECAUSE)
            elif name in ("payment_method_id", "payment_id"):
                kind = re.sub(r"_\d+$", "", str(value))
                yield from _other_values(part, _PAYMENTS, kind, "method of payment", _USES)
            elif name == "total_baggages":
                yield from _other_bags(part, call)


def _other_values(
    part: UserPart,
    known: Mapping[str, str],
    wanted: object,
    noun: str,
    beside: re.Pattern[str] = _WISH,
) -> Iterator[UserFault]:
    """Yield wishes for a value that the task does not have, where it has the right one."""
    if wanted not in known or not re.search(known[str(wanted)], part.told):
        return
    others = {name: each for name, each in known.items() if not re.search(each, part.told)}
    for index, sentence in part.statements:
        lower = sentence.lower()
        if not beside.search(lower) or part.was_refused_before(index):
            continue
        for name, pattern in others.items():
            if _is_wished(lower, re.search(pattern, lower)):
                text = f"the user wants another {noun} than the task: {name} instead of {wanted}"
                yield UserFault(FaultKind.CHOICE, text.replace("_", " "), index, sentence)
                return


def _is_wished(sentence: str, found: re.Match[str] | None) -> bool:
    """Tell whether what was found in a sentence is neither denied there nor under a condition."""
    if found is None or _CONDITION.search(sentence):
        return False
    return not _DENIED.search(sentence[: found.start()])


def _other_bags(part: UserPart, call: Tau2ToolCall) -> Iterator[UserFault]:
    total, paid = (call["arguments"].get(k) for k in ("total_baggages", "nonfree_baggages"))
    known = {_NUMBERS.get(n, n) for n in _BAGS.findall(part.told)} | {str(total), str(paid)}
    for index, sentence in part.statements:
        lower = sentence.lower()
        wished = _is_wished(lower, _BAGS.search(lower))
        if not wished or not _WISH.search(lower) or _MORE.search(lower):
            continue
        said = {_NUMBERS.get(n, n) for n in _BAGS.findall(lower)}
        if said and not said & known and "bag" in part.told and not part.was_refused_before(index):
            text = f"the user wants {said.pop()} bags, the task {total}"
            yield UserFault(FaultKind.CHOICE, text, index, sentence)
            return


def other_option_named(part: UserPart) -> Iterator[UserFault]:
    """Yield wishes for another option of a product than the one that the task names."""
    wanted = [item for call in part.gold for item in entries(call["arguments"].get("new_item_ids"))]
    if not wanted:
        return
    owned = set(_options_of_orders(part))
    for product in _products(part):
        for item in wanted:
            variant = product["variants"].get(item)
            if isinstance(variant, Mapping):
                yield from _other_options(part, product, variant.get("options") or {}, owned)


def _products(part: UserPart) -> Iterator[Mapping[str, Any]]:
    """Yield the products that the agent looked up, each once."""
    answers = dict.fromkeys(m.answer for m in part.talk.calls if '"variants"' in m.answer)
    for found in map(record_in, answers):
        if isinstance(found.get("variants"), dict):
            yield found


def _other_options(
    part: UserPart,
    product: Mapping[str, Any],
    options: Mapping[str, str],
    owned: set[tuple[object, str, str]],
) -> Iterator[UserFault]:
    noun = str(product.get("name", "")).lower().rsplit(" ", 1)[-1][:5]
    for key, value in options.items():
        if not _is_telling(value) or not words.mentions(part.told, value):
            continue
        every = {
            each["options"].get(key) for each in product["variants"].values() if each.get("options")
        }
        others = [
            other
            for other in every
            if other
            and other != value
            and _is_telling(other)
            and other.lower() not in part.told
            and (product.get("name"), key, other) not in owned  # which it may describe
        ]
        for index, sentence in part.statements:
            if not _WISH.search(sentence) or noun not in sentence.lower():
                continue
            if part.was_refused_before(index):
                continue
            named = [o for o in others if _is_wished(sentence.lower(), _mention(sentence, o))]
            if named and not words.mentions(sentence, value):
                text = f"the user wants {key} {named[0]}, the task {value}"
                yield UserFault(FaultKind.CHOICE, text, index, sentence)
                return


def _options_of_orders(part: UserPart) -> Iterator[tuple[object, str, str]]:
    """Yield the options of all items in the orders that were looked up, by product."""
    for answer in dict.fromkeys(m.answer for m in part.talk.calls if '"items": [' in m.answer):
        for item in map(mapping, entries(record_in(answer).get("items"))):
            for key, value in mapping(item, "options").items():
                yield item.get("name"), key, str(value)


def _mention(text: str, value: str) -> re.Match[str] | None:
    return re.search(rf"(?<![\w.-]){re.escape(value.lower())}(?![\w-])", text.lower())


def _is_telling(value: str) -> bool:
    return len(value) > 2


def offer_turned_down(part: UserPart) -> Iterator[UserFault]:
    """Yield the user's no to what the task wants, which it never asks for again."""
    if part.changes_its_mind or part.was_transferred:
        return
    for call in part.gold:
        if call["requestor"] == "user" or part.was_done(call):
            continue
        for offer, reply in part.exchanges():
            if not offer.text.rstrip().endswith("?") and not words.asks(offer.text):
                continue
            if words.refusal(offer.text) or not _is_offer_of(offer.text, call):
                continue
            if read_reply(reply.text, call) is not Meaning.NO or words.narrows(reply.text):
                continue
            if words.closes(words.sentences(offer.text)[-1]) or words.says_goodbye(reply.text):
                continue
            later = [u.text for u in part.talk.user if u.message_index > reply.message_index]
            if not any(_comes_back_to(each, call) for each in later):
                text = (
                    "the user turns down what the task wants, offered in message "
                    f"{offer.message_index}"
                )
                yield UserFault(FaultKind.CHOICE, text, reply.message_index, reply.text)
                return


def _comes_back_to(text: str, call: Tau2ToolCall) -> bool:
    name = words.record(call)
    if name and words.id_like(name):
        return words.mentions(text, name)
    return words.says_the_like(text, call)


def _is_offer_of(text: str, call: Tau2ToolCall) -> bool:
    """Tell whether a text names all ids of a call; of one without a record, what it does."""
    ids = [v for v in words.own_values(call) if any(c.isdigit() for c in v) and " " not in v]
    if ids and all(words.mentions(text, each) for each in ids):
        return True
    numbers = [n for n in call["arguments"].values() if isinstance(n, int | float)]
    if words.record(call) is not None or len(ids) > 1 or words.other_ids(text, call):
        return False
    return words.says_the_like(text, call) and all(words.mentions(text, f"{n:g}") for n in numbers)


def order_not_in_the_task(part: UserPart) -> Iterator[UserFault]:
    """Yield requests about a record that neither the task nor the agent had named, and were met."""
    wanted = {words.record(call) for call in part.gold}
    for made in part.writes:
        name = words.record(made.call)
        if made.call["requestor"] == "user" or not name or name in wanted:
            continue
        bare = name.lower().removeprefix("#")
        if not words.id_like(name) or bare in part.told:
            continue
        for said in part.talk.user_before(made.message_index):
            if words.mentions(said.text, name):
                if bare not in part.agent_said_before(said.message_index):
                    text = f"the user asks for a change of {name}, which the task does not have"
                    yield UserFault(FaultKind.CHOICE, text, said.message_index, said.text)
                break


def asked_for_a_transfer(part: UserPart) -> Iterator[UserFault]:
    """Yield the user's wish for a human where the task forbids it."""
    if not any(_NO_TRANSFER.search(each) for each in part.instructions):
        return
    for said in part.talk.user:
        for sentence in words.sentences(said.text):
            found = _WANTS_TRANSFER.search(sentence)
            if found and not _DENIED.search(sentence[: found.end()]) and "stop" not in found[0]:
                text = "the user asks for a transfer, which the task forbids"
                yield UserFault(FaultKind.CHOICE, text, said.message_index, sentence)
                return


def agreed_against_its_terms(part: UserPart) -> Iterator[UserFault]:
    """Yield a yes to a price over the task's limit, or to a cancellation without the refund."""
    limits = [words.read_amount(found[1]) for s in part.instructions if (found := _LIMIT.search(s))]
    only_refunded = any(_ONLY_REFUNDED.search(each) for each in part.instructions)
    if len(limits) != 1 and not only_refunded:
        return
    for asked, reply in part.exchanges():
        if not words.asks(asked.text) or not words.agrees(reply.text) or words.narrows(reply.text):
            continue
        totals = [words.read_amount(each) for each in _TOTAL.findall(asked.text)]
        over = len(limits) == 1 and bool(totals) and min(totals) > limits[0]
        if over and not _CHEAPER.search(asked.text):
            text = f"the user agrees to ${min(totals):.2f}, the task allows ${limits[0]:.0f}"
            yield UserFault(FaultKind.CHOICE, text, reply.message_index, reply.text)
        elif only_refunded and _NO_REFUND.search(asked.text) and "cancel" in asked.text.lower():
            text = "the user agrees to cancel without the refund that the task demands"
            yield UserFault(FaultKind.CHOICE, text, reply.message_index, reply.text)


def change_of_mind_missed(part: UserPart) -> Iterator[UserFault]:
    """Yield a plain yes where the task wants the user to change its mind when asked to confirm."""
    if not part.changes_its_mind:
        return
    asked = [(q, r) for q, r in part.exchanges() if words.asks(q.text)]
    plain = [(q, r) for q, r in asked if words.agrees(r.text) and not words.narrows(r.text)]
    turned = any(words.declines(r.text) or words.narrows(r.text) for _, r in asked)
    if not plain or turned or len(plain) < len(asked):
        return
    reply = plain[0][1]
    after = [each.call for each in part.writes if each.message_index > reply.message_index]
    gold = [(call["name"], call["arguments"]) for call in part.gold]
    if after and (after[0]["name"], after[0]["arguments"]) not in gold:
        text = "the user confirms, where the task wants it to change its mind"
        yield UserFault(FaultKind.CHOICE, text, reply.message_index, reply.text)
