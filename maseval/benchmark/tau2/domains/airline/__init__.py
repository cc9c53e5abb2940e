"""The airline: an agent that books, changes and cancels journeys for customers.

After tau2-bench v0.2.0, src/tau2/domains/airline/ (MIT, Sierra Research).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from maseval.benchmark.tau2.domains.airline.models import *  # noqa: F403  # the records, as in MASEval
from maseval.benchmark.tau2.domains.airline.models import AirlineDB
from maseval.benchmark.tau2.domains.airline.tools import CERTIFICATE_IDS, AirlineTools
from maseval.benchmark.tau2.domains.domain import (
    Customers,
    Domain,
    LateRules,
    MoneyField,
    OpenChoice,
    PermanenceRule,
    append_only,
    gone_for_good,
    once_set,
    only_falls,
    payment_choice,
    stays,
)

_BOOK, _PASSENGERS = "book_reservation", "update_reservation_passengers"
CHOICES = (
    payment_choice("payment_id", "update_reservation_flights", "update_reservation_baggages"),
    # Which methods pay may be open or settled; the order of the list never matters.
    payment_choice("payment_methods", _BOOK),
    OpenChoice("payment methods", "payment_methods", (_BOOK,), unordered=True),
    OpenChoice("passengers", "passengers", (_BOOK, _PASSENGERS), unordered=True),
)

# Values that no tool can undo.
PERMANENCE = (
    PermanenceRule(
        "reservations", ("payment_history",), append_only, "money that moved stays in the history"
    ),
    PermanenceRule(
        "reservations", ("status",), once_set, "a cancelled reservation stays cancelled"
    ),
    PermanenceRule("reservations", (), stays, "a reservation that was made cannot be removed"),
    PermanenceRule(
        "users", ("reservations",), append_only, "a booking stays in the customer's profile"
    ),
    PermanenceRule(
        "users",
        ("payment_methods",),
        gone_for_good(CERTIFICATE_IDS),
        "a certificate that was used up does not come back",
    ),
    PermanenceRule(
        "flights",
        ("dates", "*", "available_seats", "*"),
        only_falls,
        "no tool gives seats back to a flight",
    ),
)


def _payments(reservation: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for each in reservation["payment_history"]:
        yield each["payment_id"], each["amount"]


def _issued(user: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    # What is paid with a gift card or an older certificate stands in the payment history. Ids are
    # given out in order, so that the same certificates may have other ones: only the sum counts.
    for name, method in user["payment_methods"].items():
        if name in CERTIFICATE_IDS:
            yield "certificates", -method["amount"]


AIRLINE = Domain(
    name="airline",
    db=AirlineDB,
    toolkit=AirlineTools,
    solo_refusal="Airline domain does not support solo mode",
    permanence=PERMANENCE,
    money=(MoneyField("reservations", _payments), MoneyField("users", _issued)),
    customers=Customers("users", "user_id"),
    rules=LateRules("airline.rules"),
    choices=CHOICES,
)

__all__ = ["AIRLINE", "AirlineDB", "AirlineTools"]
