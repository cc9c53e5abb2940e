"""Putting debit cards to use: activating them, and their PINs.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/tools.py (MIT, Sierra Research).
"""

from maseval.benchmark.tau2.domains.banking_knowledge.desk import Desk, discoverable
from maseval.benchmark.tau2.domains.banking_knowledge.models import Row
from maseval.benchmark.tau2.domains.banking_knowledge.values import (
    TODAY,
    Refused,
    lines,
    require,
    require_status,
    title,
)
from maseval.benchmark.tau2.domains.base import ToolType

_SEQUENCES = {
    *("0123", "1234", "2345", "3456", "4567", "5678", "6789"),
    *("9876", "8765", "7654", "6543", "5432", "4321", "3210"),
}
ACTIVATED_BY = {
    "activate_debit_card_8291": ("new_account", "first_card"),
    "activate_debit_card_8292": ("lost", "stolen", "fraud"),
    "activate_debit_card_8293": ("expired", "damaged", "upgrade", "bank_reissue"),
}


class DebitCardUseTools(Desk):
    """Discoverable tools for activating, freezing and closing a debit card."""

    @discoverable(ToolType.WRITE)
    def activate_debit_card_8291(
        self, card_id: str, last_4_digits: str, expiration_date: str, cvv: str, pin: str
    ) -> str:
        """Activate the first card of an account."""
        self._activate(
            "activate_debit_card_8291", card_id, last_4_digits, expiration_date, cvv, pin
        )
        change = {"status": "DEACTIVATED", "deactivated_date": TODAY}
        others = self._retire(card_id, change | {"deactivation_reason": "New card activated"})
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
        reason = self._activate(
            "activate_debit_card_8292", card_id, last_4_digits, expiration_date, cvv, pin
        )
        retired = f"Replacement card activated ({reason})"
        change = {"status": "DEACTIVATED", "deactivated_date": TODAY}
        others = self._retire(card_id, change | {"deactivation_reason": retired})
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
        reason = self._activate(
            "activate_debit_card_8293", card_id, last_4_digits, expiration_date, cvv, pin
        )
        retired = f"Reissued card activated ({reason})"
        change = {"status": "GRACE_PERIOD", "grace_period_ends": TODAY}
        others = self._retire(card_id, change | {"deactivation_reason": retired})
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
        if current_pin == new_pin:
            raise Refused("Error: New PIN must be different from current PIN.")
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
    ) -> str:
        """Activate a card that this tool is for; gives the reason for which it was issued."""
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
        if card.get("status") == "ACTIVE":
            raise Refused(f"Error: Debit card '{card_id}' is already active.")
        require_status(card, card_id, "PENDING", "activated")
        _require_same_digits(card, last_4_digits)
        self._require_open_account(card, "activated")
        card |= {"status": "ACTIVE", "activated_date": TODAY}
        return reason

    def _retire(self, card_id: str, change: Row) -> str:
        """Change all other active cards of the same account; gives their ids."""
        cards = self.db.debit_cards
        account_id = cards.view(card_id).get("account_id")
        others = [
            key
            for key, row in cards.items()
            if key != card_id
            and row.get("account_id") == account_id
            and row.get("status") == "ACTIVE"
        ]
        for key in others:
            cards[key].update(change)
        return ", ".join(others)


_ACTIVATION = (
    "Missing required parameters. Required: card_id, last_4_digits, expiration_date, cvv, pin."
)
_PIN_REMINDER = (
    "Customer can use the new PIN for ATM withdrawals and point-of-sale transactions.",
    "",
    "Security reminder: Never share your PIN with anyone.",
)


def _require_digits(value: str, count: int, name: str) -> None:
    if not value.isdigit() or len(value) != count:
        raise Refused(f"Error: {name} must be exactly {count} digits.")


def _require_good_pin(pin: str) -> None:
    _require_digits(pin, 4, "PIN")
    if pin in _SEQUENCES:
        raise Refused(
            "Error: PIN cannot be sequential (e.g., 1234). Please choose a more secure PIN."
        )
    if len(set(pin)) == 1:
        raise Refused(
            "Error: PIN cannot be all the same digit (e.g., 1111). Please choose a more secure PIN."
        )


def _require_same_digits(card: Row, last_4_digits: str) -> None:
    if card.get("last_4_digits") != last_4_digits:
        raise Refused(
            "Error: Card verification failed. The last 4 digits do not match our records."
        )


def _require_active(card: Row, action: str, passive: str) -> None:
    status = card.get("status")
    if status != "ACTIVE":
        raise Refused(
            f"Error: Cannot {action}. Card status is {status}. Only ACTIVE cards can {passive}."
        )
