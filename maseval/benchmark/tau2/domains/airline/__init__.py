"""The airline: an agent that books, changes and cancels journeys for customers.

After tau2-bench v0.2.0, src/tau2/domains/airline/ (MIT, Sierra Research).
"""

from maseval.benchmark.tau2.domains.airline.models import *  # noqa: F403  # the records, as in MASEval
from maseval.benchmark.tau2.domains.airline.models import AirlineDB
from maseval.benchmark.tau2.domains.airline.permanence import PERMANENCE
from maseval.benchmark.tau2.domains.airline.rules import RULES
from maseval.benchmark.tau2.domains.airline.tools import AirlineTools
from maseval.benchmark.tau2.domains.domain import Domain

AIRLINE = Domain(
    name="airline",
    db=AirlineDB,
    toolkit=AirlineTools,
    solo_refusal="Airline domain does not support solo mode",
    permanence=PERMANENCE,
    rules=RULES,
)

__all__ = ["AIRLINE", "AirlineDB", "AirlineTools"]
