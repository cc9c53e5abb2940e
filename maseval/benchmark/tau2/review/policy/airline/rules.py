"""The airline's policy as rules: what the database says about each change an agent makes.

Those about what was said are in ``identity``, ``terms``, ``conduct`` and ``compensation``.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from maseval.benchmark.tau2.domains.airline.models import Certificate, CreditCard, GiftCard, User
from maseval.benchmark.tau2.review.policy.airline.compensation import COMPENSATION_RULES
from maseval.benchmark.tau2.review.policy.airline.conduct import CONDUCT_RULES
from maseval.benchmark.tau2.review.policy.airline.identity import IDENTITY_RULES
from maseval.benchmark.tau2.review.policy.airline.journeys import (
    BAGGAGES,
    BOOK,
    CANCEL,
    FLIGHTS,
    PASSENGERS,
    Route,
    entries,
    find_flight,
    find_flown,
    flights_wanted,
    free_to_cancel,
    number_of,
    owner_of,
    payments_of,
    reservation_of,
    status_of,
    text_of,
)
from maseval.benchmark.tau2.review.policy.airline.terms import TERM_RULES
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CallMoment, Kind, rule

MOST_PASSENGERS = 5
_FREE_BAGS = {"basic_economy": 0, "economy": 1, "business": 2}
_EXTRA_FREE_BAGS = {"regular": 0, "silver": 1, "gold": 2}
_MOST_OF_A_KIND = {
    "certificates": (Certificate, 1),
    "credit cards": (CreditCard, 1),
    "gift cards": (GiftCard, 3),
}


@rule(
    "airline.book.passengers", Kind.STATE, place="Book flight, Passengers, 1st bullet", tools={BOOK}
)
def few_passengers(moment: CallMoment) -> Iterator[Answer]:
    """A reservation has at most five passengers."""
    passengers = len(entries(moment.arguments, "passengers"))
    if passengers > MOST_PASSENGERS:
        text = f"{passengers} passengers are booked, where {MOST_PASSENGERS} are allowed"
        yield Broken(text, {"passengers": passengers, "allowed": MOST_PASSENGERS})


@rule(
    "airline.book.payment_kinds", Kind.STATE, place="Book flight, Payment, 1st bullet", tools={BOOK}
)
def few_payments(moment: CallMoment) -> Iterator[Answer]:
    """A booking is paid with at most one certificate, one credit card and three gift cards."""
    user = owner_of(moment)
    if user is None:
        return
    methods = [user.payment_methods.get(each) for each in payments_of(moment.arguments)]
    for name, (kind, most) in _MOST_OF_A_KIND.items():
        used = sum(isinstance(method, kind) for method in methods)
        if used > most:
            text = f"{used} {name} pay for one booking, where {most} may be used"
            yield Broken(text, {"used": used, "allowed": most})


@rule(
    "airline.payment.in_profile",
    Kind.STATE,
    place="Book flight, Payment, 3rd bullet; Modify flight, Payment",
    tools={BOOK, FLIGHTS, BAGGAGES},
)
def payment_in_profile(moment: CallMoment) -> Iterator[Answer]:
    """Every payment method is one of the user's profile."""
    user = owner_of(moment)
    if user is None:
        return
    for payment_id in payments_of(moment.arguments):
        if payment_id not in user.payment_methods:
            yield Broken(
                f"{payment_id} is no payment method of {user.user_id}",
                {"used": payment_id, "profile": sorted(user.payment_methods)},
            )


@rule(
    "airline.flights.payment_kind",
    Kind.STATE,
    place="Modify flight, Payment",
    tools={FLIGHTS, BAGGAGES},
)
def change_paid_by_card(moment: CallMoment) -> Iterator[Answer]:
    """A change is paid for, or refunded to, a gift card or a credit card."""
    user = owner_of(moment)
    for payment_id in payments_of(moment.arguments):
        if user and isinstance(user.payment_methods.get(payment_id), Certificate):
            text = f"the change is settled with the certificate {payment_id}"
            yield Broken(text, {"used": payment_id})


@rule("airline.book.bags", Kind.STATE, place="Book flight, Checked bag allowance", tools={BOOK})
def booked_bags_paid(moment: CallMoment) -> Iterator[Answer]:
    """Bags beyond the allowance of cabin and membership are paid for, and no others."""
    user, arguments = owner_of(moment), moment.arguments
    if user is not None:
        passengers = len(entries(arguments, "passengers"))
        yield from _bags(user, arguments.get("cabin"), passengers, arguments)


@rule(
    "airline.bags.paid",
    Kind.STATE,
    place="Book flight, Checked bag allowance; Modify flight, Change baggage",
    tools={BAGGAGES},
)
def added_bags_paid(moment: CallMoment) -> Iterator[Answer]:
    """Bags beyond the allowance of cabin and membership are paid for, and no others."""
    reservation, user = reservation_of(moment), owner_of(moment)
    if reservation is None or user is None:
        return
    # What was paid for before stays paid for, whatever it should have been.
    paid = number_of(reservation.nonfree_baggages) or 0
    passengers = len(reservation.passengers)
    yield from _bags(user, reservation.cabin, passengers, moment.arguments, paid)


def _bags(
    user: User, cabin: object, passengers: int, arguments: Mapping[str, Any], paid: float = 0
) -> Iterator[Answer]:
    total = number_of(arguments.get("total_baggages"))
    charged = number_of(arguments.get("nonfree_baggages"))
    free = _FREE_BAGS.get(str(cabin))
    if total is None or charged is None or free is None:
        return
    allowance = (free + _EXTRA_FREE_BAGS[user.membership]) * passengers
    due = max(0, total - allowance)
    if charged not in (due, max(due, paid)):
        text = (
            f"{charged:g} of {total:g} bags are charged, where a {user.membership} member in "
            f"{cabin} with {passengers} passengers pays for {due:g}"
        )
        yield Broken(text, {"charged": charged, "due": due, "bags": total, "free": allowance})


@rule(
    "airline.bags.removed",
    Kind.STATE,
    place="Modify flight, Change baggage and insurance, 1st bullet",
    tools={BAGGAGES},
)
def no_bag_removed(moment: CallMoment) -> Iterator[Answer]:
    """Bags may be added to a reservation, and not removed."""
    reservation = reservation_of(moment)
    before = number_of(reservation.total_baggages) if reservation else None
    after = number_of(moment.arguments.get("total_baggages"))
    if before is not None and after is not None and after < before:
        text = f"the bags go from {before:g} to {after:g}, and none may be removed"
        yield Broken(text, {"before": before, "after": after})


@rule("airline.flights.bookable", Kind.STATE, place="Domain Basic, Flight", tools={BOOK, FLIGHTS})
def flights_can_be_booked(moment: CallMoment) -> Iterator[Answer]:
    """A flight is taken on a date on which it is available."""
    reservation = reservation_of(moment)
    kept = {(f.flight_number, f.date) for f in reservation.flights} if reservation else set()
    for wanted in flights_wanted(moment.arguments):
        status = status_of(moment.tools, *wanted)
        if wanted not in kept and status != "available":
            text = f"flight {wanted[0]} on {wanted[1]} is taken, which is {status or 'unknown'}"
            yield Broken(text, {"flight": wanted[0], "date": wanted[1], "status": status})


@rule("airline.book.journey", Kind.STATE, place="Book flight, 2nd paragraph", tools={BOOK})
def booked_journey(moment: CallMoment) -> Iterator[Answer]:
    """The flights of a booking lead from origin to destination, and back on a round trip."""
    arguments = moment.arguments
    wanted = Route(
        text_of(arguments.get("origin")),
        text_of(arguments.get("destination")),
        arguments.get("flight_type") == "round_trip",
    )
    yield from _other_journey(moment, wanted)


@rule(
    "airline.flights.journey",
    Kind.STATE,
    place="Modify flight, Change flights, 2nd bullet",
    tools={FLIGHTS},
)
def same_journey(moment: CallMoment) -> Iterator[Answer]:
    """A changed reservation keeps its origin, its destination and its type of trip."""
    reservation = reservation_of(moment)
    if reservation is not None:
        yield from _other_journey(moment, Route.of(reservation))


def _other_journey(moment: CallMoment, wanted: Route) -> Iterator[Answer]:
    numbers = [flight_number for flight_number, _ in flights_wanted(moment.arguments)]
    flights = [find_flight(moment.tools, each) for each in numbers]
    legs = [(each.origin, each.destination) for each in flights if each is not None]
    if len(legs) < len(flights):
        return  # the tool refuses it
    why = _why_other(legs, wanted)
    if why:
        yield Broken(why, {"flights": numbers, "journey": wanted.text})


def _why_other(legs: Sequence[tuple[str, str]], wanted: Route) -> str:
    """Say in which way flights are not the journey that is wanted."""
    if not legs:
        return f"no flight is left of the journey {wanted.text}"
    start, end = legs[0][0], legs[-1][1]
    if start != wanted.origin or end != wanted.end:
        return f"the flights lead from {start} to {end}, where the journey is {wanted.text}"
    if wanted.destination not in [reached for _, reached in legs]:
        return f"the flights do not lead to {wanted.destination}"
    for (_, reached), (left, _) in pairwise(legs):
        if reached != left:
            return f"a flight arrives at {reached} and the next one leaves from {left}"
    return ""


@rule(
    "airline.flights.basic_economy",
    Kind.STATE,
    place="Modify flight, Change flights, 1st bullet",
    tools={FLIGHTS},
)
def basic_economy_stays(moment: CallMoment) -> Iterator[Answer]:
    """The flights of a basic economy reservation are not changed."""
    reservation = reservation_of(moment)
    if reservation is None or reservation.cabin != "basic_economy":
        return
    before = [(flight.flight_number, flight.date) for flight in reservation.flights]
    after = flights_wanted(moment.arguments)
    if sorted(before) != sorted(after):
        text = f"the flights of the basic economy reservation {reservation.reservation_id} change"
        yield Broken(text, {"before": before, "after": after})


@rule(
    "airline.cabin.flown",
    Kind.STATE,
    place="Modify flight, Change cabin, 1st bullet",
    tools={FLIGHTS},
)
def cabin_before_departure(moment: CallMoment) -> Iterator[Answer]:
    """The cabin changes only while no flight of the reservation has been flown."""
    reservation, cabin = reservation_of(moment), moment.arguments.get("cabin")
    if reservation is None or cabin == reservation.cabin:
        return
    flight = find_flown(moment, reservation)
    if flight:
        text = f"the cabin becomes {cabin} although flight {flight} has already been flown"
        yield Broken(text, {"before": reservation.cabin, "after": cabin, "flown": flight})


@rule(
    "airline.passengers.number",
    Kind.STATE,
    place="Modify flight, Change passengers, 1st bullet",
    tools={PASSENGERS},
)
def as_many_passengers(moment: CallMoment) -> Iterator[Answer]:
    """A change of passengers keeps their number."""
    reservation = reservation_of(moment)
    after = len(entries(moment.arguments, "passengers"))
    if reservation is not None and after != len(reservation.passengers):
        before = len(reservation.passengers)
        yield Broken(
            f"the passengers go from {before} to {after}", {"before": before, "after": after}
        )


@rule("airline.cancel.flown", Kind.STATE, place="Cancel flight, 3rd paragraph", tools={CANCEL})
def cancelled_before_departure(moment: CallMoment) -> Iterator[Answer]:
    """A reservation is not cancelled once a part of it has been flown."""
    reservation = reservation_of(moment)
    flight = find_flown(moment, reservation) if reservation else ""
    if flight:
        yield Broken(f"flight {flight} has already been flown", {"flown": flight})


@rule(
    "airline.cancel.eligible", Kind.STATE, place="Cancel flight, list of conditions", tools={CANCEL}
)
def may_be_cancelled(moment: CallMoment) -> Iterator[Answer]:
    """Only what is a day old, business, insured or grounded by the airline is cancelled."""
    reservation = reservation_of(moment)
    if reservation is None or reservation.insurance == "yes":
        return
    if not free_to_cancel(moment, reservation):
        yield Broken(
            f"reservation {reservation.reservation_id} was made at {reservation.created_at}, is "
            f"{reservation.cabin}, has no insurance and no flight that the airline cancelled",
            {"created": reservation.created_at, "cabin": reservation.cabin, "insurance": "no"},
        )


RULES = (
    few_passengers,
    few_payments,
    payment_in_profile,
    change_paid_by_card,
    booked_bags_paid,
    added_bags_paid,
    no_bag_removed,
    flights_can_be_booked,
    booked_journey,
    same_journey,
    basic_economy_stays,
    cabin_before_departure,
    as_many_passengers,
    cancelled_before_departure,
    may_be_cancelled,
    *COMPENSATION_RULES,
    *IDENTITY_RULES,
    *TERM_RULES,
    *CONDUCT_RULES,
)
