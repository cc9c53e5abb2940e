"""The airline's rules about money and terms: what is due to a user, and that it is as agreed."""

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import combinations

from maseval.benchmark.tau2.domains.airline.models import (
    Certificate,
    CreditCard,
    GiftCard,
    PaymentMethod,
    Reservation,
    User,
)
from maseval.benchmark.tau2.domains.airline.tools import BAGGAGE_PRICE
from maseval.benchmark.tau2.review.plain_text import NUMBERS
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.absence import found_in, missing
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
from maseval.benchmark.tau2.review.policy.confirming import (
    names,
    spell_date,
    spell_payment,
)
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell
from maseval.benchmark.tau2.review.talk import Talk, Utterance

FOR_A_CANCELLATION = 100
FOR_A_DELAY = 50
TOOLS = ("send_certificate",)
HEADING = "Refunds and Compensation"
_CHANGES = ("update_reservation_flights", "cancel_reservation")
# Delayed and cancelled flights do not come up in these.
_SEARCHES = ("search_direct_flight", "search_onestop_flight")
_ITS_NAMES = ("compensation", "certificate", "voucher", "gesture")


class _CertificateClaim:
    """A certificate that is about to be sent, and the reservations it may be for."""

    def __init__(self, call: AirlineCall, user: User) -> None:
        self.call, self.user = call, user
        self.amount = number_of(call.arguments.get("amount"))
        self.owned = user.reservations
        self.made = call.calls_read
        self.reservations = self._reservations()

    def _reservations(self) -> list[Reservation]:
        """Return the user's reservations that were looked up or named; all of them if none was."""
        told = self.call.user_said
        used = [made.call["arguments"].get("reservation_id") for made in self.made]
        found = map(self.call.find_reservation, self.user.reservations)
        own = [each for each in found if each]
        spoken = [
            each for each in own if each.reservation_id in told or each.reservation_id in used
        ]
        return spoken or own

    def fits(self, reservation: Reservation, rate: int) -> bool:
        """Return True if the amount is a rate for each passenger of a reservation."""
        return self.amount == rate * len(reservation.passengers)

    def has_grounds(self, reservation: Reservation) -> bool:
        """Return True if the amount is due for what happened to a reservation."""
        if self.fits(reservation, FOR_A_CANCELLATION) and self._had(reservation, "cancelled"):
            return True
        if not self.fits(reservation, FOR_A_DELAY) or not self._was_changed(reservation):
            return False
        return not self.made or self._had(reservation, "delayed")

    def _had(self, reservation: Reservation, status: str) -> bool:
        """Return True if a flight of a reservation has a status, also one that it had before."""
        flights = {(flight.flight_number, flight.date) for flight in reservation.flights}
        for made in self.made:
            if made.call["arguments"].get("reservation_id") == reservation.reservation_id:
                flights |= _flights_in(made.answer)
        return any(self.call.status_of(*flight) == status for flight in flights)

    def _was_changed(self, reservation: Reservation) -> bool:
        """Return True if a reservation was changed or cancelled before.

        Where no call is recorded, as in a reference solution, its payments show it.
        """
        if not self.made:
            return reservation.status == "cancelled" or len(reservation.payment_history) > 1
        return any(
            made.call["name"] in _CHANGES
            and made.call["arguments"].get("reservation_id") == reservation.reservation_id
            and not made.failed
            for made in self.made
        )


def _flights_in(answer: str) -> set[tuple[str, str]]:
    """Return the flights of a reservation that a tool answered."""
    try:
        return {(each["flight_number"], each["date"]) for each in json.loads(answer)["flights"]}
    except (ValueError, KeyError, TypeError):
        return set()


def _claim(call: AirlineCall) -> _CertificateClaim | None:
    user = call.find_user(call.arguments.get("user_id"))
    return _CertificateClaim(call, user) if user else None


@airline.state("compensation.eligible", f"{HEADING}, 2nd and 4th paragraph", *TOOLS)
def compensated_user(call: AirlineCall) -> Iterator[Answer]:
    """Only silver and gold members, insured and business travellers are compensated."""
    claim = _claim(call)
    if claim is None or claim.user.membership != "regular":
        return
    grounds = [each for each in claim.reservations if claim.has_grounds(each)]
    for each in grounds or claim.reservations:
        if each.insurance == "yes" or each.cabin == "business":
            return
    yield Broken(f"{claim.user.user_id} is a regular member without insurance or a business flight")


@airline.state("compensation.amount", f"{HEADING}, both bullets", *TOOLS)
def compensation_amount(call: AirlineCall) -> Iterator[Answer]:
    """A certificate is worth 100 dollars a passenger after a cancellation, 50 after a delay."""
    claim = _claim(call)
    if claim is None:
        return
    due = {
        rate * len(each.passengers)
        for each in claim.reservations
        for rate in (FOR_A_CANCELLATION, FOR_A_DELAY)
    }
    if claim.amount not in due:
        text = f"{call.arguments.get('amount')} is 50 or 100 dollars a passenger of no reservation"
        yield Broken(text)


@airline.state("compensation.grounds", f"{HEADING}, both bullets and last paragraph", *TOOLS)
def compensation_grounds(call: AirlineCall) -> Iterator[Answer]:
    """A certificate is sent for a cancelled flight, or for a delay once the journey is changed."""
    claim = _claim(call)
    if claim is None or any(claim.has_grounds(each) for each in claim.reservations):
        return
    yield Broken(
        f"{call.arguments.get('amount')} dollars are sent although no reservation with as many "
        "passengers has a cancelled flight, or was changed or cancelled because of a delay"
    )


@airline.protocol("compensation.facts", f"{HEADING}, 3rd paragraph", *TOOLS, words=False)
def facts_confirmed(call: AirlineCall) -> Iterator[Answer]:
    """The agent looks the reservation and its flights up before it compensates."""
    claim = _claim(call)
    if claim is None:
        return
    read = [each for each in claim.made if each.call["name"] == "get_reservation_details"]
    own = [each for each in read if each.call["arguments"].get("reservation_id") in claim.owned]
    flights = {number for each in own for number, _ in _flights_in(each.answer)}
    asked = [made.call["arguments"].get("flight_number") for made in claim.made]
    searched = any(made.call["name"] in _SEARCHES for made in claim.made)
    if not own:
        yield Broken("a certificate is sent before a reservation of the user was looked up")
    elif not searched and not flights.intersection(map(str, asked)):
        yield Broken("a certificate is sent before the status of a flight was looked up")


@airline.talk("compensation.unasked", f"{HEADING}, 1st paragraph")
def compensation_asked_for(talk: Talk) -> Iterator[Answer]:
    """Compensation is offered only to a user who asks for it."""
    for said, sentence in talk.agent_sentences(*_ITS_NAMES):
        if not phrases.OFFERS.search(sentence) or phrases.REFUSES_IT.search(sentence):
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
    both = (*consent.question.sentences, *consent.reply.sentences)
    supposed = any(phrases.SUPPOSED.search(each) and _methods_in(each, methods) for each in both)
    for used in call.payments:
        if named and used in user.payment_methods and used not in named:
            text = f"{used} is used, and the user agreed to {', '.join(sorted(named))}"
            if supposed:
                yield CannotTell(f"{', '.join(sorted(named))} may depend on something")
                continue
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
    # Two sums that were told may be the parts of the one that is moved.
    added = {one + other for one, other in combinations(sorted(sums), 2)}
    if not told or abs(moved) in sums or (parts and parts <= sums):
        return
    named = _amounts(_labelled(call.tool), text)
    facts = _facts(call)
    claims = _claims(call.tool, text) - facts
    if not claims and abs(moved) not in added:
        claims = _claims(_TOTAL, text) - facts
    claims = claims or named
    if not claims or (not named and abs(moved) in added):
        return
    others = set(call.owner.reservations if call.owner else ()) - {call.text("reservation_id")}
    if any(each in consent.question.text for each in others):
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


@airline.flow("bags.agreed", TOP, BOOK, BAGGAGES, words=True)
def agreed_bags(call: AirlineCall) -> Iterator[Answer]:
    """There are not more bags than the user agreed to."""
    consent, before, bags = call.consent, call.bags_before, call.bags or 0
    if consent is None or bags <= before:
        return
    told = f"{consent.question.lower}\n{consent.reply.lower}"
    found = (one or other for one, other in phrases.BAG_COUNT.findall(told))
    counts = [NUMBERS.get(each) or int(each) for each in found]
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
    "economy": re.compile(r"(?<!basic )(?<!basic_)(?<!basic-)(?:eco(?:n(?:omy)?)?\b|coach\b)"),
    "business": re.compile(r"business|\bbiz\b"),
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
