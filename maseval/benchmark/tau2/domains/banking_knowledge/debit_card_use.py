"""Ordering debit cards, activating them, and their PINs.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/tools.py (MIT, Sierra Research).
"""

from typing import NamedTuple

from maseval.benchmark.tau2.domains.banking_knowledge.desk import (
    TODAY,
    Desk,
    Refused,
    discoverable,
    dollars,
    hex_id,
    lines,
    number,
    refuse_if,
    require,
    require_choice,
    require_status,
    title,
)
from maseval.benchmark.tau2.domains.banking_knowledge.models import BankTable, Row
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
        # The fees are read before anything else is checked, so their errors come first.
        given = {"delivery_fee": delivery_fee, "design_fee": design_fee}
        fees = {
            name: None if fee is None else number(fee, f"{name} must be a number.")
            for name, fee in given.items()
        }
        excess = _excess(excess_replacement_fee)
        wanted = (account_id, user_id, delivery_option, card_design, shipping_address)
        refuse_if(
            not all(wanted) or None in fees.values(),
            "Missing required parameters. Required: account_id, user_id, "
            "delivery_option, delivery_fee, card_design, design_fee, shipping_address.",
        )
        option, design = delivery_option.upper(), card_design.upper()
        require_choice("delivery_option", option, list(_DELIVERY))
        require_choice("card_design", design, _DESIGNS)
        account = self._orderable(account_id, user_id)
        charged = _Fees(fees["delivery_fee"] or 0.0, fees["design_fee"] or 0.0, excess)
        held = _holdings(account)
        self._require_no_other_card(account_id, held)
        refuse_if(
            charged.total > 0 and held < charged.total,
            f"Insufficient funds for fees. Total fees: {dollars(charged.total)}. "
            f"Current balance: {dollars(held)}",
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
        refuse_if(
            not self.db.debit_card_orders.add(order, row),
            "Failed to create debit card order. Order may already exist.",
        )
        # Fees are charged only after the order was stored: a repeated order costs nothing.
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
        refuse_if(
            account.get("class") != "checking",
            f"Debit cards can only be ordered for checking accounts. {named} is a "
            f"{account.get('class')} account.",
        )
        refuse_if(
            account.get("status") != "OPEN",
            f"Account must be OPEN. {named} has status: {account.get('status')}",
        )
        refuse_if(
            account.get("user_id") != user_id, f"{named} does not belong to user '{user_id}'."
        )
        return account

    def _require_no_other_card(self, account_id: str, held: float) -> None:
        refuse_if(
            held < 25,
            f"Account must have a minimum balance of $25. Current balance: {dollars(held)}",
        )
        refuse_if(
            _any_of(self.db.debit_card_orders, account_id, "PENDING"),
            f"There is already a pending debit card order for account '{account_id}'.",
        )
        refuse_if(
            _any_of(self.db.debit_cards, account_id, "ACTIVE"),
            f"Account '{account_id}' already has an active debit card. Maximum 1 active "
            "card per checking account.",
        )

    def _book(self, order: str, account_id: str, fees: _Fees) -> None:
        # The id ends like that of the order, so that an order is booked only once.
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
        card = "dbc_" + hex_id(f"debit_card:{account_id}:{user_id}:{TODAY}", 12)
        users = self.db.users
        name = users.view(user_id).get("name", "CARDHOLDER") if user_id in users else "CARDHOLDER"
        row = {
            "card_id": card,
            "account_id": account_id,
            "user_id": user_id,
            "cardholder_name": name.upper(),
            # These are derived from the card's id and not random, so that a replay issues the same
            # card.
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

    # The first closed card of an account gives the reason, not the last.
    def _issue_reason(self, account_id: str) -> str:
        cards = [r for r in self.db.debit_cards.views() if r.get("account_id") == account_id]
        if not cards:
            return "new_account"
        closed: Row = next((card for card in cards if card.get("status") == "CLOSED"), {})
        return _ISSUE_REASONS.get(closed.get("closure_reason", "first_card"), "first_card")


def _excess(fee: float | None) -> float:
    try:
        # This fee is optional and not checked: what is not a number counts as no fee.
        return float(fee) if fee else 0.0
    except (ValueError, TypeError):
        return 0


# This one tool of the original reads holdings with a dollar sign as nothing.
def _holdings(account: Row) -> float:
    try:
        return float(str(account.get("current_holdings", "0")).replace(",", ""))
    except ValueError:
        return 0.0


def _any_of(table: BankTable, account_id: str, status: str) -> bool:
    rows = table.views()
    return any(r.get("account_id") == account_id and r.get("status") == status for r in rows)


def _digits(seed: str, length: int, count: int) -> str:
    digits = "".join(c for c in hex_id(seed, length) if c.isdigit())
    return digits[:count].zfill(count)


_SEQUENCES = {
    "0123",
    "1234",
    "2345",
    "3456",
    "4567",
    "5678",
    "6789",
    "9876",
    "8765",
    "7654",
    "6543",
    "5432",
    "4321",
    "3210",
}
ACTIVATED_BY = {
    "activate_debit_card_8291": ("new_account", "first_card"),
    "activate_debit_card_8292": ("lost", "stolen", "fraud"),
    "activate_debit_card_8293": ("expired", "damaged", "upgrade", "bank_reissue"),
}
# What becomes of the other active cards of the account.
_GONE = {"status": "DEACTIVATED", "deactivated_date": TODAY}
_RETIRED = {
    "activate_debit_card_8291": {**_GONE, "deactivation_reason": "New card activated"},
    "activate_debit_card_8292": {
        **_GONE,
        "deactivation_reason": "Replacement card activated ({})",
    },
    "activate_debit_card_8293": {
        "status": "GRACE_PERIOD",
        "grace_period_ends": TODAY,
        "deactivation_reason": "Reissued card activated ({})",
    },
}


class DebitCardUseTools(Desk):
    @discoverable(ToolType.WRITE)
    def activate_debit_card_8291(
        self, card_id: str, last_4_digits: str, expiration_date: str, cvv: str, pin: str
    ) -> str:
        """Activate the first card of an account."""
        _, others = self._activate(
            "activate_debit_card_8291", card_id, last_4_digits, expiration_date, cvv, pin
        )
        return lines(
            "New Debit Card Activation Successful",
            f"Card ID: {card_id}",
            "Status: ACTIVE",
            f"Activation Date: {TODAY}",
            "",
            "Your card is now ready to use at any ATM or point of sale terminal.",
            "For security, please sign the back of your card.",
            f"\nNote: Previous card(s) have been deactivated: {others}" if others else None,
        )

    @discoverable(ToolType.WRITE)
    def activate_debit_card_8292(
        self, card_id: str, last_4_digits: str, expiration_date: str, cvv: str, pin: str
    ) -> str:
        """Activate the card that replaces a lost one."""
        reason, others = self._activate(
            "activate_debit_card_8292", card_id, last_4_digits, expiration_date, cvv, pin
        )
        return lines(
            "Replacement Debit Card Activation Successful",
            f"Card ID: {card_id}",
            f"Replacement Reason: {title(reason)}",
            "Status: ACTIVE",
            f"Activation Date: {TODAY}",
            "",
            "Your replacement card is now ready to use.",
            "",
            "IMPORTANT SECURITY REMINDERS:",
            "- Please review your recent transactions for any unauthorized charges",
            "- Report any suspicious activity immediately",
            "- Since fraud was suspected, we recommend changing your online banking password"
            if reason == "fraud"
            else None,
            f"\nPrevious card(s) have been deactivated for security: {others}" if others else None,
        )

    @discoverable(ToolType.WRITE)
    def activate_debit_card_8293(
        self, card_id: str, last_4_digits: str, expiration_date: str, cvv: str, pin: str
    ) -> str:
        """Activate a reissued card; the old one works for another day."""
        reason, others = self._activate(
            "activate_debit_card_8293", card_id, last_4_digits, expiration_date, cvv, pin
        )
        return lines(
            "Reissued Debit Card Activation Successful",
            f"Card ID: {card_id}",
            f"Reissue Reason: {title(reason)}",
            "Status: ACTIVE",
            f"Activation Date: {TODAY}",
            "",
            "Your reissued card is now ready to use.",
            f"\nNote: Your previous card(s) ({others}) will remain active for 24 hours as a grace "
            "period.\nAfter 24 hours, the old card(s) will be automatically deactivated."
            if others
            else None,
            "\nReminder: If your card number changed, please update any recurring payments with "
            "your new card details."
            if reason in ("expired", "bank_reissue")
            else None,
        )

    @discoverable(ToolType.WRITE)
    def reset_debit_card_pin_6284(self, card_id: str, last_4_digits: str, new_pin: str) -> str:
        """Give a card a new PIN and unlock it."""
        needed = "Missing required parameters. Required: card_id, last_4_digits, new_pin."
        require(card_id, last_4_digits, new_pin, error=needed)
        _require_digits(last_4_digits, 4, "Last 4 digits")
        _require_good_pin(new_pin)
        card = self._debit_card(card_id)
        _require_same_digits(card, last_4_digits)
        _require_active(card, "reset PIN", "have their PIN reset")
        card |= {"pin_last_changed": TODAY, "pin_locked": False, "pin_attempts_remaining": 3}
        return lines(
            "Debit Card PIN Reset Successfully",
            f"Card ID: {card_id}",
            f"PIN Changed: {TODAY}",
            "",
            "The new PIN is effective immediately.",
            "Your card has been unlocked and is ready to use.",
            *_PIN_REMINDER,
        )

    @discoverable(ToolType.WRITE)
    def change_debit_card_pin_6285(self, card_id: str, current_pin: str, new_pin: str) -> str:
        """Change a PIN; the current one is not verified."""
        needed = "Missing required parameters. Required: card_id, current_pin, new_pin."
        require(card_id, current_pin, new_pin, error=needed)
        _require_digits(current_pin, 4, "Current PIN")
        _require_good_pin(new_pin)
        refuse_if(current_pin == new_pin, "New PIN must be different from current PIN.")
        card = self._debit_card(card_id)
        _require_active(card, "change PIN", "have their PIN changed")
        card["pin_last_changed"] = TODAY
        return lines(
            "Debit Card PIN Changed Successfully",
            f"Card ID: {card_id}",
            f"PIN Changed: {TODAY}",
            "",
            "The new PIN is effective immediately.",
            *_PIN_REMINDER,
        )

    def _activate(
        self, tool: str, card_id: str, last_4_digits: str, expiration_date: str, cvv: str, pin: str
    ) -> tuple[str, str]:
        """Activate a card and retire the account's others; return its issue reason, and theirs."""
        # Arguments are checked before the look-up, which decides which error a model reads.
        require(card_id, last_4_digits, expiration_date, cvv, pin, error=_ACTIVATION)
        _require_good_pin(pin)
        _require_digits(cvv, 3, "CVV")
        _require_digits(last_4_digits, 4, "Last 4 digits")
        card = self._debit_card(card_id)
        reason: str = card.get("issue_reason", "new_account")
        if reason not in ACTIVATED_BY[tool]:
            tools = (name for name, reasons in ACTIVATED_BY.items() if reason in reasons)
            raise Refused(
                f"Error: Wrong activation tool. This card has issue_reason='{reason}'. Please use "
                f"{next(tools, 'unknown')} instead of {tool}."
            )
        refuse_if(card.get("status") == "ACTIVE", f"Debit card '{card_id}' is already active.")
        require_status(card, card_id, "PENDING", "activated")
        _require_same_digits(card, last_4_digits)
        self._require_open_account(card, "activated")
        card |= {"status": "ACTIVE", "activated_date": TODAY}
        cards, change = self.db.debit_cards, _RETIRED[tool]
        others = [
            key
            for key, row in cards.entries()
            if key != card_id
            and row.get("account_id") == card.get("account_id")
            and row.get("status") == "ACTIVE"
        ]
        for key in others:
            why = change["deactivation_reason"].format(reason)
            cards[key].update({**change, "deactivation_reason": why})
        return reason, ", ".join(others)


_ACTIVATION = (
    "Missing required parameters. Required: card_id, last_4_digits, expiration_date, cvv, pin."
)
_PIN_REMINDER = (
    "Customer can use the new PIN for ATM withdrawals and point-of-sale transactions.",
    "",
    "Security reminder: Never share your PIN with anyone.",
)


def _require_digits(value: str, count: int, name: str) -> None:
    refuse_if(not value.isdigit() or len(value) != count, f"{name} must be exactly {count} digits.")


def _require_good_pin(pin: str) -> None:
    _require_digits(pin, 4, "PIN")
    refuse_if(
        pin in _SEQUENCES, "PIN cannot be sequential (e.g., 1234). Please choose a more secure PIN."
    )
    refuse_if(
        len(set(pin)) == 1,
        "PIN cannot be all the same digit (e.g., 1111). Please choose a more secure PIN.",
    )


def _require_same_digits(card: Row, last_4_digits: str) -> None:
    refuse_if(
        card.get("last_4_digits") != last_4_digits,
        "Card verification failed. The last 4 digits do not match our records.",
    )


def _require_active(card: Row, action: str, passive: str) -> None:
    status = card.get("status")
    refuse_if(
        status != "ACTIVE",
        f"Cannot {action}. Card status is {status}. Only ACTIVE cards can {passive}.",
    )
