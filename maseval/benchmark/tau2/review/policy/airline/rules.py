"""The airline's policy as rules: what the database says about each change an agent makes.

Rules about what was known are in ``conduct``.
"""

import json
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

from maseval.benchmark.tau2.domains.airline.models import (
    Certificate,
    CreditCard,
    GiftCard,
    Reservation,
)
from maseval.benchmark.tau2.review.policy.airline import conduct
from maseval.benchmark.tau2.review.policy.airline.conduct import (
    BAGGAGES,
    BOOK,
    CANCEL,
    CHANGES,
    FLIGHTS,
    PASSENGERS,
    TOP,
    WRITES,
    AirlineCall,
    airline,
    number_of,
)
from maseval.benchmark.tau2.review.policy.confirming import (
    explicit_yes,
    no_text_beside_a_call,
    nothing_after_a_transfer,
    one_call_at_a_time,
    transfer_is_announced,
)
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, Policy, rules_in

PAID = (BOOK, FLIGHTS, BAGGAGES)
MOST_PASSENGERS = 5
# Each passenger has those of the cabin, and those of the member's status on top.
_FREE_BAGS = {"basic_economy": 0, "economy": 1, "business": 2}
_EXTRA_FREE_BAGS = {"regular": 0, "silver": 1, "gold": 2}
_MOST_OF_A_KIND = {
    "certificates": (Certificate, 1),
    "credit cards": (CreditCard, 1),
    "gift cards": (GiftCard, 3),
}


@airline.state("book.passengers", "Book flight, Passengers, 1st bullet", BOOK)
def few_passengers(call: AirlineCall) -> Iterator[Answer]:
    """A reservation has at most five passengers."""
    passengers = len(call.passengers)
    if passengers > MOST_PASSENGERS:
        yield Broken(f"{passengers} passengers are booked, but only {MOST_PASSENGERS} are allowed")


@airline.state("book.payment_kinds", "Book flight, Payment, 1st bullet", BOOK)
def few_payments(call: AirlineCall) -> Iterator[Answer]:
    """A booking is paid with at most one certificate, one credit card and three gift cards."""
    user = call.owner
    if user is None:
        return
    methods = [user.payment_methods.get(each) for each in call.payments]
    for name, (kind, most) in _MOST_OF_A_KIND.items():
        used = sum(isinstance(method, kind) for method in methods)
        if used > most:
            yield Broken(f"{used} {name} pay for one booking, but only {most} may be used")


@airline.state(
    "payment.in_profile", "Book flight, Payment, 3rd bullet; Modify flight, Payment", *PAID
)
def payment_in_profile(call: AirlineCall) -> Iterator[Answer]:
    """Every payment method is one of the user's profile."""
    user = call.owner
    for payment_id in call.payments:
        if user is not None and payment_id not in user.payment_methods:
            yield Broken(f"{payment_id} is not a payment method of {user.user_id}")


@airline.state("flights.payment_kind", "Modify flight, Payment", FLIGHTS, BAGGAGES)
def change_paid_by_card(call: AirlineCall) -> Iterator[Answer]:
    """A change is paid for, or refunded to, a gift card or a credit card."""
    user = call.owner
    for payment_id in call.payments:
        if user and isinstance(user.payment_methods.get(payment_id), Certificate):
            yield Broken(f"the change is settled with the certificate {payment_id}")


def _bags_paid(call: AirlineCall) -> Iterator[Answer]:
    """Bags beyond the allowance of cabin and membership are paid for, and no others."""
    user, reservation, total = call.owner, call.reservation, call.bags
    cabin = reservation.cabin if reservation else call.text("cabin")
    charged, free = number_of(call.arguments.get("nonfree_baggages")), _FREE_BAGS.get(cabin)
    if user is None or total is None or charged is None or free is None:
        return
    due = max(0, total - (free + _EXTRA_FREE_BAGS[user.membership]) * call.people)
    # What was paid for before stays paid for, whatever it should have been.
    paid = number_of(reservation.nonfree_baggages) or 0 if reservation else 0
    if charged not in (due, max(due, paid)):
        yield Broken(
            f"{charged:g} of {total:g} bags are charged, where a {user.membership} member in "
            f"{cabin} with {call.people} passengers pays for {due:g}"
        )


_BOOKED_BAGS = airline.state("book.bags", "Book flight, Checked bag allowance", BOOK)(_bags_paid)
_ADDED_BAGS = airline.state(
    "bags.paid", "Book flight, Checked bag allowance; Modify flight, Change baggage", BAGGAGES
)(_bags_paid)


@airline.state("bags.removed", "Modify flight, Change baggage and insurance, 1st bullet", BAGGAGES)
def no_bag_removed(call: AirlineCall) -> Iterator[Answer]:
    """Bags may be added to a reservation, and not removed."""
    before, after = call.bags_before, call.bags
    if call.reservation is not None and after is not None and after < before:
        yield Broken(f"the bags go from {before:g} to {after:g}, and none may be removed")


@airline.state("flights.bookable", "Domain Basic, Flight", BOOK, FLIGHTS)
def flights_can_be_booked(call: AirlineCall) -> Iterator[Answer]:
    """A flight is taken on a date on which it is available."""
    for wanted in call.flights:
        status = call.status_of(*wanted)
        # A flight that is kept is not booked again, so its status does not matter.
        if wanted not in call.flights_kept and status != "available":
            yield Broken(
                f"flight {wanted[0]} on {wanted[1]} is taken, which is {status or 'unknown'}"
            )


@airline.state("book.journey", "Book flight, 2nd paragraph", BOOK)
def booked_journey(call: AirlineCall) -> Iterator[Answer]:
    """The flights of a booking lead from origin to destination, and back on a round trip."""
    yield from _other_journey(call, *map(call.text, ("origin", "destination", "flight_type")))


@airline.state("flights.journey", "Modify flight, Change flights, 2nd bullet", FLIGHTS)
def same_journey(call: AirlineCall) -> Iterator[Answer]:
    """A changed reservation keeps its origin, its destination and its type of trip."""
    kept = call.reservation
    if kept is not None:
        yield from _other_journey(call, kept.origin, kept.destination, kept.flight_type)


def _other_journey(
    call: AirlineCall, origin: str, destination: str, flight_type: str
) -> Iterator[Answer]:
    flights = [call.find_flight(flight_number) for flight_number, _ in call.flights]
    legs = [(each.origin, each.destination) for each in flights if each is not None]
    if len(legs) < len(flights):
        return  # the tool refuses it
    returns = flight_type == "round_trip"
    wanted = f"{origin} to {destination}{f' and back to {origin}' if returns else ''}"
    broken = [reached for (_, reached), (left, _) in pairwise(legs) if reached != left]
    if not legs:
        yield Broken(f"no flight is left of the journey {wanted}")
    elif (legs[0][0], legs[-1][1]) != (origin, origin if returns else destination):
        yield Broken(
            f"the flights go from {legs[0][0]} to {legs[-1][1]}, but the journey is {wanted}"
        )
    elif destination not in [reached for _, reached in legs]:
        yield Broken(f"the flights do not go to {destination}")
    elif broken:
        yield Broken(f"a flight arrives at {broken[0]}, from where the next one does not leave")


@airline.state("flights.basic_economy", "Modify flight, Change flights, 1st bullet", FLIGHTS)
def basic_economy_stays(call: AirlineCall) -> Iterator[Answer]:
    """The flights of a basic economy reservation are not changed."""
    reservation = call.reservation
    if reservation is None or reservation.cabin != "basic_economy":
        return
    before = [(flight.flight_number, flight.date) for flight in reservation.flights]
    after = call.flights
    if sorted(before) != sorted(after):
        yield Broken(
            f"the flights of the basic economy reservation {reservation.reservation_id} change"
        )


@airline.state("cabin.flown", "Modify flight, Change cabin, 1st bullet", FLIGHTS)
def cabin_before_departure(call: AirlineCall) -> Iterator[Answer]:
    """The cabin changes only while no flight of the reservation has been flown."""
    reservation, cabin = call.reservation, call.arguments.get("cabin")
    if reservation is None or cabin == reservation.cabin:
        return
    flight = call.find_flown(reservation)
    if flight:
        yield Broken(f"the cabin becomes {cabin} although flight {flight} has already been flown")


@airline.state("passengers.number", "Modify flight, Change passengers, 1st bullet", PASSENGERS)
def as_many_passengers(call: AirlineCall) -> Iterator[Answer]:
    """A change of passengers keeps their number."""
    before, after = call.people, len(call.passengers)
    if call.reservation is not None and after != before:
        yield Broken(f"the passengers go from {before} to {after}")


@airline.state("cancel.flown", "Cancel flight, 3rd paragraph", CANCEL)
def cancelled_before_departure(call: AirlineCall) -> Iterator[Answer]:
    """A reservation is not cancelled once a part of it has been flown."""
    reservation = call.reservation
    flight = call.find_flown(reservation) if reservation else ""
    if flight:
        yield Broken(f"flight {flight} has already been flown")


@airline.state("cancel.eligible", "Cancel flight, list of conditions", CANCEL)
def may_be_cancelled(call: AirlineCall) -> Iterator[Answer]:
    """Only what is a day old, business, insured or grounded by the airline is cancelled."""
    reservation = call.reservation
    if reservation is None or reservation.insurance == "yes":
        return
    if not call.may_cancel(reservation):
        yield Broken(
            f"reservation {reservation.reservation_id} was made at {reservation.created_at}, is "
            f"{reservation.cabin}, has no insurance and no flight that the airline cancelled"
        )


FOR_A_CANCELLATION = 100
FOR_A_DELAY = 50
HEADING = "Refunds and Compensation"
_CHANGES = ("update_reservation_flights", "cancel_reservation")
# Delayed and cancelled flights do not come up in these.
_SEARCHES = ("search_direct_flight", "search_onestop_flight")


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
    # The reservation that gives the grounds must also entitle; without grounds any of them may.
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
        yield Broken(f"{amount} is neither 50 nor 100 dollars per passenger of any reservation")


@_certificates.state("compensation.grounds", f"{HEADING}, both bullets and last paragraph", _SEND)
def compensation_grounds(call: CertificateCall) -> Iterator[Answer]:
    """A certificate is sent for a cancelled flight, or for a delay once the journey is changed."""
    if call.owner is not None and not any(map(call.has_grounds, call.reservations)):
        yield Broken(
            f"{call.arguments.get('amount')} dollars are sent although no reservation with as many "
            "passengers has a cancelled flight, or was changed or cancelled because of a delay"
        )


@_certificates.protocol("compensation.facts", f"{HEADING}, 3rd paragraph", _SEND)
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


_CONFIRM, _ONE_CALL, _TRANSFER = (f"{TOP}, {each} paragraph" for each in ("3rd", "5th", "7th"))
RULES = (
    *rules_in(globals(), vars(conduct)),
    explicit_yes("airline", _CONFIRM, CHANGES),
    one_call_at_a_time("airline", _ONE_CALL),
    no_text_beside_a_call("airline", _ONE_CALL),
    transfer_is_announced("airline", _TRANSFER),
    nothing_after_a_transfer("airline", _TRANSFER, WRITES),
)
