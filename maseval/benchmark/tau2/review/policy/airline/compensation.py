"""The airline's rules about compensation: for whom, for what, how much, and only when asked for."""

import json
from collections.abc import Iterator

from maseval.benchmark.tau2.domains.airline.models import Reservation, User
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.airline.journeys import AirlineCall, airline, number_of
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell
from maseval.benchmark.tau2.review.talk import Talk

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
        if not _offers(sentence):
            continue
        told = "\n".join(each.lower for each in talk.user_before(said.message_index))
        if phrases.WANTED.search(told):
            return
        if phrases.MAYBE_WANTED.search(told):
            yield CannotTell("the user mentioned money, perhaps compensation")
        else:
            text = "compensation is offered to a user who did not ask for it"
            yield Broken(text, {"offered": said.quote(sentence)}, said.message_index)
        return


def _offers(sentence: str) -> bool:
    return phrases.OFFERS.search(sentence) is not None and not phrases.REFUSES_IT.search(sentence)
