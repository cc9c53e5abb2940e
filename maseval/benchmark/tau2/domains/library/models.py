"""Records of the library: titles in copies, members with a card, and loans, holds and fines.

The order of the fields is the order in which a model reads them.
"""

from datetime import date
from typing import Literal

from maseval.benchmark.tau2.domains.base import DB
from maseval.benchmark.tau2.world.state.records import Record, Table


class Title(Record):
    """A work that the library owns; what is lent are its copies."""

    title_id: str
    title: str
    author: str
    kind: Literal["book", "dvd", "reference"]
    shelf_mark: str


class Copy(Record):
    """One volume or disc, known by the barcode on its back."""

    barcode: str
    title_id: str
    status: Literal["on shelf", "on loan", "kept for a hold"]


class Member(Record):
    """Somebody with a library card."""

    member_id: str
    name: str
    birth_date: date
    card_number: str
    card_expires: date
    bank_card_on_file: bool
    last_waiver: date | None = None


class Loan(Record):
    """A copy in a member's hands, or one that has come back."""

    loan_id: str
    member_id: str
    barcode: str
    due: date
    renewals: int = 0
    returned: date | None = None


class Hold(Record):
    """A member's wish for a title; once it is ready, a copy is kept for it."""

    hold_id: str
    member_id: str
    title_id: str
    placed: date
    status: Literal["waiting", "ready", "cancelled"]
    barcode: str | None = None


class Fine(Record):
    """Money that a member owes the library, or owed."""

    fine_id: str
    member_id: str
    reason: Literal["late", "damaged", "lost"]
    about: str
    amount: float
    status: Literal["owed", "paid", "waived"] = "owed"


class LibraryDB(DB):
    """The desk's database, and the day on which the desk is open."""

    today: date
    titles: Table[Title]
    copies: Table[Copy]
    members: Table[Member]
    loans: Table[Loan]
    holds: Table[Hold]
    fines: Table[Fine]
    drop_box: list[str]

    def get_statistics(self) -> dict[str, int]:
        return {f"num_{name}": len(table) for name, table in self if isinstance(table, Table)}


class Card(Record):
    """A library card as it looks in a wallet."""

    name: str
    card_number: str
    expires: date


class Slip(Record):
    """A borrowed item with the slip that was printed when it was lent."""

    barcode: str
    title: str
    due_on_slip: date


class LibraryUserDB(DB):
    """The member's belongings, in front of the library's drop box."""

    card: Card | None = None
    bag: dict[str, Slip]
    dropped: list[str]
