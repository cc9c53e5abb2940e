"""Values that the airline's tools cannot undo."""

from maseval.benchmark.tau2.domains.airline.tools import CERTIFICATE_IDS
from maseval.benchmark.tau2.world.state.permanence import (
    PermanenceRule,
    append_only,
    gone_for_good,
    once_set,
    only_falls,
    stays,
)

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
