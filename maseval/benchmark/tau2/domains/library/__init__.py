"""Library: the desk of a public library, and a member with a bag of books at its drop box.

A domain of our own, small and complete: it brings its data along, both sides have tools, and it is
the example that docs/add-your-own-domain.md refers to.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2.domains.domain import (
    Customers,
    Domain,
    LateRules,
    MoneyField,
    PermanenceRule,
    ends_with,
    once_set,
    stays,
)
from maseval.benchmark.tau2.domains.library.models import LibraryDB, LibraryUserDB
from maseval.benchmark.tau2.domains.library.tools import LibraryTools, LibraryUserTools, sync

# Values that no tool can undo.
PERMANENCE = (
    PermanenceRule("loans", ("returned",), once_set, "a loan that was closed stays closed"),
    PermanenceRule(
        "fines", ("status",), ends_with("paid", "waived"), "a settled fine is never owed again"
    ),
    PermanenceRule("fines", (), stays, "a fine that was recorded cannot be removed"),
    PermanenceRule(
        "holds", ("status",), ends_with("cancelled"), "a cancelled hold stays cancelled"
    ),
)


def _fine(fine: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    yield "charged", fine["amount"]
    if fine["status"] == "paid":
        yield "paid", fine["amount"]
    elif fine["status"] == "waived":
        yield "waived", -fine["amount"]


LIBRARY = Domain(
    name="library",
    db=LibraryDB,
    toolkit=LibraryTools,
    user_db=LibraryUserDB,
    user_db_file="user_db.json",
    user_toolkit=LibraryUserTools,
    sync=sync,
    rules=LateRules("library"),
    permanence=PERMANENCE,
    money=[MoneyField("fines", _fine)],
    customers=Customers("members", "member_id"),
    data_dir=Path(__file__).parent / "data",
)

__all__ = ["LIBRARY", "LibraryDB", "LibraryTools", "LibraryUserDB", "LibraryUserTools"]
