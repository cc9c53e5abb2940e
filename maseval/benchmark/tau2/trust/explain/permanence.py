"""What no tool can undo: the values of each domain that, once wrong, stay wrong.

A rule looks at one field of one kind of record. Given what the field is now and what it should be
in the end, it says whether no sequence of further calls can lead from the one to the other. The
rules are read off the tools; a domain without rules is one about which nothing is claimed.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.airline.tools import CERTIFICATE_IDS, AirlineTools
from maseval.benchmark.tau2.domains.base import ToolKitBase
from maseval.benchmark.tau2.domains.retail.tools import RetailTools
from maseval.benchmark.tau2.domains.telecom.tools import TelecomTools
from maseval.benchmark.tau2.trust.explain.snapshot import ABSENT, Path, Place

Unreachable = Callable[[object, object], bool]


class Rule(NamedTuple):
    """A field (``*`` stands for any step of its path), and when its value can no longer be right.

    ``unreachable(now, wanted)`` must only be true if no tool can ever make the value right.
    """

    table: str
    path: Path
    unreachable: Unreachable
    reason: str

    def concerns(self, place: Place) -> bool:
        """Whether the rule is about this record."""
        return place.table == self.table


def append_only(now: object, wanted: object) -> bool:
    """Entries are added at the end and never changed, so what is there must be a beginning."""
    if not isinstance(now, list) or not isinstance(wanted, list):
        return False
    return now != wanted[: len(now)]


def once_set(now: object, wanted: object) -> bool:
    """Nothing changes it when it has a value."""
    return now not in (None, ABSENT) and now != wanted


def only_falls(now: object, wanted: object) -> bool:
    """No tool raises the number."""
    return isinstance(now, int | float) and isinstance(wanted, int | float) and now < wanted


def only_rises(now: object, wanted: object) -> bool:
    """No tool lowers the number."""
    return isinstance(now, int | float) and isinstance(wanted, int | float) and now > wanted


def stays(now: object, wanted: object) -> bool:
    """What is there is never taken away."""
    return now is not ABSENT and wanted is ABSENT


def moves_along(steps: Mapping[str, Collection[str]]) -> Unreachable:
    """Only the given steps from one value to the next exist."""

    def unreachable(now: object, wanted: object) -> bool:
        reached, ahead = {str(now)}, [str(now)]
        while ahead:
            fresh = {*steps.get(ahead.pop(), ())} - reached
            reached |= fresh
            ahead += fresh
        return str(wanted) not in reached

    return unreachable


def gone_for_good(reissued: Collection[str]) -> Unreachable:
    """A part that is missing comes back only under the ids that a tool gives out."""

    def unreachable(now: object, wanted: object) -> bool:
        if not isinstance(now, dict) or not isinstance(wanted, dict):
            return False
        return any(key not in now and key not in reissued for key in wanted)

    return unreachable


_ORDER = {
    "pending": ("pending (item modified)", "cancelled"),
    "delivered": ("exchange requested", "return requested"),
}

_RETAIL = (
    Rule("orders", ("payment_history",), append_only, "money that moved stays in the history"),
    Rule("orders", ("status",), moves_along(_ORDER), "no tool leads back to the earlier status"),
    *(
        Rule("orders", (field,), once_set, "what was requested for an order cannot be taken back")
        for field in (
            *("cancel_reason", "exchange_items", "exchange_new_items", "return_items"),
            *("exchange_payment_method_id", "return_payment_method_id"),
        )
    ),
)

_AIRLINE = (
    Rule(
        "reservations", ("payment_history",), append_only, "money that moved stays in the history"
    ),
    Rule("reservations", ("status",), once_set, "a cancelled reservation stays cancelled"),
    Rule("reservations", (), stays, "a reservation that was made cannot be removed"),
    Rule("users", ("reservations",), append_only, "a booking stays in the customer's profile"),
    Rule(
        "users",
        ("payment_methods",),
        gone_for_good(CERTIFICATE_IDS),
        "a certificate that was used up does not come back",
    ),
    Rule(
        "flights",
        ("dates", "*", "available_seats", "*"),
        only_falls,
        "no tool gives seats back to a flight",
    ),
)

_TELECOM = (
    Rule("lines", ("data_refueling_gb",), only_rises, "data that was added cannot be taken back"),
    Rule("bills", ("line_items",), append_only, "an entry on a bill stays there"),
    Rule("bills", (), stays, "a bill that was opened cannot be removed"),
)

_RULES: Mapping[type[ToolKitBase], Sequence[Rule]] = {  # type: ignore[type-arg]
    RetailTools: _RETAIL,
    AirlineTools: _AIRLINE,
    TelecomTools: _TELECOM,
}


def rules_of(domain: Domain) -> Sequence[Rule]:
    """What is permanent in a domain; empty if nothing is known about it."""
    for toolkit, rules in _RULES.items():
        if issubclass(domain.toolkit, toolkit):
            return rules
    return ()
