"""Debit cards in their daily life: closing, freezing, alerts, recurring payments, and limits.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/tools.py (MIT, Sierra Research).
"""

import json

from maseval.benchmark.tau2.domains.banking_knowledge.desk import (
    TODAY,
    Desk,
    age_in_days,
    discoverable,
    lines,
    number,
    refuse_if,
    require,
    require_choice,
    require_status,
    title,
)
from maseval.benchmark.tau2.domains.banking_knowledge.models import Row
from maseval.benchmark.tau2.domains.base import ToolType

_CLOSING_REASONS = (
    "lost",
    "stolen",
    "fraud_suspected",
    "damaged",
    "no_longer_needed",
    "account_closing",
)
_UNSAFE = ("lost", "stolen", "fraud_suspected")


class DebitCardTools(Desk):
    @discoverable(ToolType.WRITE)
    def close_debit_card_4721(self, card_id: str, reason: str) -> str:
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
        require(card_id, error="Missing required parameter: card_id.")
        card = self._debit_card(card_id)
        refuse_if(card.get("status") == "FROZEN", f"Debit card '{card_id}' is already frozen.")
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
        require(card_id, error="Missing required parameter: card_id.")
        card = self._debit_card(card_id)
        refuse_if(card.get("status") == "ACTIVE", f"Debit card '{card_id}' is already active.")
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
        refuse_if(
            reason not in ("customer_verified", "velocity_clear"),
            f"Invalid reason '{reason}'. Must be one of: customer_verified, velocity_clear",
        )
        card = self._debit_card(card_id)
        if reason == "velocity_clear":
            return _velocity_cleared(card, card_id)
        return _alert_cleared(card, card_id)

    @discoverable(ToolType.WRITE)
    def set_debit_card_recurring_block_7382(self, card_id: str, block_recurring: bool) -> str:
        require(card_id, error="Missing required parameter: card_id")
        card = self._debit_card(card_id)
        # This is not redundant: a card whose row is empty is refused too.
        refuse_if(not card, f"Debit card '{card_id}' not found.")
        status = card.get("status", "").upper()
        refuse_if(
            status != "ACTIVE",
            "Cannot update recurring block settings for a card with status "
            f"'{status}'. Card must be ACTIVE.",
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
        refuse_if(account_id not in accounts, f"Account '{account_id}' not found.")
        kind = accounts.view(account_id).get("class", "").lower()
        refuse_if(
            kind not in ("checking", "business_checking"),
            f"Account '{account_id}' is not a checking account. Debit cards are only "
            "available for checking accounts.",
        )
        cards = [
            _listing_row({"card_id": key, **row})
            for key, row in self.db.debit_cards.entries()
            if row.get("account_id") == account_id
        ]
        if not cards:
            return f"No debit cards found for account '{account_id}'."
        # Dates are sorted as text and not by time: the month stands before the year.
        cards.sort(key=lambda card: card.get("date_issued") or "", reverse=True)
        return json.dumps(cards, indent=2)


def _velocity_cleared(card: Row, card_id: str) -> str:
    refuse_if(
        not card.get("velocity_blocked"),
        f"Debit card '{card_id}' does not have an active velocity block.",
    )
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
    refuse_if(
        not card.get("fraud_alert_active"),
        f"Debit card '{card_id}' does not have an active fraud alert.",
    )
    refuse_if(
        card.get("alert_source") == "bank_initiated",
        "BANK_INITIATED_ALERT - This fraud alert was initiated by the bank's fraud "
        "detection system and cannot be cleared by customer service agents. Please transfer "
        "the customer to the security team using transfer_to_human_agents.",
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


# Two fields have other names in the listing than in the table.
def _listing_row(card: Row) -> Row:
    if "last_4_digits" in card and "card_number_last_4" not in card:
        card["card_number_last_4"] = card.pop("last_4_digits")
    for name in ("issue_date", "created_date"):
        if name in card and "date_issued" not in card:
            card["date_issued"] = card.pop(name)
            break
    return card


_ATM_LIMITS = {
    "blue account": 500,
    "green account": 600,
    "light blue account": 400,
    "green fee-free account": 500,
    "evergreen account": 750,
    "bluest account": 1500,
    "dark green account": 300,
    "gold years account": 600,
    "purple account": 1000,
}


# The field and the name of each limit that can be raised for a day.
_LIMITS = {
    "atm": ("daily_atm_limit", "Daily ATM Withdrawal Limit"),
    "purchase": ("daily_purchase_limit", "Daily Purchase Limit"),
}


class DebitCardLimitTools(Desk):
    """The rules for raising one limit."""

    @discoverable(ToolType.WRITE)
    def request_temporary_debit_card_limit_increase_8374(
        self, card_id: str, limit_type: str, new_limit: int
    ) -> str:
        """Raise a card's daily limit for a day, by at most a half."""
        require(card_id, error="Missing required parameter: card_id.")
        require(limit_type, error="Missing required parameter: limit_type.")
        refuse_if(
            limit_type not in ("atm", "purchase"),
            f"Invalid limit_type '{limit_type}'. Must be 'atm' or 'purchase'.",
        )
        refuse_if(new_limit is None, "Missing required parameter: new_limit.")
        # A limit such as 600.0 is whole: numbers in a call arrive as floats.
        new = _whole_limit(new_limit)
        card, account = self._card_in_good_standing(card_id)
        field, name = _LIMITS[limit_type]
        current = card.get(field)
        if current is None:
            current = _default_limit(limit_type, account)
        _check_increase(new, current)
        card |= {
            field: new,
            f"temporary_{limit_type}_limit_increase": True,
            f"original_{limit_type}_limit": current,
            # It expires on the day it is granted, although the answer speaks of 24 hours.
            f"temporary_{limit_type}_limit_expires": TODAY,
        }
        return lines(
            f"Temporary {name} Increase Granted Successfully",
            f"Card ID: {card_id}",
            f"Previous Limit: ${current}",
            f"New Temporary Limit: ${new}",
            f"Increase Amount: ${new - current}",
            "",
            "Important Information:",
            "- This temporary increase expires in 24 hours",
            f"- After expiration, the limit will revert to ${current}",
            "- Only one temporary increase is allowed per 24-hour period",
            "",
            "Note: If the customer is at a third-party (non-Rho-Bank) ATM, that ATM may have its "
            "own",
            "per-transaction or daily limits that Rho-Bank cannot override. The customer may need "
            "to",
            "use a Rho-Bank ATM or make multiple smaller withdrawals at third-party ATMs.",
        )

    def _card_in_good_standing(self, card_id: str) -> tuple[Row, Row]:
        card = self._debit_card(card_id)
        refuse_if(
            card.get("status") != "ACTIVE",
            f"Debit card '{card_id}' is not active. Current status: "
            f"{card.get('status')}. Only ACTIVE cards can have limit increases.",
        )
        account_id, accounts = card.get("account_id") or "", self.db.accounts
        refuse_if(
            account_id not in accounts,
            f"Could not find linked account for debit card '{card_id}'.",
        )
        account: Row = accounts.view(account_id)
        refuse_if(
            account.get("status") != "OPEN",
            f"The linked account '{account_id}' is not in good standing. Account "
            f"status: {account.get('status')}.",
        )
        _require_age(account)
        return card, account


def _whole_limit(value: int) -> int:
    new = number(value, f"new_limit must be an integer, got '{value}'.")
    refuse_if(not new.is_integer(), f"new_limit must be an integer, got '{new}'.")
    refuse_if(new <= 0, "new_limit must be a positive amount.")
    return int(new)


def _require_age(account: Row) -> None:
    opened = account.get("date_opened")
    if not opened:
        return
    try:
        days = age_in_days(opened)
    except ValueError:
        return
    refuse_if(
        days < 60,
        "Account must be at least 60 days old for a temporary limit increase. Account "
        f"age: {days} days.",
    )


# Only machines have a default, by the level of the account.
def _default_limit(limit_type: str, account: Row) -> int:
    refuse_if(
        limit_type == "purchase",
        "The card does not have a daily purchase limit configured. This may be a "
        "restricted account type where limits are set by account policy and cannot be modified.",
    )
    level = account.get("level", "")
    refuse_if(
        "light green" in level.lower(),
        "Light Green Account (teen checking) cards have policy-based limits that cannot "
        "be modified. The daily ATM withdrawal limit of $150 is fixed by account policy for "
        "safety reasons. The customer may request the parent/guardian to withdraw cash from "
        "their own account if needed.",
    )
    refuse_if(
        level.lower() not in _ATM_LIMITS,
        "Could not determine the default ATM limit for account type "
        f"'{account.get('level')}'. Please verify the account type.",
    )
    return _ATM_LIMITS[level.lower()]


def _check_increase(new: int, current: float) -> None:
    # This rounds down, so that the maximum never exceeds one and a half times the limit.
    most = int(current * 1.5)
    refuse_if(
        new > most,
        f"Requested limit ${new} exceeds the maximum allowed temporary increase. "
        f"Maximum temporary limit is ${most} (150% of current ${current} limit).",
    )
    refuse_if(
        new <= current,
        f"Requested limit ${new} is not higher than the current limit of ${current}.",
    )
