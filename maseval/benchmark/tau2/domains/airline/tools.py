"""The tools of the airline's agent: search, book, change, cancel, compensate.

Little is checked here on purpose: keeping to the policy is the agent's task, not the tools'.

After tau2-bench v0.2.0, src/tau2/domains/airline/tools.py (MIT, Sierra Research).
"""

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from maseval.benchmark.tau2.domains import arithmetic
from maseval.benchmark.tau2.domains.airline.models import (
    AIRPORTS,
    AirlineDB,
    AirportCode,
    AvailableFlight,
    Cabin,
    Certificate,
    DirectFlight,
    Flight,
    FlightDate,
    FlightInfo,
    GiftCard,
    Insurance,
    Passenger,
    Payment,
    Reservation,
    ReservedFlight,
    TripType,
    User,
    flights_between,
)
from maseval.benchmark.tau2.domains.base import ToolKitBase, ToolType, is_tool
from maseval.benchmark.tau2.world.state.records import RecordT

# These are constants, so that a conversation replays to the same state on any day.
NOW = "2024-05-15T15:00:00"
INSURANCE_PRICE = 30
BAGGAGE_PRICE = 50
RESERVATION_IDS = ("HATHAT", "HATHAU", "HATHAV")
CERTIFICATE_IDS = ("certificate_3221322", "certificate_3221323", "certificate_3221324")


class AirlineTools(ToolKitBase[AirlineDB], predictable=True):
    """The tools of the airline's agent, over the airline's database."""

    @is_tool(ToolType.WRITE)
    def book_reservation(
        self,
        user_id: str,
        origin: str,
        destination: str,
        flight_type: TripType,
        cabin: Cabin,
        flights: list[FlightInfo | dict[str, Any]],
        passengers: list[Passenger | dict[str, Any]],
        payment_methods: list[Payment | dict[str, Any]],
        total_baggages: int,
        nonfree_baggages: int,
        insurance: Insurance,
    ) -> Reservation:
        """Book a journey, charge the given payment methods and return the new reservation.

        The payments must add up exactly to the total price: the current price of every flight in
        the chosen cabin, 30 dollars of insurance if wanted (both for each passenger), and 50
        dollars for each bag that is not free.

        Args:
            user_id: The id of the user who books, such as 'sara_doe_496'.
            origin: The three-letter code of the airport where the journey starts, such as 'SFO'.
            destination: The three-letter code of the airport the journey goes to, such as 'JFK'.
            flight_type: Whether the journey is one way or a round trip.
            cabin: The cabin, which is the same for all flights of the journey.
            flights: Every flight of the journey in the order of travel, each with its
                flight_number and its date (YYYY-MM-DD).
            passengers: The people who travel, each with first_name, last_name and dob
                (date of birth, YYYY-MM-DD).
            payment_methods: How the price is paid: for each payment the payment_id of a method in
                the user's profile, and the amount in dollars to charge to it.
            total_baggages: The number of checked bags, free and paid ones together.
            nonfree_baggages: The number of checked bags that have to be paid for.
            insurance: Whether the passengers are insured.
        """
        # Arguments are converted before any look-up: the order decides which error a model reads.
        wanted = _built(FlightInfo, flights)
        travellers = _built(Passenger, passengers)
        payments = _built(Payment, payment_methods)
        user = self._get_user(user_id)
        # The record is made before the flights are looked up, because its validation errors come
        # first.
        reservation = Reservation(
            reservation_id=self._new_reservation_id(),
            user_id=user_id,
            origin=origin,
            destination=destination,
            flight_type=flight_type,
            cabin=cabin,
            flights=[],
            passengers=travellers,
            payment_history=copy.deepcopy(payments),
            created_at=NOW,
            total_baggages=total_baggages,
            nonfree_baggages=nonfree_baggages,
            insurance=insurance,
        )
        seats = len(travellers)
        # No seat is taken yet, so a flight listed twice is checked against the same number of seats
        # twice.
        reservation.flights.extend(self._offer(flight, cabin, seats) for flight in wanted)
        total_price = sum(flight.price for flight in reservation.flights) * seats
        if insurance == "yes":
            total_price += INSURANCE_PRICE * seats
        # This uses the raw argument and not the validated number, as in the original: a numeric
        # text fails here.
        total_price += BAGGAGE_PRICE * nonfree_baggages
        _check_payments(user, payments, total_price)

        # Only now is a copy of its own needed: a refused booking leaves all records shared.
        user = self.db.users[user_id]
        for payment in payments:
            _charge(user, payment)
        for flight in reservation.flights:
            self._take_seats(flight, cabin, seats)
        self.db.reservations[reservation.reservation_id] = reservation
        user.reservations.append(reservation.reservation_id)
        return reservation

    @is_tool(ToolType.GENERIC)
    def calculate(self, expression: str) -> str:
        """Work out an arithmetic expression, rounded to two decimal places.

        Args:
            expression: The expression, such as '2 * (350 + 49.5)'. It may have numbers, the
                operators + - * /, parentheses and spaces.
        """
        return arithmetic.calculate(expression)

    @is_tool(ToolType.WRITE)
    def cancel_reservation(self, reservation_id: str) -> Reservation:
        """Cancel a whole reservation, record a refund of each of its payments, and return it.

        Args:
            reservation_id: The id of the reservation, such as 'ZFA04Y'.
        """
        reservation = self._own_reservation(reservation_id)
        # The original first writes the reservation down as JSON: one that holds what JSON cannot
        # express, stored unchecked by another tool, stays as it is.
        reservation.model_dump_json(warnings=False)
        reservation.payment_history.extend(
            [
                Payment(payment_id=payment.payment_id, amount=-payment.amount)
                for payment in reservation.payment_history
            ]
        )
        # The seats stay taken, and nothing keeps it from being cancelled and refunded again.
        reservation.status = "cancelled"
        return reservation

    @is_tool(ToolType.READ)
    def get_reservation_details(self, reservation_id: str) -> Reservation:
        """Look up a reservation: its flights, passengers, payments, baggage, insurance and status.

        Args:
            reservation_id: The id of the reservation, such as '8JX2WO'.
        """
        return _require_record(self.db.reservations.view, "Reservation", reservation_id)

    @is_tool(ToolType.READ)
    def get_user_details(self, user_id: str) -> User:
        """Look up a user's profile: personal data, membership, payment methods and reservations.

        Args:
            user_id: The id of the user, such as 'sara_doe_496'.
        """
        return self._get_user(user_id)

    @is_tool(ToolType.READ)
    def list_all_airports(self) -> list[AirportCode]:
        """List the airports that are served, with their three-letter codes and cities."""
        return [AirportCode(iata=iata, city=city) for iata, city in AIRPORTS.items()]

    @is_tool(ToolType.READ)
    def search_direct_flight(self, origin: str, destination: str, date: str) -> list[DirectFlight]:
        """Find the flights without a stop that can be booked on a date, with seats and prices.

        Args:
            origin: The three-letter code of the airport of departure, such as 'JFK'.
            destination: The three-letter code of the airport of arrival, such as 'LAX'.
            date: The date of departure, as YYYY-MM-DD, such as '2024-05-20'.
        """
        return list(self._search_direct_flight(origin, destination, date))

    @is_tool(ToolType.READ)
    def search_onestop_flight(
        self, origin: str, destination: str, date: str
    ) -> list[list[DirectFlight]]:
        """Find the pairs of bookable flights that connect two airports with one change of plane.

        The second flight of a pair leaves after the first has arrived.

        Args:
            origin: The three-letter code of the airport of departure, such as 'JFK'.
            destination: The three-letter code of the airport of arrival, such as 'LAX'.
            date: The date on which the first flight departs, as YYYY-MM-DD, such as '2024-05-20'.
        """
        pairs = []
        for first in self._search_direct_flight(origin, None, date):
            # The dates of a pair are part of its answer, those of a direct search are not.
            first.date = date
            next_date = _date_of_arrival(first, date)
            for second in self._search_direct_flight(first.destination, destination, next_date):
                # Compared as texts, as in v0.2.0, with the '+1' of an arrival on the next day.
                if second.scheduled_departure_time_est >= first.scheduled_arrival_time_est:
                    second.date = next_date
                    pairs.append([first, second])
        return pairs

    @is_tool(ToolType.WRITE)
    def send_certificate(self, user_id: str, amount: int) -> str:
        """Give a user a new certificate, which can pay for a booking. Mind the policy.

        Args:
            user_id: The id of the user who receives it, such as 'sara_doe_496'.
            amount: What the certificate is worth, in dollars.
        """
        user = self._own_user(user_id)
        for certificate_id in CERTIFICATE_IDS:
            if certificate_id not in user.payment_methods:
                user.payment_methods[certificate_id] = Certificate(
                    source="certificate", id=certificate_id, amount=amount
                )
                return f"Certificate {certificate_id} added to user {user_id} with amount {amount}."
        raise ValueError("Too many certificates")

    @is_tool(ToolType.GENERIC)
    def transfer_to_human_agents(self, summary: str) -> str:
        """Hand the conversation over to a human agent.

        Only for a user who asks for a human where the policy lets you agree, or for a request
        that your tools and the policy cannot settle.

        Args:
            summary: What the user wants and what has happened so far, for the human agent.
        """
        return "Transfer successful"

    @is_tool(ToolType.WRITE)
    def update_reservation_baggages(
        self, reservation_id: str, total_baggages: int, nonfree_baggages: int, payment_id: str
    ) -> Reservation:
        """Set the numbers of checked bags of a reservation, and return it.

        Each bag that is not free and was not paid for before is charged 50 dollars.

        Args:
            reservation_id: The id of the reservation, such as 'ZFA04Y'.
            total_baggages: The new number of checked bags, free and paid ones together.
            nonfree_baggages: The new number of checked bags that have to be paid for, with those
                already paid for.
            payment_id: The id of the credit card or gift card in the user's profile to charge,
                such as 'credit_card_7815826'. Needed even if nothing is to be paid.
        """
        reservation = self._own_reservation(reservation_id)
        user = self._own_user(reservation.user_id)
        # There is no refund for bags that are removed or become free.
        price = BAGGAGE_PRICE * max(0, nonfree_baggages - reservation.nonfree_baggages)
        # The payment method is checked even if nothing is due.
        reservation.payment_history.extend(_settle(user, payment_id, price))
        reservation.total_baggages = total_baggages
        reservation.nonfree_baggages = nonfree_baggages
        return reservation

    @is_tool(ToolType.WRITE)
    def update_reservation_flights(
        self,
        reservation_id: str,
        cabin: Cabin,
        flights: list[FlightInfo | dict[str, Any]],
        payment_id: str,
    ) -> Reservation:
        """Replace the flights and the cabin of a reservation, and return it.

        The difference in price, for all passengers, is charged or refunded. A flight that the
        reservation already has keeps its price, unless the cabin changes.

        Args:
            reservation_id: The id of the reservation, such as 'ZFA04Y'.
            cabin: The cabin after the change, which is the same for all flights.
            flights: Every flight of the journey after the change, in the order of travel, also
                those that stay as they are; each with its flight_number and date (YYYY-MM-DD).
            payment_id: The id of the credit card or gift card in the user's profile that is
                charged or refunded, such as 'credit_card_7815826'.
        """
        wanted = _built(FlightInfo, flights)
        reservation = self._own_reservation(reservation_id)
        user = self._own_user(reservation.user_id)
        seats = len(reservation.passengers)
        segments = [
            # A flight that is kept in the same cabin keeps its old price and needs no free seat.
            _find_kept_flight(reservation, flight, cabin) or self._offer(flight, cabin, seats)
            for flight in wanted
        ]
        # Nobody looks at the journey: without any flight, everything is refunded.
        price = sum(flight.price for flight in segments) * seats
        price -= sum(flight.price for flight in reservation.flights) * seats
        reservation.payment_history.extend(_settle(user, payment_id, price))
        # Seats are neither taken nor given back, as in the original.
        reservation.flights = segments
        reservation.cabin = cabin
        return reservation

    @is_tool(ToolType.WRITE)
    def update_reservation_passengers(
        self, reservation_id: str, passengers: list[Passenger | dict[str, Any]]
    ) -> Reservation:
        """Replace the data of a reservation's passengers, as many as before, and return it.

        Args:
            reservation_id: The id of the reservation, such as 'ZFA04Y'.
            passengers: All passengers of the reservation after the change, each with first_name,
                last_name and dob (date of birth, YYYY-MM-DD).
        """
        travellers = _built(Passenger, passengers)
        reservation = self._own_reservation(reservation_id)
        if len(travellers) != len(reservation.passengers):
            raise ValueError("Number of passengers does not match")
        reservation.passengers = copy.deepcopy(travellers)
        return reservation

    @is_tool(ToolType.READ)
    def get_flight_status(self, flight_number: str, date: str) -> str:
        """Tell the status of a flight on a date.

        It is one of: available (can be booked), on time, delayed, flying, landed, cancelled.

        Args:
            flight_number: The flight number, such as 'HAT001'.
            date: The date of departure, as YYYY-MM-DD.
        """
        return self._get_flight_instance(flight_number, date).status

    def _get_user(self, user_id: str) -> User:
        return _require_record(self.db.users.view, "User", user_id)

    def _own_user(self, user_id: str) -> User:
        return _require_record(self.db.users.__getitem__, "User", user_id)

    def _own_reservation(self, reservation_id: str) -> Reservation:
        return _require_record(self.db.reservations.__getitem__, "Reservation", reservation_id)

    def _get_flight(self, flight_number: str) -> Flight:
        return _require_record(self.db.flights.view, "Flight", flight_number)

    def _get_flight_instance(self, flight_number: str, date: str) -> FlightDate:
        flight = self._get_flight(flight_number)
        if date not in flight.dates:
            raise ValueError(f"Flight {flight_number} not found on date {date}")
        return flight.dates[date]

    def _search_direct_flight(
        self, origin: str | None, destination: str | None, date: str
    ) -> Iterator[DirectFlight]:
        for flight in flights_between(self.db.flights, origin, destination):
            instance = flight.dates.get(date)
            if isinstance(instance, AvailableFlight):
                yield DirectFlight(
                    flight_number=flight.flight_number,
                    origin=flight.origin,
                    destination=flight.destination,
                    scheduled_departure_time_est=flight.scheduled_departure_time_est,
                    scheduled_arrival_time_est=flight.scheduled_arrival_time_est,
                    available_seats=instance.available_seats,
                    prices=instance.prices,
                )

    def _new_reservation_id(self) -> str:
        for reservation_id in RESERVATION_IDS:
            if reservation_id not in self.db.reservations:
                return reservation_id
        raise ValueError("Too many reservations")

    def _offer(self, wanted: FlightInfo, cabin: Cabin, seats: int) -> ReservedFlight:
        number, date = wanted.flight_number, wanted.date
        instance = self._get_flight_instance(number, date)
        if not isinstance(instance, AvailableFlight):
            raise ValueError(f"Flight {number} not available on date {date}")
        if instance.available_seats[cabin] < seats:
            raise ValueError(f"Not enough seats on flight {number}")
        flight = self._get_flight(number)
        return ReservedFlight(
            flight_number=number,
            origin=flight.origin,
            destination=flight.destination,
            date=date,
            price=instance.prices[cabin],
        )

    # A private copy of all dates of a flight would be the largest thing an environment holds, so
    # all but the one date stay shared.
    def _take_seats(self, segment: ReservedFlight, cabin: Cabin, seats: int) -> None:
        number, date = segment.flight_number, segment.date
        flight = self.db.flights.view(number)
        instance = cast(AvailableFlight, flight.dates[date])
        left = {**instance.available_seats, cabin: instance.available_seats[cabin] - seats}
        changed = instance.model_copy(update={"available_seats": left})
        dates = {**flight.dates, date: changed}
        self.db.flights[number] = flight.model_copy(update={"dates": dates})


def _require_record(look_up: Callable[[str], RecordT], kind: str, key: str) -> RecordT:
    try:
        return look_up(key)
    except KeyError:
        raise ValueError(f"{kind} {key} not found") from None


# Anything but mappings stays as it came, as in v0.2.0: it fails where it is used, or is stored.
def _built(model: type[RecordT], items: Iterable[RecordT | dict[str, Any]]) -> list[RecordT]:
    if all(isinstance(item, dict) for item in items):
        return [model.model_validate(item) for item in items]
    return cast(list[RecordT], items)


def _find_kept_flight(
    reservation: Reservation, wanted: FlightInfo, cabin: Cabin
) -> ReservedFlight | None:
    for flight in reservation.flights:
        same = flight.flight_number == wanted.flight_number and flight.date == wanted.date
        if same and cabin == reservation.cabin:
            return flight
    return None


def _date_of_arrival(flight: DirectFlight, date: str) -> str:
    # The data has one month; the day is not padded, and the last one has no next, as in v0.2.0.
    if "+1" in flight.scheduled_arrival_time_est:
        return f"2024-05-{int(date[-2:]) + 1}"
    return date


def _check_payments(user: User, payments: list[Payment], total_price: int) -> None:
    for payment in payments:
        method = user.payment_methods.get(payment.payment_id)
        if method is None:
            raise ValueError(f"Payment method {payment.payment_id} not found")
        # Each payment is checked alone, so a gift card that is listed twice may be overdrawn.
        if isinstance(method, GiftCard | Certificate) and method.amount < payment.amount:
            raise ValueError(f"Not enough balance in payment method {payment.payment_id}")
    paid = sum(payment.amount for payment in payments)
    if paid != total_price:
        raise ValueError(
            f"Payment amount does not add up, total price is {total_price}, but paid {paid}"
        )


# A certificate is used up whatever it was worth.
def _charge(user: User, payment: Payment) -> None:
    # A certificate that is listed twice fails here, after the first payment was already charged.
    method = user.payment_methods[payment.payment_id]
    if isinstance(method, GiftCard):
        method.amount -= payment.amount
    elif isinstance(method, Certificate):
        del user.payment_methods[payment.payment_id]


def _settle(user: User, payment_id: str, price: int) -> list[Payment]:
    method = user.payment_methods.get(payment_id)
    if method is None:
        raise ValueError("Payment method not found")
    if isinstance(method, Certificate):
        raise ValueError("Certificate cannot be used to update reservation")
    if isinstance(method, GiftCard):
        if method.amount < price:
            raise ValueError("Gift card balance is not enough")
        method.amount -= price
    return [Payment(payment_id=payment_id, amount=price)] if price != 0 else []
