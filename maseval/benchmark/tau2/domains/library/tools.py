"""The tools of the library's agent, and of the member out in the street with a bag of books.

The tools know the facts, not the rules: a loan that is closed cannot be renewed by anybody, but
whether one *should* be renewed is what the policy says, and what the agent is tested on.
"""

from datetime import date, timedelta

from maseval.benchmark.tau2.domains.base import ToolKitBase, ToolType, for_tasks, is_tool
from maseval.benchmark.tau2.domains.library.models import (
    Card,
    Copy,
    Fine,
    Hold,
    LibraryDB,
    LibraryUserDB,
    Loan,
    Member,
    Slip,
    Title,
)
from maseval.benchmark.tau2.world.state.records import Record, RecordT, Table

LOAN_DAYS = {"book": 21, "dvd": 7}
LATE_FEE_A_DAY = {"book": 0.20, "dvd": 1.00}
HIGHEST_LATE_FEE = 8.00


class LibraryTools(ToolKitBase[LibraryDB], predictable=True):
    """The tools of the library's agent, over the library's database."""

    @is_tool(ToolType.READ)
    def get_member(self, card_number: str) -> Member:
        """Look up a member by the number of the library card.

        Args:
            card_number: The number on the card, for example "B 0000 0000".
        """
        for member in self.db.members.views():
            if member.card_number.replace(" ", "") == card_number.replace(" ", ""):
                return member
        raise ValueError(f"No member has card number {card_number}")

    @is_tool(ToolType.READ)
    def find_member(self, name: str, birth_date: str) -> Member:
        """Look up a member who has no card at hand.

        Args:
            name: First and last name, in any capitalisation.
            birth_date: The date of birth as YYYY-MM-DD.
        """
        for member in self.db.members.views():
            same_name = member.name.casefold() == name.casefold()
            if same_name and member.birth_date.isoformat() == birth_date:
                return member
        raise ValueError(f"No member is called {name} and was born on {birth_date}")

    @is_tool(ToolType.READ)
    def get_account(self, member_id: str) -> dict[str, list[Record]]:
        """List a member's open loans, active holds and unpaid fines.

        Args:
            member_id: The member's id, for example "M-0000". It is part of the member's record.
        """
        _view(self.db.members, member_id, "member")
        return {
            "loans": [*self._open_loans(member_id)],
            "holds": [*self._active_holds(member_id)],
            "fines": [*self._unpaid_fines(member_id)],
        }

    @is_tool(ToolType.READ)
    def search_catalogue(self, text: str) -> list[dict[str, object]]:
        """Search titles and authors, and see which copies there are and how many members wait.

        Args:
            text: A part of the title or of the author's name, in any capitalisation, or the id
                of a title or of a copy.
        """
        found = [title for title in self.db.titles.views() if self._fits(title, text)]
        return [
            {
                **title.model_dump(),
                "copies": self._copies(title.title_id),
                "members_waiting": len(self._waiting(title.title_id)),
            }
            for title in found
        ]

    @is_tool(ToolType.READ)
    def look_in_drop_box(self) -> list[Loan]:
        """See which items lie in the drop box, as the loans that they belong to."""
        return [self._loan_of(barcode) for barcode in self.db.drop_box]

    @is_tool(ToolType.WRITE)
    def check_in(self, barcode: str) -> dict[str, Record]:
        """Register a returned item. A fine for a late return is worked out and recorded with it.

        If a member waits for the title the copy is kept for the one who has waited longest, else
        it goes back to its shelf.

        Args:
            barcode: The barcode of the item, for example "3000 0000".
        """
        # A view is for reading only, so the loan is fetched again to be changed.
        loan = self.db.loans[self._loan_of(barcode).loan_id]
        loan.returned = self.db.today
        if barcode in self.db.drop_box:
            self.db.drop_box.remove(barcode)
        self._put_away(self.db.copies[barcode])
        fine = self._late_fine(loan)
        return {"loan": loan, "fine": fine} if fine else {"loan": loan}

    @is_tool(ToolType.WRITE)
    def renew_loan(self, loan_id: str) -> Loan:
        """Extend an open loan by a full loan period that starts today.

        Obtain the member's yes before calling.

        Args:
            loan_id: The id of the loan, for example "L-0000".
        """
        loan = _require_record(self.db.loans, loan_id, "loan")
        if loan.returned is not None:
            raise ValueError(f"Loan {loan_id} was closed on {loan.returned}")
        loan.due = self.db.today + timedelta(days=LOAN_DAYS[self._title_of(loan.barcode).kind])
        loan.renewals += 1
        return loan

    @is_tool(ToolType.WRITE)
    def place_hold(self, member_id: str, title_id: str) -> Hold:
        """Put a member on the waiting list of a title.

        Obtain the member's yes before calling.

        Args:
            member_id: The member's id, for example "M-0000".
            title_id: The id of the title, for example "T-000".
        """
        _view(self.db.members, member_id, "member")
        _view(self.db.titles, title_id, "title")
        if any(hold.title_id == title_id for hold in self._active_holds(member_id)):
            raise ValueError(f"Member {member_id} already has a hold on {title_id}")
        hold = Hold(
            hold_id=_next_id(self.db.holds, "H"),
            member_id=member_id,
            title_id=title_id,
            placed=self.db.today,
            status="waiting",
        )
        self.db.holds[hold.hold_id] = hold
        return hold

    @is_tool(ToolType.WRITE)
    def cancel_hold(self, hold_id: str) -> Hold:
        """Take a member off the waiting list of a title; a copy that was kept is released.

        Obtain the member's yes before calling.

        Args:
            hold_id: The id of the hold, for example "H-000".
        """
        hold = _require_record(self.db.holds, hold_id, "hold")
        if hold.status == "cancelled":
            raise ValueError(f"Hold {hold_id} is already cancelled")
        kept, hold.barcode, hold.status = hold.barcode, None, "cancelled"
        if kept is not None:
            self._put_away(self.db.copies[kept])
        return hold

    @is_tool(ToolType.WRITE)
    def pay_fine(self, fine_id: str) -> Fine:
        """Charge a fine, in full, to the bank card that the member has on file.

        Name the amount and obtain the member's yes before calling.

        Args:
            fine_id: The id of the fine, for example "F-000".
        """
        fine = self._require_owed_fine(fine_id)
        if not self.db.members.view(fine.member_id).bank_card_on_file:
            raise ValueError(f"Member {fine.member_id} has no bank card on file")
        fine.status = "paid"
        return fine

    @is_tool(ToolType.WRITE)
    def waive_fine(self, fine_id: str) -> Fine:
        """Let a member off a fine; the day is noted in the member's record.

        Args:
            fine_id: The id of the fine, for example "F-000".
        """
        fine = self._require_owed_fine(fine_id)
        fine.status = "waived"
        self.db.members[fine.member_id].last_waiver = self.db.today
        return fine

    @is_tool(ToolType.WRITE)
    def renew_membership(self, member_id: str) -> Member:
        """Make a member's card valid for one year from today.

        Obtain the member's yes before calling.

        Args:
            member_id: The member's id, for example "M-0000".
        """
        member = _require_record(self.db.members, member_id, "member")
        member.card_expires = self.db.today + timedelta(days=365)
        return member

    @is_tool(ToolType.GENERIC)
    def transfer_to_human_agents(self, summary: str) -> str:
        """Hand the member over to a librarian, for what the policy does not let you decide.

        Args:
            summary: What the member wants and what has been done so far, in a sentence or two.
        """
        return "Transfer successful"

    @for_tasks
    def set_loan(self, loan_id: str, due: str, renewals: int) -> None:
        """Put a loan into the state in which a task finds it."""
        loan = _require_record(self.db.loans, loan_id, "loan")
        loan.due, loan.renewals = date.fromisoformat(due), renewals

    @for_tasks
    def loan_is_due(self, loan_id: str, due: str) -> bool:
        loan = _view(self.db.loans, loan_id, "loan")
        return loan.returned is None and loan.due.isoformat() == due

    @for_tasks
    def loan_is_closed(self, loan_id: str) -> bool:
        return _view(self.db.loans, loan_id, "loan").returned is not None

    @for_tasks
    def member_owes(self, member_id: str, amount: float) -> bool:
        owed = sum(fine.amount for fine in self._unpaid_fines(member_id))
        return round(owed, 2) == amount

    @for_tasks
    def waits_for(self, member_id: str, title_id: str) -> bool:
        return any(hold.title_id == title_id for hold in self._active_holds(member_id))

    @for_tasks
    def hold_is(self, hold_id: str, status: str) -> bool:
        return _view(self.db.holds, hold_id, "hold").status == status

    def put_into_drop_box(self, barcode: str) -> None:
        """Note what fell into the drop box, unless it is registered as returned already."""
        lent = any(loan.barcode == barcode and not loan.returned for loan in self.db.loans.views())
        if lent and barcode not in self.db.drop_box:
            self.db.drop_box.append(barcode)

    def _open_loans(self, member_id: str) -> list[Loan]:
        loans = self.db.loans.views()
        return [loan for loan in loans if loan.member_id == member_id and not loan.returned]

    def _active_holds(self, member_id: str) -> list[Hold]:
        holds = self.db.holds.views()
        return [h for h in holds if h.member_id == member_id and h.status != "cancelled"]

    def _unpaid_fines(self, member_id: str) -> list[Fine]:
        fines = self.db.fines.views()
        return [fine for fine in fines if fine.member_id == member_id and fine.status == "owed"]

    def _waiting(self, title_id: str) -> list[Hold]:
        holds = self.db.holds.views()
        waiting = [h for h in holds if h.title_id == title_id and h.status == "waiting"]
        # The id breaks ties between holds of one day, so that the order is always the same.
        return sorted(waiting, key=lambda hold: (hold.placed, hold.hold_id))

    def _copies(self, title_id: str) -> list[Copy]:
        return [copy for copy in self.db.copies.views() if copy.title_id == title_id]

    def _fits(self, title: Title, text: str) -> bool:
        wanted = text.casefold().strip()
        barcodes = [copy.barcode for copy in self._copies(title.title_id)]
        in_words = wanted in f"{title.title}\n{title.author}".casefold()
        return in_words or wanted == title.title_id.casefold() or wanted in barcodes

    def _title_of(self, barcode: str) -> Title:
        return self.db.titles.view(self.db.copies.view(barcode).title_id)

    def _loan_of(self, barcode: str) -> Loan:
        for loan in self.db.loans.views():
            if loan.barcode == barcode and loan.returned is None:
                return loan
        raise ValueError(f"Item {barcode} is not on loan")

    def _require_owed_fine(self, fine_id: str) -> Fine:
        fine = _require_record(self.db.fines, fine_id, "fine")
        if fine.status != "owed":
            raise ValueError(f"Fine {fine_id} is already {fine.status}")
        return fine

    def _put_away(self, copy: Copy) -> None:
        waiting = self._waiting(copy.title_id)
        if not waiting:
            copy.status = "on shelf"
            return
        copy.status = "kept for a hold"
        first = self.db.holds[waiting[0].hold_id]
        first.status, first.barcode = "ready", copy.barcode

    def _late_fine(self, loan: Loan) -> Fine | None:
        days = (self.db.today - loan.due).days
        if days <= 0:
            return None
        title = self._title_of(loan.barcode)
        fine = Fine(
            fine_id=_next_id(self.db.fines, "F"),
            member_id=loan.member_id,
            reason="late",
            about=f"{title.title}, {days} days late",
            # Multiples of 0.20 are not exact as floats.
            amount=round(min(days * LATE_FEE_A_DAY[title.kind], HIGHEST_LATE_FEE), 2),
        )
        self.db.fines[fine.fine_id] = fine
        return fine


def _view(table: Table[RecordT], key: str, kind: str) -> RecordT:
    try:
        return table.view(key)
    except KeyError:
        raise ValueError(f"There is no {kind} {key}") from None


def _require_record(table: Table[RecordT], key: str, kind: str) -> RecordT:
    try:
        return table[key]
    except KeyError:
        raise ValueError(f"There is no {kind} {key}") from None


def _next_id(table: Table[RecordT], letter: str) -> str:
    # The next number and not a random one: the same call must give the same record whenever it
    # is made again, or no conversation could be scored by where it led.
    return f"{letter}-{1 + max((int(key.partition('-')[2]) for key in table), default=100)}"


class LibraryUserTools(ToolKitBase[LibraryUserDB], predictable=True):
    """The member's wallet and bag, and the drop box in the library's wall."""

    @is_tool(ToolType.READ)
    def look_at_library_card(self) -> str:
        """Take out your library card and read what is printed on it."""
        card = self.db.card
        if card is None:
            return "There is no library card in your wallet."
        return f"{card.name}, card number {card.card_number}, valid until {card.expires}."

    @is_tool(ToolType.READ)
    def look_in_bag(self) -> str:
        """See which borrowed items you have along, with barcodes and the slips in them."""
        if not self.db.bag:
            return "There is nothing from the library in your bag."
        return "\n".join(
            f"{slip.title}, barcode {slip.barcode}, slip says due {slip.due_on_slip}"
            for slip in self.db.bag.values()
        )

    @is_tool(ToolType.WRITE)
    def drop_into_box(self, barcode: str) -> str:
        """Put an item from your bag into the library's drop box. It cannot be taken out again.

        Args:
            barcode: The barcode on the back of the item, for example "3000 0000".
        """
        slip = self.db.bag.pop(barcode, None)
        if slip is None:
            raise ValueError(f"There is nothing with barcode {barcode} in your bag")
        self.db.dropped.append(barcode)
        return f"{slip.title} is in the drop box."

    @for_tasks
    def carry_card(self, name: str, card_number: str, expires: str) -> None:
        """Put a library card into the member's wallet."""
        self.db.card = Card(name=name, card_number=card_number, expires=date.fromisoformat(expires))

    @for_tasks
    def carry_item(self, barcode: str, title: str, due_on_slip: str) -> None:
        """Put a borrowed item into the member's bag."""
        self.db.bag[barcode] = Slip(
            barcode=barcode, title=title, due_on_slip=date.fromisoformat(due_on_slip)
        )

    @for_tasks
    def has_dropped(self, barcode: str) -> bool:
        return barcode in self.db.dropped


def sync(desk: LibraryTools, member: LibraryUserTools) -> None:
    """Let the desk see what the member put into the drop box.

    What the member did is kept, and what the desk makes of it depends on nothing else, so it does
    not matter how often this is called.
    """
    for barcode in member.db.dropped:
        desk.put_into_drop_box(barcode)
