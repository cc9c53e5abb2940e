"""Raising the daily limits of debit cards for a day.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/tools.py (MIT, Sierra Research).
"""

from maseval.benchmark.tau2.domains.banking_knowledge.desk import Desk, discoverable
from maseval.benchmark.tau2.domains.banking_knowledge.models import Row
from maseval.benchmark.tau2.domains.banking_knowledge.values import (
    TODAY,
    Refused,
    age_in_days,
    lines,
    number,
    require,
)
from maseval.benchmark.tau2.domains.base import ToolType

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
        if limit_type not in ("atm", "purchase"):
            raise Refused(f"Error: Invalid limit_type '{limit_type}'. Must be 'atm' or 'purchase'.")
        if new_limit is None:
            raise Refused("Error: Missing required parameter: new_limit.")
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
        """An active card and its account, which is open and not too young."""
        card = self._debit_card(card_id)
        if card.get("status") != "ACTIVE":
            raise Refused(
                f"Error: Debit card '{card_id}' is not active. Current status: "
                f"{card.get('status')}. Only ACTIVE cards can have limit increases."
            )
        account_id, accounts = card.get("account_id"), self.db.accounts
        if not account_id or account_id not in accounts:
            raise Refused(f"Error: Could not find linked account for debit card '{card_id}'.")
        account: Row = accounts.view(account_id)
        if account.get("status") != "OPEN":
            raise Refused(
                f"Error: The linked account '{account_id}' is not in good standing. Account "
                f"status: {account.get('status')}."
            )
        _require_age(account)
        return card, account


def _whole_limit(value: int) -> int:
    new = number(value, f"new_limit must be an integer, got '{value}'.")
    if not new.is_integer():
        raise Refused(f"Error: new_limit must be an integer, got '{new}'.")
    if new <= 0:
        raise Refused("Error: new_limit must be a positive amount.")
    return int(new)


def _require_age(account: Row) -> None:
    opened = account.get("date_opened")
    if not opened:
        return
    try:
        days = age_in_days(opened)
    except ValueError:
        return
    if days < 60:
        raise Refused(
            "Error: Account must be at least 60 days old for a temporary limit increase. Account "
            f"age: {days} days."
        )


def _default_limit(limit_type: str, account: Row) -> int:
    """The limit of a card that has none of its own: for machines its account's level decides."""
    if limit_type == "purchase":
        raise Refused(
            "Error: The card does not have a daily purchase limit configured. This may be a "
            "restricted account type where limits are set by account policy and cannot be modified."
        )
    level = account.get("level", "")
    if "light green" in level.lower():
        raise Refused(
            "Error: Light Green Account (teen checking) cards have policy-based limits that cannot "
            "be modified. The daily ATM withdrawal limit of $150 is fixed by account policy for "
            "safety reasons. The customer may request the parent/guardian to withdraw cash from "
            "their own account if needed."
        )
    if level.lower() not in _ATM_LIMITS:
        raise Refused(
            "Error: Could not determine the default ATM limit for account type "
            f"'{account.get('level')}'. Please verify the account type."
        )
    return _ATM_LIMITS[level.lower()]


def _check_increase(new: int, current: float) -> None:
    most = int(current * 1.5)
    if new > most:
        raise Refused(
            f"Error: Requested limit ${new} exceeds the maximum allowed temporary increase. "
            f"Maximum temporary limit is ${most} (150% of current ${current} limit)."
        )
    if new <= current:
        raise Refused(
            f"Error: Requested limit ${new} is not higher than the current limit of ${current}."
        )
