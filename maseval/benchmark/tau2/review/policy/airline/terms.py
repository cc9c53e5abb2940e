"""The airline's rules about money and terms: what is due to a user, and that it is as agreed."""

import json
import re
from collections.abc import Iterator
from functools import cache, cached_property
from itertools import combinations

from maseval.benchmark.tau2.domains.airline.models import Reservation
from maseval.benchmark.tau2.domains.airline.tools import BAGGAGE_PRICE
from maseval.benchmark.tau2.review.plain_text import NUMBERS
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.absence import found_in, missing
from maseval.benchmark.tau2.review.policy.airline.conduct import (
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
from maseval.benchmark.tau2.review.policy.confirming import names, spell_date
from maseval.benchmark.tau2.review.policy.payments import methods_named
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell, Policy
from maseval.benchmark.tau2.review.talk import Talk, Utterance

FOR_A_CANCELLATION = 100
FOR_A_DELAY = 50
HEADING = "Refunds and Compensation"
_CHANGES = ("update_reservation_flights", "cancel_reservation")
# Delayed and cancelled flights do not come up in these.
_SEARCHES = ("search_direct_flight", "search_onestop_flight")
_ITS_NAMES = ("compensation", "certificate", "voucher", "gesture")


class CertificateCall(AirlineCall):
    """A call that sends a certificate, with the reservations it may be for."""

    @cached_property
    def reservations(self) -> list[Reservation]:
        """The user's reservations that were looked up or named; all of them if none was."""
        used = [made.call["arguments"].get("reservation_id") for made in self.calls_read]
        found = map(self.find_reservation, self.owner.reservations if self.owner else ())
        own = [each for each in found if each]
        named = [e for e in own if e.reservation_id in used or e.reservation_id in self.user_said]
        return named or own

    def has_grounds(self, reservation: Reservation) -> bool:
        """Return True if the amount is due for what happened to a reservation."""
        amount, people = number_of(self.arguments.get("amount")), len(reservation.passengers)
        about = [
            made
            for made in self.calls_read
            if made.call["arguments"].get("reservation_id") == reservation.reservation_id
        ]
        # The flights of a reservation, also those that it had before.
        flights = {(each.flight_number, each.date) for each in reservation.flights}
        statuses = {
            self.status_of(*each) for each in flights.union(*(_flights_in(m.answer) for m in about))
        }
        if amount == FOR_A_CANCELLATION * people and "cancelled" in statuses:
            return True
        if amount != FOR_A_DELAY * people:
            return False
        if not self.calls_read:  # as in a reference solution, whose payments show a change
            return reservation.status == "cancelled" or len(reservation.payment_history) > 1
        changed = any(made.call["name"] in _CHANGES and not made.failed for made in about)
        return changed and "delayed" in statuses


def _flights_in(answer: str) -> set[tuple[str, str]]:
    """Return the flights of a reservation that a tool answered."""
    try:
        return {(each["flight_number"], each["date"]) for each in json.loads(answer)["flights"]}
    except (ValueError, KeyError, TypeError):
        return set()


_certificates = Policy("airline", CertificateCall)
_SEND = "send_certificate"


@_certificates.state("compensation.eligible", f"{HEADING}, 2nd and 4th paragraph", _SEND)
def compensated_user(call: CertificateCall) -> Iterator[Answer]:
    """Only silver and gold members, insured and business travellers are compensated."""
    user = call.owner
    if user is None or user.membership != "regular":
        return
    grounds = [each for each in call.reservations if call.has_grounds(each)]
    for each in grounds or call.reservations:
        if each.insurance == "yes" or each.cabin == "business":
            return
    yield Broken(f"{user.user_id} is a regular member without insurance or a business flight")


@_certificates.state("compensation.amount", f"{HEADING}, both bullets", _SEND)
def compensation_amount(call: CertificateCall) -> Iterator[Answer]:
    """A certificate is worth 100 dollars a passenger after a cancellation, 50 after a delay."""
    amount, rates = call.arguments.get("amount"), (FOR_A_CANCELLATION, FOR_A_DELAY)
    due = {rate * len(each.passengers) for each in call.reservations for rate in rates}
    if call.owner is not None and number_of(amount) not in due:
        yield Broken(f"{amount} is 50 or 100 dollars a passenger of no reservation")


@_certificates.state("compensation.grounds", f"{HEADING}, both bullets and last paragraph", _SEND)
def compensation_grounds(call: CertificateCall) -> Iterator[Answer]:
    """A certificate is sent for a cancelled flight, or for a delay once the journey is changed."""
    if call.owner is not None and not any(map(call.has_grounds, call.reservations)):
        yield Broken(
            f"{call.arguments.get('amount')} dollars are sent although no reservation with as many "
            "passengers has a cancelled flight, or was changed or cancelled because of a delay"
        )


@_certificates.protocol("compensation.facts", f"{HEADING}, 3rd paragraph", _SEND, words=False)
def facts_confirmed(call: CertificateCall) -> Iterator[Answer]:
    """The agent looks the reservation and its flights up before it compensates."""
    if call.owner is None:
        return
    made = [(each.call["name"], each.call["arguments"], each.answer) for each in call.calls_read]
    own = [
        answer
        for name, arguments, answer in made
        if name == "get_reservation_details"
        and arguments.get("reservation_id") in call.owner.reservations
    ]
    flights = {number for answer in own for number, _ in _flights_in(answer)}
    if not own:
        yield Broken("a certificate is sent before a reservation of the user was looked up")
    elif not any(
        name in _SEARCHES or str(arguments.get("flight_number")) in flights
        for name, arguments, _ in made
    ):
        yield Broken("a certificate is sent before the status of a flight was looked up")


@airline.talk("compensation.unasked", f"{HEADING}, 1st paragraph")
def compensation_asked_for(talk: Talk) -> Iterator[Answer]:
    """Compensation is offered only to a user who asks for it."""
    for said, sentence in talk.agent_sentences(*_ITS_NAMES):
        briefly = "$" in said.lower and phrases.OFFERS_BRIEFLY.search(said.lower)
        offers = briefly or phrases.OFFERS.search(sentence)
        if not offers or phrases.REFUSES_IT.search(sentence):
            continue
        told = "\n".join(each.lower for each in talk.user_before(said.message_index))
        if phrases.WANTED.search(told):
            return
        text = "compensation is offered to a user who did not ask for it"
        at, values = said.message_index, {"offered": said.quote(sentence)}
        yield missing(text, found_in(phrases.MAYBE_WANTED, told), values, at)
        return


PAID = (BOOK, FLIGHTS, BAGGAGES)
MOST_EXTRA_BAGS = 6


@airline.flow("payment.agreed", TOP, *PAID, words=True)
def agreed_payment(call: AirlineCall) -> Iterator[Answer]:
    """The payment method is one that the user chose or agreed to."""
    user, consent = call.owner, call.consent
    if user is None or consent is None:
        return
    methods = user.payment_methods
    named = methods_named(consent.question.lower, methods)
    for said in call.user_texts:
        if said.message_index >= consent.reply.message_index:
            chosen = methods_named(said.lower, methods)
            is_reply = said.message_index == consent.reply.message_index
            named = chosen if is_reply and chosen else named | chosen
    named &= set(methods)
    both = (*consent.question.sentences, *consent.reply.sentences)
    agreed = ", ".join(sorted(named))
    for used in call.payments:
        if not named or used not in user.payment_methods or used in named:
            continue
        if _names_others(call, consent.question) or any(
            phrases.SUPPOSED.search(each) and methods_named(each, methods) for each in both
        ):
            yield CannotTell(f"{agreed} may depend on something")
        else:
            values = {"asked": consent.question.text, "reply": consent.reply.text}
            yield Broken(f"{used} is used, and the user agreed to {agreed}", values)


def _names_others(call: AirlineCall, said: Utterance) -> bool:
    """Return True if a text is also about another reservation of the user."""
    others = set(call.owner.reservations if call.owner else ()) - {call.text("reservation_id")}
    return any(each in said.text for each in others)


_CLAIMS = {
    "book_reservation": f"total|cost|pay|price|{phrases.MONEY_TAKEN}",
    "cancel_reservation": f"back|returns?|full amount|{phrases.MONEY_BACK}",
    "update_reservation_baggages": f"total|cost|pay|fee|{phrases.MONEY_TAKEN}",
    "update_reservation_flights": "diff(?:erence)?|additional|due|pay|extra|back|credit"
    f"|{phrases.MONEY_BACK}|{phrases.MONEY_TAKEN}",
}
_TOTAL = "total|comes to|altogether"


@cache
def _claim_patterns(tool: str) -> tuple[re.Pattern[str], ...]:
    words = _CLAIMS.get(tool, _TOTAL)
    amount = phrases.AMOUNT.pattern
    return (
        re.compile(rf"\b(?:{words})\b(?:[^$\n.!?]|\.(?! )){{0,60}}{amount}"),
        re.compile(rf"{amount} (?:\w+ ){{0,3}}(?:{words})\b"),
        re.compile(rf"\b(?:{words})\b[^\n!?]{{0,120}}= ?\**{amount}"),
        re.compile(rf"\bfor {amount} ?\?"),
    )


@airline.flow("price.agreed", TOP, *CHANGES, words=True)
def agreed_price(call: AirlineCall) -> Iterator[Answer]:
    """The sum that is charged or refunded is the sum that the user was told."""
    moved, consent = call.moved, call.consent
    if not moved or consent is None:
        return
    text = consent.question.lower
    told = _amounts(phrases.AMOUNT, text)
    if not told or abs(moved) in told:
        return
    people = call.people if _tells_prices_per_head(consent.question) else 1
    sums = {each * factor for each in told for factor in (1, people)}
    parts = {number_of(each.get("amount")) for each in call.entries("payment_methods")}
    # Two sums that were told may be the parts of the one that is moved.
    added = {one + other for one, other in combinations(sorted(sums), 2)}
    if abs(moved) in sums or (parts and parts <= sums):
        return
    named = _amounts(_labelled(call.tool), text)
    facts = _facts(call)
    answered = call.talk.amount_answered(consent.question)
    claims = _claims(call.tool, text) - facts
    if not claims and answered is not None:
        claims = {answered} - facts
    if not claims and abs(moved) not in added:
        claims = _claims(_TOTAL, text) - facts
    claims = claims or named or (told - facts if len(told) == 1 else set())
    if not claims or (not named and abs(moved) in added):
        return
    if _names_others(call, consent.question):
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
    words = {
        FLIGHTS: "(?:price|fare|cost) diff(?:erence)?",
        CANCEL: "(?:total )?(?:refund|reimbursement)",
    }
    name, amount = words.get(tool, "(?:grand )?total"), phrases.AMOUNT.pattern
    before, behind = rf"\b{name}(?: amount)?[ :|=-]{{1,4}}{amount}", rf"{amount} {name}\b"
    return re.compile(f"{before}|{behind}")


def _claims(tool: str, text: str) -> set[float]:
    """Return the sums that a text gives as what a call moves."""
    return set().union(*(_amounts(each, text) for each in _claim_patterns(tool)))


def _tells_prices_per_head(said: Utterance) -> bool:
    """Return True if a text has prices for each passenger; free bags are not meant."""
    return any(
        phrases.PER_HEAD.search(line)
        and phrases.AIRLINE_PRICE.search(line)
        and not phrases.BAG.search(line)
        for line in said.sentences
    )


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


def _amounts(pattern: re.Pattern[str], text: str) -> set[float]:
    found = (found for found in pattern.finditer(text))
    return {float(amount) for each in found for amount in each.groups() if amount}


@airline.spoken_flow("book.insurance_wanted", "Book flight, Travel insurance, 1st bullet", BOOK)
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


@airline.spoken_flow("bags.wanted", "Book flight, Checked bag allowance", BOOK, BAGGAGES)
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


@airline.flow("bags.agreed", TOP, BOOK, BAGGAGES, words=True)
def agreed_bags(call: AirlineCall) -> Iterator[Answer]:
    """There are not more bags than the user agreed to."""
    consent, before, bags = call.consent, call.bags_before, call.bags or 0
    if consent is None or bags <= before:
        return
    told = phrases.FORMER_COUNT.sub("", f"{consent.question.lower}\n{consent.reply.lower}")
    found = (one or other for one, other in phrases.BAG_COUNT.findall(told))
    in_all = phrases.COUNT_IN_ALL.findall(told) if call.tool == BAGGAGES else []
    new = phrases.NEW_COUNT.findall(told)
    counts = [NUMBERS.get(each) or int(each) for each in (*found, *in_all, *new)]
    if phrases.ADDS.search(told) and not phrases.IN_ALL.search(told):
        counts += [each + int(before) for each in counts]
    # "A second bag" makes two.
    counts += [{"second": 2, "third": 3}[each] for each in phrases.NTH_BAG.findall(told)]
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
    "economy": re.compile(r"eco(?<!basic[ _-]eco)(?:n(?:omy)?)?\b|coach\b"),
    "business": re.compile(r"b(?:usiness|(?<!\w.)iz\b)"),
}


@airline.flow("flights.agreed", TOP, BOOK, FLIGHTS, words=True)
def agreed_flights(call: AirlineCall) -> Iterator[Answer]:
    """The flights, their dates and the cabin are those that the user agreed to."""
    consent, reservation = call.consent, call.reservation
    if consent is None or not consent.given:
        return
    at = consent.reply.message_index
    since = [said.text for said in call.user_texts if said.message_index >= at]
    text = "\n".join([consent.question.text, *since])
    lower, flights = text.lower(), set(phrases.FLIGHT.findall(text))
    taken = [each for each in call.flights if each not in call.flights_kept]
    for flight, date in taken:
        if flights and flight not in flights:
            if len(flights) < len(taken):
                yield CannotTell("the proposal does not name all flights")
                return
            agreed = ", ".join(sorted(flights))
            yield Broken(f"flight {flight} is taken, and the user agreed to {agreed}")
        elif any(names(lower, form) for form in spell_date(date)):
            continue
        elif phrases.DATE.search(lower):
            yield Broken(f"flight {flight} is taken on {date}, which the user did not agree to")
    cabin = call.text("cabin")
    if cabin not in CABINS or (reservation is not None and reservation.cabin == cabin):
        return
    named = {name for name, pattern in CABINS.items() if pattern.search(lower)}
    if named and cabin not in named:
        yield Broken(f"the cabin is {cabin}, and the user agreed to {', '.join(sorted(named))}")
