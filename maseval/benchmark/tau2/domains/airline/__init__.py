"""The airline: an agent that books, changes and cancels journeys for customers.

After tau2-bench v0.2.0, src/tau2/domains/airline/ (MIT, Sierra Research).
"""

from maseval.benchmark.tau2.domains.airline.models import *  # noqa: F403  # the records, as in MASEval
from maseval.benchmark.tau2.domains.airline.models import AirlineDB
from maseval.benchmark.tau2.domains.airline.tools import AirlineTools
from maseval.benchmark.tau2.domains.domain import (
    Domain,
    LateRules,
    OpenChoice,
    payment_choice,
)

_BOOK, _PASSENGERS = "book_reservation", "update_reservation_passengers"
CHOICES = (
    payment_choice("payment_id", "update_reservation_flights", "update_reservation_baggages"),
    payment_choice("payment_methods", _BOOK),
    OpenChoice("payment methods", "payment_methods", (_BOOK,), unordered=True),
    OpenChoice("passengers", "passengers", (_BOOK, _PASSENGERS), unordered=True),
)


AIRLINE = Domain(
    name="airline",
    db=AirlineDB,
    toolkit=AirlineTools,
    solo_refusal="Airline domain does not support solo mode",
    rules=LateRules("airline.rules"),
    choices=CHOICES,
)

__all__ = ["AIRLINE", "AirlineDB", "AirlineTools"]
