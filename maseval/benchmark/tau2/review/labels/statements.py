"""Statements of the agent behind a decision of the user, checked against the tools.

A user that says yes, no, or takes one of two things, goes by what the agent says: a sum, a number
of items, that something is the cheapest, is not to be had or cannot be done. The tools, the
database and the reference solution show whether that was so. If it was not, the failure is the
agent's, whatever the user said.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.review import words
from maseval.benchmark.tau2.review.explain.explanation import format_value, render_call
from maseval.benchmark.tau2.review.labels.bookings import (
    Booking,
    book,
    explains,
    find_record,
    world_at,
)
from maseval.benchmark.tau2.review.labels.choices import differing_values, is_named
from maseval.benchmark.tau2.review.labels.failure import Failure, is_error
from maseval.benchmark.tau2.review.labels.options import (
    describe,
    is_available,
    items_chosen,
    other_values,
)
from maseval.benchmark.tau2.review.words import mentions, record, sentences
from maseval.stats.failure_labels import Label

_SUM = r"\d[\d,]{0,9}(?:\.\d\d?)?"
_MONEY = re.compile(rf"(?:\$|\bUSD) ?({_SUM})|\b({_SUM}) ?(?:USD|dollars)\b", re.IGNORECASE)
_BOOKS = re.compile(
    r"\b(?:refund|difference|charged?|credit|amount due|(?:will|'ll) (?:receive|get|owe|pay))\b"
    rf"[^$.?!\n]{{0,40}}(?:\$|\bUSD) ?{_SUM}"
    rf"|\$ ?{_SUM} (?:will be |to be |is )?(?:refund|charge|credited|back\b)",
    re.IGNORECASE,
)
_DONE = re.compile(r"\b(?:has|have|had) been\b|\bi(?:'ve| have)\b|\bwas\b|(?<!be )refunded", re.I)
# A price for each, or a guess, is no sum that was promised.
_IN_GENERAL = re.compile(r"\b(?:each|per|every|approximately|about|around|up to)\b", re.I)
_ASKS_THE_PRICE = re.compile(
    r"\b(?:(?:how much|what)\b[^.?!]{0,60}\b(?:cost|price|pay|charge|fee|difference|total)"
    r"|how much\b|(?:let me know|tell me|confirm|know)\b[^.?!]{0,40}"
    r"\b(?:cost|price|charge|difference|total|amount))",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"\b(?:up to|at most|no more than|less than|under|below|within|maximum(?: of)?"
    r"|limit(?: of| is)?|budget(?: of| is)?) (?:about |around )?\$ ?(\d[\d,]{0,9}(?:\.\d\d?)?)",
    re.IGNORECASE,
)
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNTED = re.compile(
    rf"\b(\d{{1,2}}|{'|'.join(_NUMBERS)}) (?:\w+ )?(items?|passengers?)\b", re.IGNORECASE
)
_CHEAPEST = re.compile(
    r"\b(?:cheapest|least expensive|lowest[- ](?:price|cost|fare)\w*|most affordable)\b",
    re.IGNORECASE,
)
_DEAREST = re.compile(
    r"\b(?:most expensive|dearest|priciest|highest[- ](?:price|cost)\w*)\b", re.IGNORECASE
)
_SEEKS = re.compile(
    r"\?|\b(?:let me|let's|i(?:'ll| will)|i(?:'m| am) (?:going|happy|glad)|search|find|look|check"
    r"|you(?:'d| would|'ve| have)? (?:want|like|prefer|ask|mention|request|said)|your request"
    r"|happy to|glad to|help)",
    re.IGNORECASE,
)
_NOT_THERE = re.compile(
    r"\b(?:not|n't|no longer|isn't|aren't) (?:currently )?(?:available|in stock|offered)"
    r"|\bunavailable\b|\bout of stock\b|\bsold out\b|\bno (?:\w+ ){0,4}(?:option|variant|version)",
    re.IGNORECASE,
)
_ONLY = re.compile(
    r"\bonly (?P<kind>(?:\w+ ){0,3}(?:one|option|variant|version|model|choice|item)s?\b"
    r"[^.?!\n]{0,60}?)(?: is| are| was|:)",
    re.IGNORECASE,
)
_CARD = r"(?:certificate|gift card)s?"
_LEFT = re.compile(
    rf"\b{_CARD}\b[^.?!\n]{{0,60}}\b(?:remaining|left|unused|balance of)\b"
    rf"|\b(?:remaining|left|unused|balance)\b[^.?!\n]{{0,30}}\b(?:on|in|of) (?:your|the) {_CARD}",
    re.IGNORECASE,
)
# What else is possible, or that only a part is not, says nothing against the whole.
_CAN = re.compile(
    r"\b(?:you|we|i) (?:can|may)\b(?! ?not\b|'t| only\b)"
    r"|\b(?:that|this|specific|particular|individual|single|separate|partial)(?:ly)? (?:\w+ )?"
    r"(?:option|flight|item|variant|piece|part)",
    re.IGNORECASE,
)
_ALL = re.compile(
    r"\b(?:all|every|each|none|any)(?: of)? (?:of )?(?:your|the) (?:\w+ ){0,2}"
    r"(?:order|reservation|booking|trip)s?\b"
    r"|\bno other (?:\w+ )?(?:order|reservation|booking|trip)s?\b",
    re.IGNORECASE,
)
_IS_TO_COME = re.compile(r"\?|\blet me\b|\bi(?:'ll| will)\b|\bto (?:ensure|make sure|see)\b", re.I)
_LOOKED = re.compile(
    r"\b(?:checked|reviewed|looked|searched|went|gone|found|see|have|contains?)\b", re.IGNORECASE
)


class UserDecision(NamedTuple):
    """A reply of the user on which a failure rests, and what was decided by it.

    ``calls`` are those that were then made, or that the user turned down.
    """

    reply: tuple[int, str]
    offer: tuple[int, str]
    calls: list[Tau2ToolCall]
    wrong: Tau2ToolCall | None


def false_statement(failure: Failure) -> Label | None:
    """The user decided by something that the agent said, and that was not so."""
    for decision in _decisions(failure):
        for check in _CHECKS:
            found = next(check(failure, decision), None)
            if found is not None:
                at, text = decision.reply
                evidence = (*found, f"message {at}, the user then: {format_value(text)}")
                return Label("agent", "false statement", "false statement", evidence)
    return None


def price_not_told(failure: Failure) -> Label | None:
    """The user asked for the price, or set a limit, and the agent acted without a word of it."""
    for decision in _decisions(failure):
        if decision.wrong is None:
            continue
        index = next(index for index, each, _ in failure.writes if each is decision.wrong)
        charge = sum(each.sum for each in book(failure, index, [decision.wrong]))
        asked = [
            (at, text)
            for at, text in failure.said_by("user")
            if at < index and (_ASKS_THE_PRICE.search(text) or _LIMIT.search(text))
        ]
        told = [at for at, text in failure.said_by("assistant") if _MONEY.search(text)]
        if charge > 0 and asked and not any(asked[-1][0] < at < index for at in told):
            at, text = asked[-1]
            if _was_told_before(failure, at, charge) or not _is_over(text, charge):
                continue
            evidence = (
                f"message {at}, the user: {format_value(text)}",
                f"message {index}: {render_call(decision.wrong)} books {charge:g}, untold",
            )
            return Label("agent", "price not told", "price not told", evidence)
    return None


def _was_told_before(failure: Failure, before: int, charge: float) -> bool:
    said = (text for at, text in failure.said_by("assistant") if at < before)
    return any(abs(amount - charge) < 0.5 for text in said for amount in _amounts(text))


def _is_over(text: str, charge: float) -> bool:
    """Tell whether a charge is over the limit in a text; without a limit it may be."""
    limits = [words.read_amount(each) for each in _LIMIT.findall(text)]
    return not limits or charge > max(limits)


def _decisions(failure: Failure) -> Iterator[UserDecision]:
    """Yield the replies before wrong writes, and those that turn a missing call down."""
    for index, call in failure.wrong_writes:
        made = next((c for at, c, _ in failure.writes if at == index and c == call), None)
        reply = failure.reply_before(index)
        offer = reply and _said_before(failure, reply[0])
        if made is None or reply is None or not offer or made["requestor"] != "assistant":
            continue
        after = failure.reply_after(index)
        until = after[0] if after else len(failure.messages)
        yield UserDecision(reply, offer, _writes_between(failure, reply[0], until), made)
    if failure.nothing_wrong_done and not failure.attempts:
        missing = [each.call for each in failure.to_add]
        for call in missing:
            for offer in failure.offers_of(call):
                reply = failure.reply_after(offer[0])
                if reply and (words.declines(reply[1]) or words.narrows(reply[1])):
                    yield UserDecision(reply, offer, missing, None)


def _said_before(failure: Failure, index: int) -> tuple[int, str] | None:
    """Return what the agent said last before a message; its first words offer nothing."""
    said = [each for each in failure.said_by("assistant") if each[0] < index]
    return said[-1] if said and said[-1][0] else None


def _writes_between(failure: Failure, start: int, end: int) -> list[Tau2ToolCall]:
    return [
        call
        for index, call, answer in failure.writes
        if start < index < end and not is_error(answer)
    ]


def _wrong_sum(failure: Failure, decision: UserDecision) -> Iterator[tuple[str, ...]]:
    """Find a sum that is not what the tool books."""
    at, text = decision.offer
    claims = [
        each
        for each in sentences(text)
        if _BOOKS.search(each) and not _IN_GENERAL.search(each) and not _DONE.search(each)
    ]
    if not claims or _was_wanted_before(failure, at):
        return
    booked = book(failure, decision.reply[0], decision.calls)
    booked = [each for each in booked if each.amounts]
    if booked and not explains(_amounts(text), booked):
        yield _evidence(at, claims[-1], _in_words(booked))


def _was_wanted_before(failure: Failure, index: int) -> bool:
    """Tell whether the user had named what was wrong before a message, and so not because of it."""
    if failure.swap is None:
        return False
    _, made, wanted = failure.swap
    pairs = list(differing_values("", made["arguments"], wanted["arguments"]))
    return bool(pairs) and all(is_named(failure, index, *pair) for pair in pairs)


def _in_words(bookings: list[Booking]) -> str:
    sums = "; ".join(f"{each.call['name']} books {each.sum:g}" for each in bookings)
    return f"the tool: {sums}"


def _amounts(text: str) -> list[float]:
    return [words.read_amount(one or other) for one, other in _MONEY.findall(text)]


def _sentences_before(failure: Failure, decision: UserDecision) -> Iterator[tuple[int, str]]:
    """Yield what the agent had said by then, with its messages."""
    for at, text in failure.said_by("assistant"):
        if at < decision.reply[0]:
            yield from ((at, sentence) for sentence in sentences(text))


def _evidence(at: int, sentence: str, truth: str) -> tuple[str, ...]:
    return f"message {at}, the agent: {format_value(sentence)}", truth


def _wrong_count(failure: Failure, decision: UserDecision) -> Iterator[tuple[str, ...]]:
    """Find a wrong number of items or passengers of a record that is decided about."""
    calls = [*decision.calls, *(each.call for each in failure.to_add)]
    names = {name for call in calls if (name := record(call))}
    for at, sentence in _sentences_before(failure, decision):
        counted = _COUNTED.findall(sentence)
        named = [name for name in names if counted and mentions(sentence, name)]
        if len(named) != 1 or len(counted) != 1:
            continue
        number, noun = counted[0]
        stated = int(number) if number.isdigit() else _NUMBERS.index(number.lower()) + 1
        rows = _rows(failure, named[0], f"{noun.lower().rstrip('s')}s")
        if rows and stated > len(rows):
            yield _evidence(at, sentence, f"{named[0]} has {len(rows)}")


def _rows(failure: Failure, name: str, field: str) -> list[Any]:
    found = find_record(failure.subject.case.setting.world(), name).get(field)
    return found if isinstance(found, list) else []


def _wrong_extreme(failure: Failure, decision: UserDecision) -> Iterator[tuple[str, ...]]:
    """Find what is called the cheapest, where the reference solution has something cheaper."""
    if failure.swap is None or decision.wrong is None:
        return
    index, made, wanted = failure.swap
    if made != decision.wrong or not _differ_in_the_choice(made, wanted):
        return
    for at, sentence in _sentences_before(failure, decision):
        cheapest, dearest = (_claims(each, sentence) for each in (_CHEAPEST, _DEAREST))
        if not cheapest and not dearest:
            continue
        costs = [book(failure, index, [call]) for call in (made, wanted)]
        if not all(costs):
            return
        one, other = costs[0][0].sum, costs[1][0].sum
        if (cheapest and one > other + 0.01) or (dearest and one < other - 0.01):
            truth = f"{render_call(made)} books {one:g}, {render_call(wanted)} {other:g}"
            yield _evidence(at, sentence, truth)


def _wrong_stock(failure: Failure, decision: UserDecision) -> Iterator[tuple[str, ...]]:
    """Find an item that is said not to be there, or not to be one of a kind, and is."""
    made = items_chosen(decision.wrong) if decision.wrong else []
    for item in (item for each in failure.to_add for item in items_chosen(each.call)):
        if item in made or not is_available(failure, item):
            continue
        own, strange = describe(failure, item), other_values(failure, item)
        for at, sentence in _sentences_before(failure, decision):
            only = _ONLY.search(sentence)
            if only and _leaves_out(item, only, [*strange, *made]):
                yield _evidence(at, sentence, f"{item} is one as well: {', '.join(sorted(own))}")
            if not _NOT_THERE.search(sentence) or any(mentions(sentence, w) for w in strange):
                continue
            if mentions(sentence, item) or sum(mentions(sentence, word) for word in own) > 1:
                yield _evidence(at, sentence, f"{item} is available: {', '.join(sorted(own))}")


def _leaves_out(item: str, only: re.Match[str], strange: list[str]) -> bool:
    """Tell whether something else is called the only one of a kind that an item is of."""
    named = only.string[only.end() :]
    if item in named or any(mentions(only["kind"], word) for word in strange):
        return False
    return any(mentions(named, word) for word in strange)


def _wrong_rest(failure: Failure, decision: UserDecision) -> Iterator[tuple[str, ...]]:
    """Find what is said to be left on a card or certificate, and no balance gives."""
    at, text = decision.offer
    for sentence in sentences(text):
        stated = _amounts(sentence)
        if not stated or not _LEFT.search(sentence) or _DONE.search(sentence):
            continue
        calls = [*decision.calls, *(each.call for each in failure.to_add)]
        held = {amount for call in calls for amount in _balances(failure, call)}
        paid = {abs(a) for b in book(failure, decision.reply[0], decision.calls) for a in b.amounts}
        paid |= {*_amounts(text)}
        known = {*held, *(h - p for h in held for p in paid), sum(held)}
        if held and not any(abs(one - each) < 0.51 for one in stated for each in known):
            shown = ", ".join(f"{each:g}" for each in sorted(held))
            yield _evidence(at, sentence, f"held are {shown}")


def _balances(failure: Failure, call: Tau2ToolCall) -> Iterator[float]:
    """Yield the balances of the ways to pay of the person that a call is for."""
    world = failure.subject.case.setting.world()
    owner = call["arguments"].get("user_id") or find_record(world, record(call)).get("user_id")
    ways = find_record(world, owner).get("payment_methods")
    for each in ways.values() if isinstance(ways, Mapping) else ():
        amount = each.get("amount", each.get("balance"))
        if amount is not None:
            yield float(amount)


def _differ_in_the_choice(made: Tau2ToolCall, wanted: Tau2ToolCall) -> bool:
    """Tell whether two calls are for the same things, so that their costs can be compared."""
    one, other = made["arguments"], wanted["arguments"]
    return all(one.get(name) == other.get(name) for name in ("item_ids", "cabin", "passengers"))


def _claims(extreme: re.Pattern[str], sentence: str) -> bool:
    """Tell whether a sentence says what is the cheapest, and not what is sought."""
    return extreme.search(sentence) is not None and not _SEEKS.search(sentence)


def _wrong_refusal(failure: Failure, decision: UserDecision) -> Iterator[tuple[str, ...]]:
    """Find what the agent says cannot be done with a record, and the reference solution does.

    What the user then agreed to is another thing with the same record.
    """
    if decision.wrong is None:
        return
    made, subject = decision.wrong["name"], record(decision.wrong)
    for change in failure.to_add:
        call = change.call
        if change.action_id in failure.forbidden_gold or call["name"] == made:
            continue
        if subject is None or record(call) != subject:
            continue
        last = max((at for at, _ in failure.offers_of(call) if at < decision.reply[0]), default=-1)
        for at, sentence in _sentences_before(failure, decision):
            if at <= last or not _refuses(sentence, call):
                continue
            if not is_error(world_at(failure, at).respond(call)):
                yield _evidence(at, sentence, f"it can be done: {render_call(call)}")


def _refuses(sentence: str, call: Tau2ToolCall) -> bool:
    return (
        words.refusal(sentence)
        and words.says_the_like(sentence, call)
        and not words.doubts_the_facts(sentence)
        and not _CAN.search(sentence)
        and not words.other_ids(sentence, call)
    )


def _not_all_looked_at(failure: Failure, decision: UserDecision) -> Iterator[tuple[str, ...]]:
    """Find the claim to know all records, before the agent has looked at the right one."""
    for change in failure.to_add:
        name = record(change.call)
        if name is None or change.call["requestor"] != "assistant":
            continue
        seen = (i for i, call, _ in failure.calls if name in call["arguments"].values())
        first = next(seen, len(failure.messages))
        for at, sentence in _sentences_before(failure, decision):
            claim = _ALL.search(sentence) and _LOOKED.search(sentence)
            if claim and at <= first and not _IS_TO_COME.search(sentence):
                yield _evidence(at, sentence, f"it has not looked at {name!r}")


_CHECKS: tuple[Callable[[Failure, UserDecision], Iterator[tuple[str, ...]]], ...] = (
    _wrong_sum,
    _wrong_count,
    _wrong_extreme,
    _wrong_stock,
    _wrong_rest,
    _wrong_refusal,
    _not_all_looked_at,
)
