"""The airline's rules about the terms: what the user agreed to is what is done."""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from itertools import combinations

from maseval.benchmark.tau2.domains.airline.models import (
    Certificate,
    CreditCard,
    GiftCard,
    PaymentMethod,
)
from maseval.benchmark.tau2.domains.airline.tools import BAGGAGE_PRICE, INSURANCE_PRICE
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.airline.journeys import (
    BAGGAGES,
    BOOK,
    CANCEL,
    CHANGES,
    FLIGHTS,
    TOP,
    AirlineCall,
    airline,
    number_of,
)
from maseval.benchmark.tau2.review.policy.confirming import names, spell_date, spell_payment
from maseval.benchmark.tau2.review.policy.consent import Consent
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell
from maseval.benchmark.tau2.review.talk import Utterance

PAID = (BOOK, FLIGHTS, BAGGAGES)
MOST_EXTRA_BAGS = 6


@airline.flow("payment.agreed", TOP, *PAID, words=True)
def agreed_payment(call: AirlineCall) -> Iterator[Answer]:
    """The payment method is one that the user chose or agreed to."""
    user, consent = call.owner, call.consent
    if user is None or consent is None:
        return
    methods = [
        (each, spell_payment(method, each), kind_words(method))
        for each, method in user.payment_methods.items()
    ]
    named = _methods_in(consent.question.lower, methods)
    for said in call.user_texts:
        if said.message_index >= consent.reply.message_index:
            chosen = _methods_in(said.lower, methods)
            is_reply = said.message_index == consent.reply.message_index
            named = chosen if is_reply and chosen else named | chosen
    for used in call.payments:
        if named and used in user.payment_methods and used not in named:
            text = f"{used} is used, and the user agreed to {', '.join(sorted(named))}"
            yield Broken(text, {"asked": consent.question.text, "reply": consent.reply.text})


def _methods_in(text: str, methods: Iterable[tuple[str, list[str], list[str]]]) -> set[str]:
    """Return the payment methods that a text in lower case may mean; none if it speaks of none.

    Each comes with the ways to write it, and with the words for its kind.
    """
    exactly = {each for each, forms, _ in methods if any(names(text, form) for form in forms)}
    kinds = {each for each, _, words in methods if any(word in text for word in words)}
    return exactly or kinds


def kind_words(method: PaymentMethod) -> list[str]:
    match method:
        case CreditCard():
            return ["credit card", "credit_card", method.brand.lower()]
        case GiftCard():
            return ["gift card", "gift_card"]
        case Certificate():
            return ["certificate", "voucher"]


_CLAIMS = {
    "book_reservation": "total|charge[ds]?|cost|pay|price",
    "cancel_reservation": "refund(?:ed)?|back",
    "update_reservation_baggages": "total|charge[ds]?|cost|pay|fee",
    "update_reservation_flights": "refund(?:ed)?|diff(?:erence)?|additional|charge[ds]?|due|pay"
    "|extra|back|credit(?:ed)?",
}
_TOTAL = "total"


@cache
def _claim_patterns(tool: str) -> tuple[re.Pattern[str], ...]:
    words = _CLAIMS.get(tool, _TOTAL)
    amount = phrases.AMOUNT.pattern
    return (
        re.compile(rf"\b(?:{words})\b(?:[^$\n.!?]|\.(?! )){{0,60}}{amount}"),
        re.compile(rf"{amount} (?:\w+ ){{0,3}}(?:{words})\b"),
        re.compile(rf"\b(?:{words})\b[^\n!?]{{0,120}}= ?\**{amount}"),
    )


@airline.flow("price.agreed", TOP, *CHANGES, words=True)
def agreed_price(call: AirlineCall) -> Iterator[Answer]:
    """The sum that is charged or refunded is the sum that the user was told."""
    moved, consent = call.moved, call.consent
    if not moved or consent is None:
        return
    text = consent.question.lower
    told = _amounts(phrases.AMOUNT, text)
    people = call.people if _tells_prices_per_head(consent.question) else 1
    sums = {each * factor for each in told for factor in (1, people)}
    parts = {number_of(each.get("amount")) for each in call.entries("payment_methods")}
    if not told or (parts and parts <= sums):
        return
    named = _amounts(_labelled(call.tool), text)
    extras = _extras(call, consent, set() if named else told)
    if any(abs(moved) - each in sums for each in (0, *extras)):
        return
    facts = _facts(call)
    claims = _claims(call.tool, text) - facts
    if not claims and not sums & _new_prices(call) and not _adds_up(sums, abs(moved)):
        claims = _claims(_TOTAL, text) - facts
    claims = claims or named
    if not claims:
        return
    if any(each in consent.question.text for each in _other_reservations(call)):
        yield CannotTell("the amounts given may be for several reservations")
        return
    said = [each for each in consent.question.sentences if _amounts(phrases.AMOUNT, each) & claims]
    if any(map(phrases.SUPPOSED.search, said)):
        yield CannotTell("the amount given may depend on something")
        return
    verb = "refunded" if moved < 0 else "charged"
    wrong = ", ".join(f"${each:,.2f}" for each in sorted(claims))
    breach = f"${abs(moved):,.2f} is {verb}, but the user was told {wrong}"
    yield Broken(breach, {"said": " ".join(map(consent.question.quote, said))})


@cache
def _labelled(tool: str) -> re.Pattern[str]:
    """Return the pattern of an amount that is named as what a call moves, as in a list."""
    words = {FLIGHTS: "(?:price|fare|cost) diff(?:erence)?", CANCEL: "(?:total )?refund"}
    name, amount = words.get(tool, "(?:grand )?total"), phrases.AMOUNT.pattern
    before, behind = rf"\b{name}(?: amount)?[ :|=-]{{1,4}}{amount}", rf"{amount} {name}\b"
    return re.compile(f"{before}|{behind}")


def _claims(tool: str, text: str) -> set[float]:
    """Return the sums that a text gives as what a call moves."""
    return set().union(*(_amounts(each, text) for each in _claim_patterns(tool)))


def _new_prices(call: AirlineCall) -> set[float]:
    """Return the price of the journey after a change: of all of it, and of what is new in it."""
    reservation = call.reservation
    if reservation is None:
        return set()
    people = len(reservation.passengers)
    before = sum(flight.price for flight in reservation.flights) * people
    after = (call.moved or 0) + before
    return {float(after), float(sum(call.new_fares) * people)}


def _tells_prices_per_head(said: Utterance) -> bool:
    """Return True if a text has prices for each passenger; free bags are not meant."""
    return any(
        phrases.PER_HEAD.search(line)
        and phrases.AIRLINE_PRICE.search(line)
        and not phrases.BAG.search(line)
        for line in said.sentences
    )


def _extras(call: AirlineCall, consent: Consent, told: set[float]) -> set[float]:
    """Return what insurance and bags of a booking cost if they were added to what was proposed.

    They were if the proposal gives their price apart, or the reply speaks of them.
    """
    arguments, people, reply = call.arguments, call.people, consent.reply.lower
    spoken = phrases.INSURANCE.search(reply) or phrases.BAG.search(reply)
    if not spoken and not told & {float(INSURANCE_PRICE), float(BAGGAGE_PRICE)}:
        return set()
    insured = INSURANCE_PRICE * people if arguments.get("insurance") == "yes" else 0
    bags = BAGGAGE_PRICE * (number_of(arguments.get("nonfree_baggages")) or 0)
    return {float(each) for each in (insured, bags, insured + bags) if each}


def _facts(call: AirlineCall) -> set[float]:
    """Return other sums that belong to the matter: fares, balances, and what bags cost."""
    user, reservation = call.owner, call.reservation
    facts = {0.0}
    if reservation is not None:
        facts |= {float(BAGGAGE_PRICE * count) for count in range(MOST_EXTRA_BAGS)}
    for method in user.payment_methods.values() if user else ():
        facts.add(getattr(method, "amount", 0.0))
    if reservation is not None:
        people, before = len(reservation.passengers), [f.price for f in reservation.flights]
        fares: list[float] = [*before, sum(before)]
        after = (call.moved or 0) / (people or 1) + sum(before)
        fares += [after, *call.new_fares, sum(call.new_fares)]
        facts |= {float(fare * factor) for fare in fares for factor in (1, people)}
    return facts


def _other_reservations(call: AirlineCall) -> list[str]:
    user, own = call.owner, call.arguments.get("reservation_id")
    return [each for each in user.reservations if each != own] if user else []


def _amounts(pattern: re.Pattern[str], text: str) -> set[float]:
    found = (found for found in pattern.finditer(text))
    return {float(amount) for each in found for amount in each.groups() if amount}


def _adds_up(sums: Collection[float], moved: float) -> bool:
    """Return True if an amount is the sum or the difference of two that were told."""
    return any(moved in (a + b, abs(a - b)) for a, b in combinations(sorted(sums), 2))


@airline.flow(
    "book.insurance_wanted", "Book flight, Travel insurance, 1st bullet", BOOK, words=True
)
def insurance_wanted(call: AirlineCall) -> Iterator[Answer]:
    """Insurance is sold to users who want it, and not to others."""
    consent, sold = call.consent, call.arguments.get("insurance")
    listed = phrases.LISTED_INSURANCE.search(consent.question.lower) if consent else None
    if consent and listed and sold in ("yes", "no") and listed[1] != sold:
        if not phrases.INSURANCE.search(consent.reply.lower):
            text = f"the user agreed to insurance: {listed[1]}, and it is booked as {sold}"
            yield Broken(text)
        return
    declined = _refusal_of(call, phrases.INSURANCE, phrases.NO_INSURANCE)
    if sold == "yes" and declined:
        yield Broken("insurance is sold to a user who declined it", {"user": declined})


@airline.flow(
    "bags.wanted", "Book flight, Checked bag allowance, last paragraph", BOOK, BAGGAGES, words=True
)
def bags_wanted(call: AirlineCall) -> Iterator[Answer]:
    """No bags are added that the user does not need."""
    bags = call.bags or 0
    if bags <= call.bags_before:
        return
    spoken = (*call.agent_texts, *call.user_texts)
    if not any(phrases.BAG.search(each.lower) for each in spoken):
        yield Broken(f"{bags:g} bags are booked, but bags were not mentioned")
        return
    declined = _refusal_of(call, phrases.BAG, phrases.NO_BAGS)
    if declined:
        text = f"{bags:g} bags are booked for a user who declined them"
        yield Broken(text, {"user": declined})


_COUNTS = {word: n for n, word in enumerate(("one", "two", "three", "four", "five", "six"), 1)}


@airline.flow("bags.agreed", TOP, BOOK, BAGGAGES, words=True)
def agreed_bags(call: AirlineCall) -> Iterator[Answer]:
    """There are not more bags than the user agreed to."""
    consent, before, bags = call.consent, call.bags_before, call.bags or 0
    if consent is None or bags <= before:
        return
    told = f"{consent.question.lower}\n{consent.reply.lower}"
    found = (one or other for one, other in phrases.BAG_COUNT.findall(told))
    counts = [_COUNTS.get(each) or int(each) for each in found]
    if phrases.ADDS.search(told):
        counts += [each + int(before) for each in counts]
    if counts and bags > max(counts):
        yield Broken(f"there are {bags:g} bags in all, and the user agreed to {max(counts)}")


def _refusal_of(call: AirlineCall, subject: re.Pattern[str], no: re.Pattern[str]) -> str:
    """Return the user's last sentence about something if it declines it.

    The proposal that the user agreed to is such a sentence, too.
    """
    consent = call.consent
    said_last = [*call.user_texts, *((consent.question,) if consent and consent.given else ())]
    for said in sorted(said_last, key=lambda each: -each.message_index):
        about = [each for each in said.sentences if subject.search(each)]
        if about:
            return said.quote(about[-1]) if no.search(about[-1]) else ""
    return ""


CABINS = {
    "basic_economy": re.compile(r"basic[ _-]economy"),
    "economy": re.compile(r"(?<!basic )(?<!basic_)(?<!basic-)economy"),
    "business": re.compile(r"business|\bbiz\b"),
}


@airline.flow("flights.agreed", TOP, BOOK, FLIGHTS, words=True)
def agreed_flights(call: AirlineCall) -> Iterator[Answer]:
    """The flights, their dates and the cabin are those that the user agreed to."""
    consent, reservation = call.consent, call.reservation
    if consent is None or not consent.given:
        return
    text = "\n".join(
        [consent.question.text]
        + [
            said.text
            for said in call.user_texts
            if said.message_index >= consent.reply.message_index
        ]
    )
    lower, flights = text.lower(), set(phrases.FLIGHT.findall(text))
    has_date = phrases.DATE.search(lower) is not None
    taken = [each for each in call.flights if each not in call.flights_kept]
    for flight, date in taken:
        if flights and flight not in flights:
            if len(flights) < len(taken):
                yield CannotTell("the proposal does not name all flights")
                return
            yield Broken(
                f"flight {flight} is taken, and the user agreed to {', '.join(sorted(flights))}"
            )
        elif has_date and not any(names(lower, form) for form in spell_date(date)):
            yield Broken(f"flight {flight} is taken on {date}, which the user did not agree to")
    cabin = call.text("cabin")
    named = {name for name, pattern in CABINS.items() if pattern.search(lower)}
    stays = reservation is not None and reservation.cabin == cabin
    if cabin in CABINS and named and cabin not in named and not stays:
        yield Broken(f"the cabin is {cabin}, and the user agreed to {', '.join(sorted(named))}")
