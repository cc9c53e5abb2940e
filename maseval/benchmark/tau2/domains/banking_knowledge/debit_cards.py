"""Debit cards in their daily life: closing, freezing, alerts and recurring payments.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/tools.py (MIT, Sierra Research).
"""

import json

from maseval.benchmark.tau2.domains.banking_knowledge.desk import Desk, discoverable
from maseval.benchmark.tau2.domains.banking_knowledge.models import Row
from maseval.benchmark.tau2.domains.banking_knowledge.values import (
    TODAY,
    Refused,
    lines,
    require,
    require_choice,
    require_status,
    title,
)
from maseval.benchmark.tau2.domains.base import ToolType

_CLOSING_REASONS = (
    *("lost", "stolen", "fraud_suspected", "damaged", "no_longer_needed", "account_closing"),
)
_UNSAFE = ("lost", "stolen", "fraud_suspected")


class DebitCardTools(Desk):
    """Discoverable tools for debit cards."""

    @discoverable(ToolType.WRITE)
    def close_debit_card_4721(self, card_id: str, reason: str) -> str:
        """Close a card for good."""
        require(card_id, reason, error="Missing required parameters. Required: card_id, reason.")
        reason = reason.lower()
        require_choice("reason", reason, _CLOSING_REASONS)
        card = self._debit_card(card_id)
        old = card.get("status")
        require_status(card, card_id, "ACTIVE or PENDING", "closed")
        card |= {"status": "CLOSED", "closed_date": TODAY, "closure_reason": reason}
        return lines(
            "Debit Card Closed Successfully",
            f"Card ID: {card_id}",
            f"Previous Status: {old}",
            "New Status: CLOSED",
            f"Closure Reason: {title(reason)}",
            f"Closure Date: {TODAY}",
            "",
            "IMPORTANT: This card has been immediately deactivated for security.\n"
            "Any pending transactions may still be processed."
            if reason in _UNSAFE
            else None,
            "Please advise the customer to review recent transactions and file disputes for any "
            "unauthorized charges.\nAlso recommend changing their online banking password."
            if reason == "fraud_suspected"
            else None,
            "",
            "Note: This card cannot be reactivated. If the customer needs a new card, they can "
            "order one through the standard ordering process.",
            "Any recurring payments linked to this card will need to be updated with new payment "
            "information.",
        )

    @discoverable(ToolType.WRITE)
    def freeze_debit_card_3892(self, card_id: str) -> str:
        """Stop a card until it is unfrozen."""
        require(card_id, error="Missing required parameter: card_id.")
        card = self._debit_card(card_id)
        if card.get("status") == "FROZEN":
            raise Refused(f"Error: Debit card '{card_id}' is already frozen.")
        require_status(card, card_id, "ACTIVE", "frozen")
        card |= {"status": "FROZEN", "frozen_date": TODAY}
        return lines(
            "Debit Card Frozen Successfully",
            f"Card ID: {card_id}",
            "Status: FROZEN",
            f"Frozen Date: {TODAY}",
            "",
            "While frozen:",
            "- All new purchase transactions will be declined",
            "- Recurring payments and subscriptions will be declined",
            "- Pending transactions already authorized may still process",
            "",
            "To unfreeze, the customer can call customer service or use the mobile app.",
            "If the card is confirmed lost or stolen, recommend closing the card permanently "
            "instead.",
        )

    @discoverable(ToolType.WRITE)
    def unfreeze_debit_card_3893(self, card_id: str) -> str:
        """Let a frozen card work again."""
        require(card_id, error="Missing required parameter: card_id.")
        card = self._debit_card(card_id)
        if card.get("status") == "ACTIVE":
            raise Refused(f"Error: Debit card '{card_id}' is already active.")
        require_status(card, card_id, "FROZEN", "unfrozen")
        self._require_open_account(card, "unfrozen")
        card |= {"status": "ACTIVE", "unfrozen_date": TODAY}
        return lines(
            "Debit Card Unfrozen Successfully",
            f"Card ID: {card_id}",
            "Status: ACTIVE",
            f"Unfrozen Date: {TODAY}",
            "",
            "The card is now active and ready to use immediately.",
            "All transactions will process normally.",
        )

    @discoverable(ToolType.WRITE)
    def clear_debit_card_fraud_alert_4892(self, card_id: str, reason: str) -> str:
        """Lift what stops a card: a fraud alert, or a block after too many payments."""
        require(card_id, error="Missing required parameter: card_id.")
        require(reason, error="Missing required parameter: reason.")
        if reason not in ("customer_verified", "velocity_clear"):
            raise Refused(
                f"Error: Invalid reason '{reason}'. Must be one of: customer_verified, "
                "velocity_clear"
            )
        card = self._debit_card(card_id)
        if reason == "velocity_clear":
            return _velocity_cleared(card, card_id)
        return _alert_cleared(card, card_id)

    @discoverable(ToolType.WRITE)
    def set_debit_card_recurring_block_7382(self, card_id: str, block_recurring: bool) -> str:
        """Block recurring payments, or let them through."""
        require(card_id, error="Missing required parameter: card_id")
        card = self._debit_card(card_id)
        if not card:
            raise Refused(f"Error: Debit card '{card_id}' not found.")
        status = card.get("status", "").upper()
        if status != "ACTIVE":
            raise Refused(
                "Error: Cannot update recurring block settings for a card with status "
                f"'{status}'. Card must be ACTIVE."
            )
        card["recurring_blocked"] = block_recurring
        if not block_recurring:
            return lines(
                f"Recurring payments UNBLOCKED for debit card {card_id}.",
                "Recurring/subscription charges will now be allowed.",
                "This change takes effect within 24 hours.",
            )
        return lines(
            f"Recurring payments BLOCKED for debit card {card_id}.",
            "All recurring/subscription charges will be declined.",
            "One-time purchases are not affected.",
            "This change takes effect within 24 hours.",
        )

    @discoverable(ToolType.READ)
    def get_debit_cards_by_account_id_7823(self, account_id: str) -> str:
        """List the cards of an account, by the text of their date of issue."""
        require(account_id, error="Missing required parameter 'account_id'.")
        accounts = self.db.accounts
        if account_id not in accounts:
            raise Refused(f"Error: Account '{account_id}' not found.")
        kind = accounts.view(account_id).get("class", "").lower()
        if kind not in ("checking", "business_checking"):
            raise Refused(
                f"Error: Account '{account_id}' is not a checking account. Debit cards are only "
                "available for checking accounts."
            )
        cards = [
            _listing_row({"card_id": key, **row})
            for key, row in self.db.debit_cards.items()
            if row.get("account_id") == account_id
        ]
        if not cards:
            return f"No debit cards found for account '{account_id}'."
        cards.sort(key=lambda card: card.get("date_issued") or "", reverse=True)
        return json.dumps(cards, indent=2)


def _velocity_cleared(card: Row, card_id: str) -> str:
    if not card.get("velocity_blocked"):
        raise Refused(f"Error: Debit card '{card_id}' does not have an active velocity block.")
    card |= {"velocity_blocked": False, "velocity_cleared_date": TODAY}
    return lines(
        "Velocity Block Cleared Successfully",
        f"Card ID: {card_id}",
        f"Cleared Date: {TODAY}",
        "",
        "The card is now unblocked and ready for normal use.",
        "The velocity monitoring will continue - if the same unusual patterns recur,",
        "the card may be blocked again automatically.",
    )


def _alert_cleared(card: Row, card_id: str) -> str:
    if not card.get("fraud_alert_active"):
        raise Refused(f"Error: Debit card '{card_id}' does not have an active fraud alert.")
    if card.get("alert_source") == "bank_initiated":
        raise Refused(
            "Error: BANK_INITIATED_ALERT - This fraud alert was initiated by the bank's fraud "
            "detection system and cannot be cleared by customer service agents. Please transfer "
            "the customer to the security team using transfer_to_human_agents."
        )
    card |= {"fraud_alert_active": False, "alert_source": None, "fraud_alert_cleared_date": TODAY}
    return lines(
        "Fraud Alert Cleared Successfully",
        f"Card ID: {card_id}",
        f"Cleared Date: {TODAY}",
        "",
        "The fraud alert has been removed from the card.",
        "All transactions will process normally.",
        "",
        "Remind the customer to review recent transactions and report any unauthorized charges.",
    )


def _listing_row(card: Row) -> Row:
    """A card as the listing shows it: two of its fields have other names there."""
    if "last_4_digits" in card and "card_number_last_4" not in card:
        card["card_number_last_4"] = card.pop("last_4_digits")
    for name in ("issue_date", "created_date"):
        if name in card and "date_issued" not in card:
            card["date_issued"] = card.pop(name)
            break
    return card
