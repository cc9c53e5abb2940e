"""The airline's rules about compensation: who is due what, and for what."""

import json
from collections.abc import Iterator
from functools import cached_property

from maseval.benchmark.tau2.domains.airline.models import Reservation
from maseval.benchmark.tau2.review.policy.airline.conduct import AirlineCall, number_of
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, Policy

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
