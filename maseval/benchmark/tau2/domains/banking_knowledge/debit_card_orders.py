"""Ordering a debit card: checks, fees, the order, the booking and the card itself.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/tools.py (MIT, Sierra Research).
"""

from typing import NamedTuple

from maseval.benchmark.tau2.domains.banking_knowledge.desk import Desk, discoverable
from maseval.benchmark.tau2.domains.banking_knowledge.models import BankTable, Row
from maseval.benchmark.tau2.domains.banking_knowledge.values import (
    TODAY,
    Refused,
    dollars,
    hex_id,
    lines,
    number,
    require_choice,
)
from maseval.benchmark.tau2.domains.base import ToolType

_DELIVERY = {
    "STANDARD": "7-10 business days",
    "EXPEDITED": "3-5 business days",
    "RUSH": "1-2 business days",
}
_DESIGNS = ("CLASSIC", "PREMIUM", "CUSTOM")
_ISSUE_REASONS = {"lost": "lost", "stolen": "stolen", "fraud": "fraud", "fraud_suspected": "fraud"}


class _Fees(NamedTuple):
    delivery: float
    design: float
    excess: float

    @property
    def total(self) -> float:
        return self.delivery + self.design + self.excess

    def parts(self, colon: str = "") -> str:
        """A fee, as the order and the booking name it."""
        named = {
            f"Delivery{colon} ${self.delivery}": self.delivery,
            f"Design{colon} ${self.design}": self.design,
            f"Excess Replacement{colon} ${self.excess:.0f}": self.excess,
        }
        return ", ".join(text for text, fee in named.items() if fee > 0)


class DebitCardOrderTools(Desk):
    """Discoverable tools for ordering a debit card."""

    @discoverable(ToolType.WRITE)
    def order_debit_card_5739(
        self,
        account_id: str,
        user_id: str,
        delivery_option: str,
        delivery_fee: float,
        card_design: str,
        design_fee: float,
        shipping_address: str,
        excess_replacement_fee: float | None = None,
    ) -> str:
        """Order a card for a checking account and charge what it costs."""
        given = {"delivery_fee": delivery_fee, "design_fee": design_fee}
        fees = {
            name: None if fee is None else number(fee, f"{name} must be a number.")
            for name, fee in given.items()
        }
        excess = _excess(excess_replacement_fee)
        wanted = (account_id, user_id, delivery_option, card_design, shipping_address)
        if not all(wanted) or None in fees.values():
            raise Refused(
                "Error: Missing required parameters. Required: account_id, user_id, "
                "delivery_option, delivery_fee, card_design, design_fee, shipping_address."
            )
        option, design = delivery_option.upper(), card_design.upper()
        require_choice("delivery_option", option, list(_DELIVERY))
        require_choice("card_design", design, _DESIGNS)
        account = self._orderable(account_id, user_id)
        charged = _Fees(fees["delivery_fee"] or 0.0, fees["design_fee"] or 0.0, excess)
        held = _holdings(account)
        self._require_no_other_card(account_id, held)
        if charged.total > 0 and held < charged.total:
            raise Refused(
                f"Error: Insufficient funds for fees. Total fees: {dollars(charged.total)}. "
                f"Current balance: {dollars(held)}"
            )
        order = "dcord_" + hex_id(f"debit_card_order:{account_id}:{user_id}:{option}", 12)
        row = {
            "order_id": order,
            "account_id": account_id,
            "user_id": user_id,
            "delivery_option": option,
            "card_design": design,
            "shipping_address": shipping_address,
            "delivery_fee": charged.delivery,
            "design_fee": charged.design,
            "excess_replacement_fee": charged.excess,
            "total_fee": charged.total,
            "order_date": TODAY,
            "expected_delivery": _DELIVERY[option],
            "status": "PENDING",
        }
        if not self.db.debit_card_orders.add(order, row):
            raise Refused("Error: Failed to create debit card order. Order may already exist.")
        if charged.total > 0:
            account["current_holdings"] = f"{held - charged.total:.2f}"
            self._book(order, account_id, charged)
        card = self._issue(account_id, user_id, design)
        return lines(
            "Debit Card Order Confirmed",
            f"Order ID: {order}",
            f"Card ID: {card}",
            f"Linked Account: {account_id}",
            f"Delivery Option: {option}",
            f"Card Design: {design}",
            f"Shipping Address: {shipping_address}",
            f"Expected Delivery: {_DELIVERY[option]}",
            "",
            "Note: Card will arrive with status PENDING. Customer must call to activate after "
            "receiving the card.",
            f"Total Fees: {dollars(charged.total)} ({charged.parts(':')}) - CHARGED to account "
            f"{account_id}\nNew Account Balance: {dollars(held - charged.total)}"
            if charged.total > 0
            else "Total Fees: $0 (No additional charges)",
        )

    def _orderable(self, account_id: str, user_id: str) -> Row:
        named = f"Account '{account_id}'"
        account = self._row("accounts", account_id, f"{named} not found.")
        if account.get("class") != "checking":
            raise Refused(
                f"Error: Debit cards can only be ordered for checking accounts. {named} is a "
                f"{account.get('class')} account."
            )
        if account.get("status") != "OPEN":
            raise Refused(
                f"Error: Account must be OPEN. {named} has status: {account.get('status')}"
            )
        if account.get("user_id") != user_id:
            raise Refused(f"Error: {named} does not belong to user '{user_id}'.")
        return account

    def _require_no_other_card(self, account_id: str, held: float) -> None:
        if held < 25:
            raise Refused(
                "Error: Account must have a minimum balance of $25. Current balance: "
                f"{dollars(held)}"
            )
        if _any_of(self.db.debit_card_orders, account_id, "PENDING"):
            raise Refused(
                f"Error: There is already a pending debit card order for account '{account_id}'."
            )
        if _any_of(self.db.debit_cards, account_id, "ACTIVE"):
            raise Refused(
                f"Error: Account '{account_id}' already has an active debit card. Maximum 1 active "
                "card per checking account."
            )

    def _book(self, order: str, account_id: str, fees: _Fees) -> None:
        transaction = f"btxn_dcfee_{order[-8:]}"
        row = {
            "transaction_id": transaction,
            "account_id": account_id,
            "date": TODAY,
            "description": f"DEBIT CARD ORDER FEE - {fees.parts()}",
            "amount": -fees.total,
            "type": "debit_card_fee",
            "status": "posted",
        }
        self.db.bank_account_transaction_history.add(transaction, row)

    def _issue(self, account_id: str, user_id: str, design: str) -> str:
        """Make the card; gives its id."""
        card = "dbc_" + hex_id(f"debit_card:{account_id}:{user_id}:{TODAY}", 12)
        users = self.db.users
        name = users.view(user_id).get("name", "CARDHOLDER") if user_id in users else "CARDHOLDER"
        row = {
            "card_id": card,
            "account_id": account_id,
            "user_id": user_id,
            "cardholder_name": name.upper(),
            "last_4_digits": _digits(f"card_details:{card}:last4", 8, 4),
            "cvv": _digits(f"card_details:{card}:cvv", 6, 3),
            "status": "PENDING",
            "issue_date": TODAY,
            "expiration_date": "11/30/2029",
            "card_design": design,
            "issue_reason": self._issue_reason(account_id),
        }
        self.db.debit_cards.add(card, row)
        return card

    def _issue_reason(self, account_id: str) -> str:
        """Return the reason for issuing a card, as the account's first closed card gives it."""
        cards = [r for r in self.db.debit_cards.values() if r.get("account_id") == account_id]
        if not cards:
            return "new_account"
        closed: Row = next((card for card in cards if card.get("status") == "CLOSED"), {})
        return _ISSUE_REASONS.get(closed.get("closure_reason", "first_card"), "first_card")


def _excess(fee: float | None) -> float:
    try:
        return float(fee) if fee else 0.0
    except (ValueError, TypeError):
        return 0


def _holdings(account: Row) -> float:
    """The holdings as this one tool reads them: with a dollar sign they count as nothing."""
    try:
        return float(str(account.get("current_holdings", "0")).replace(",", ""))
    except ValueError:
        return 0.0


def _any_of(table: BankTable, account_id: str, status: str) -> bool:
    rows = table.values()
    return any(r.get("account_id") == account_id and r.get("status") == status for r in rows)


def _digits(seed: str, length: int, count: int) -> str:
    """The first decimal digits of an id, filled up with zeros from the left."""
    digits = "".join(c for c in hex_id(seed, length) if c.isdigit())
    return digits[:count].zfill(count)
