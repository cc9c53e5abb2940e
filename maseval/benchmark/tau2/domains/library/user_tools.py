"""The tools of the member, out in the street with a card and a bag of books."""

from datetime import date

from maseval.benchmark.tau2.domains.base import ToolKitBase, ToolType, for_tasks, is_tool
from maseval.benchmark.tau2.domains.library.models import Card, LibraryUserDB, Slip
from maseval.benchmark.tau2.domains.library.tools import LibraryTools


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
        """Return True if the member has put an item into the drop box."""
        return barcode in self.db.dropped


def sync(desk: LibraryTools, member: LibraryUserTools) -> None:
    """Let the desk see what the member put into the drop box.

    What the member did is kept, and what the desk makes of it depends on nothing else, so it does
    not matter how often this is called.
    """
    for barcode in member.db.dropped:
        desk.put_into_drop_box(barcode)
