"""Credit card accounts: tools that are found by reading.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/tools.py (MIT, Sierra Research).
"""

from maseval.benchmark.tau2.domains.banking_knowledge.desk import (
    TODAY,
    Desk,
    Refused,
    amount_in,
    arguments_text,
    balance,
    discoverable,
    dollars,
    executed,
    given_to,
    hex_id,
    lines,
    number,
    refuse_if,
    require,
    require_choice,
    success_text,
    title,
    transaction_id,
)
from maseval.benchmark.tau2.domains.banking_knowledge.models import Row
from maseval.benchmark.tau2.domains.base import ToolType

_CLOSURE_REASONS = (
    "annual_fee",
    "not_using_card",
    "found_better_card",
    "unhappy_with_rewards",
    "simplifying_finances",
    "negative_experience",
    "other",
)
_CREDIT_REASONS = (
    "goodwill_adjustment",
    "promotional_credit",
    "annual_fee_reversal",
    "late_fee_reversal",
    "interest_charge_reversal",
    "dispute_resolution",
    "price_match",
    "retention_offer",
    "error_correction",
    "other",
)
_FLAG_TYPES = ("annual_fee_waived", "promotional_apr", "rewards_bonus", "other")
_FLAG_REASONS = ("retention_offer", "loyalty_benefit", "promotional", "error_correction", "other")
_DENIAL_REASONS = (
    "insufficient_account_age",
    "cooldown_period_active",
    "pending_disputes",
    "pending_replacement_card",
    "past_due_balance",
    "high_utilization",
    "insufficient_payment_history",
    "requested_amount_exceeds_limit",
    "other",
)
_OPEN_DISPUTE = ("SUBMITTED", "UNDER_REVIEW", "PENDING")
_OPEN_ORDER = ("PENDING", "PROCESSING", "SHIPPED")
_BAD_STANDING = ("PAST_DUE", "DELINQUENT", "COLLECTIONS", "CLOSED")


class CreditCardTools(Desk):
    @discoverable(ToolType.WRITE)
    def log_credit_card_closure_reason_4521(
        self, credit_card_account_id: str, user_id: str, closure_reason: str
    ) -> str:
        """Note why a customer closes a card; a second note changes nothing and says nothing."""
        given = given_to(locals())
        require(*given.values())
        require_choice("closure_reason", closure_reason, _CLOSURE_REASONS)
        record = "clsr_" + hex_id(f"closure_reason:{credit_card_account_id}:{user_id}", 12)
        row = {"record_id": record, **given, "logged_at": TODAY, "status": "LOGGED"}
        self.db.credit_card_closure_reasons.add(record, row)
        return executed(
            "log_credit_card_closure_reason_4521",
            arguments_text(**given),
            f"Closure reason '{closure_reason}' logged for account {credit_card_account_id}.",
        )

    @discoverable(ToolType.WRITE)
    def apply_statement_credit_8472(
        self, user_id: str, credit_card_account_id: str, amount: float, reason: str
    ) -> str:
        """Credit an amount to a card's statement; no balance changes."""
        refuse_if(
            not user_id or not credit_card_account_id or amount is None or not reason,
            "Missing required parameters (user_id, credit_card_account_id, amount, reason).",
        )
        refuse_if(amount <= 0, "Credit amount must be positive.")
        require_choice("reason", reason, _CREDIT_REASONS)
        self._require_credit_card(credit_card_account_id)
        # The account is not part of the id.
        key = transaction_id(user_id, "STATEMENT_CREDIT", reason, amount, "Statement Credit")
        row = {
            "transaction_id": key,
            "user_id": user_id,
            "credit_card_account_id": credit_card_account_id,
            "credit_card_type": "N/A",
            "merchant_name": "Rho-Bank Statement Credit",
            "transaction_amount": f"-{dollars(amount)}",
            "transaction_date": TODAY,
            "category": "Statement Credit",
            "status": "COMPLETED",
            "rewards_earned": "0 points",
            "credit_reason": reason,
        }
        refuse_if(
            not self.db.credit_card_transaction_history.add(key, row),
            f"Failed to apply statement credit. Transaction ID '{key}' may already exist.",
        )
        return executed(
            "apply_statement_credit_8472",
            f"  - Transaction ID: {key}",
            f"  - User ID: {user_id}",
            f"  - Account: {credit_card_account_id}",
            f"  - Credit Amount: {dollars(amount)}",
            f"  - Reason: {title(reason)}",
            f"  - Date: {TODAY}",
        )

    @discoverable(ToolType.WRITE)
    def apply_credit_card_account_flag_6147(
        self,
        credit_card_account_id: str,
        user_id: str,
        flag_type: str,
        expiration_date: str,
        reason: str,
    ) -> str:
        """Mark a card, for instance as free of its annual fee."""
        given = given_to(locals())
        require(*given.values(), error=f"Missing required parameters ({', '.join(given)}).")
        require_choice("flag_type", flag_type, _FLAG_TYPES)
        require_choice("reason", reason, _FLAG_REASONS)
        self._require_credit_card(credit_card_account_id)
        seed = f"account_flag:{credit_card_account_id}:{flag_type}:{expiration_date}"
        flag = "ccflag_" + hex_id(seed, 12)
        row = {
            "flag_id": flag,
            "credit_card_account_id": credit_card_account_id,
            "user_id": user_id,
            "flag_type": flag_type,
            "effective_date": TODAY,
            **given,
            "applied_at": TODAY,
            "status": "ACTIVE",
        }
        refuse_if(
            not self.db.credit_card_account_flags.add(flag, row),
            f"Failed to apply account flag. Flag ID '{flag}' may already exist.",
        )
        return lines(
            "Account flag applied successfully!",
            f"  - Flag ID: {flag}",
            f"  - Account: {credit_card_account_id}",
            f"  - User ID: {user_id}",
            f"  - Flag Type: {title(flag_type)}",
            f"  - Effective Date: {TODAY}",
            f"  - Expiration Date: {expiration_date}",
            f"  - Reason: {title(reason)}",
        )

    @discoverable(ToolType.WRITE)
    def close_credit_card_account_7834(self, credit_card_account_id: str, user_id: str) -> str:
        """Close a card; neither its owner nor its balance is looked at."""
        given = given_to(locals())
        require(*given.values(), error=f"Missing required parameters ({', '.join(given)}).")
        self._require_credit_card(credit_card_account_id)
        error = f"Failed to close credit card account '{credit_card_account_id}'."
        account = self._row("credit_card_accounts", credit_card_account_id, error)
        account |= {"status": "CLOSED", "closed_date": TODAY, "closed_by": user_id}
        return executed(
            "close_credit_card_account_7834",
            arguments_text(**given),
            f"Account {credit_card_account_id} has been closed.",
        )

    @discoverable(ToolType.WRITE)
    def pay_credit_card_from_checking_9182(
        self, user_id: str, checking_account_id: str, credit_card_account_id: str, amount: float
    ) -> str:
        """Pay a card's balance from a checking account of the same customer."""
        ids = (user_id, checking_account_id, credit_card_account_id)
        refuse_if(
            not all(ids) or amount is None,
            "Missing required parameters (user_id, checking_account_id, "
            "credit_card_account_id, amount).",
        )
        paid = number(amount, "Invalid payment amount. Must be a positive number.")
        refuse_if(paid <= 0, "Payment amount must be a positive number.")
        checking = self._checking_account(checking_account_id, user_id)
        available = balance(checking)
        refuse_if(
            paid > available,
            "Insufficient funds in checking account. Available balance: "
            f"{dollars(available)}, requested payment: {dollars(paid)}.",
        )
        card = self._card_of(credit_card_account_id, user_id)
        owed = amount_in(card.get("current_balance", "$0.00"))
        refuse_if(
            paid > owed,
            f"Payment amount ({dollars(paid)}) exceeds credit card balance "
            f"({dollars(owed)}). Please specify an amount up to the outstanding balance.",
        )
        checking["current_holdings"] = f"{available - paid:.2f}"
        card["current_balance"] = dollars(owed - paid)
        return lines(
            "Payment processed successfully!",
            f"  - Payment Amount: {dollars(paid)}",
            f"  - From Checking Account: {checking_account_id}",
            f"  - To Credit Card Account: {credit_card_account_id}",
            f"  - New Checking Balance: {dollars(available - paid)}",
            f"  - New Credit Card Balance: {dollars(owed - paid)}",
            "The payment has been applied immediately.",
        )

    @discoverable(ToolType.WRITE)
    def submit_credit_limit_increase_request_7392(
        self, credit_card_account_id: str, user_id: str, requested_increase_amount: int
    ) -> str:
        given = given_to(locals())
        refuse_if(
            not credit_card_account_id or not user_id or requested_increase_amount is None,
            "Missing required parameters.",
        )
        invalid = "Invalid requested_increase_amount. Must be a whole number"
        requested = number(requested_increase_amount, f"{invalid}.")
        refuse_if(not requested.is_integer(), f"{invalid} of dollars.")
        increase = int(requested)
        refuse_if(increase <= 0, "Requested increase amount must be positive.")
        self._card_of(credit_card_account_id, user_id)
        request = _request_id(credit_card_account_id, user_id, increase)
        row = {
            "request_id": request,
            **given,
            "requested_increase_amount": increase,
            "submitted_at": TODAY,
            "status": "PENDING",
        }
        refuse_if(
            not self.db.credit_limit_increase_requests.add(request, row),
            "A similar request may already exist.",
        )
        return executed(
            "submit_credit_limit_increase_request_7392",
            f"  - Request ID: {request}",
            f"  - Account: {credit_card_account_id}",
            f"  - Requested Increase: ${increase:,}",
            "  - Status: PENDING",
        )

    @discoverable(ToolType.WRITE)
    def approve_credit_limit_increase_5847(
        self, credit_card_account_id: str, user_id: str, new_credit_limit: float
    ) -> str:
        """Raise a limit, unless a dispute, an order or a debt stands in the way."""
        refuse_if(
            not credit_card_account_id or not user_id or new_credit_limit is None,
            "Missing required parameters.",
        )
        card = self._card_of(credit_card_account_id, user_id)
        refuse_if(
            self._blocks_an_increase(card, credit_card_account_id, user_id),
            "Credit limit increase request cannot be approved at this time.",
        )
        old, new = amount_in(card.get("credit_limit", "$0.00")), float(new_credit_limit)
        card["credit_limit"] = dollars(new)
        # An increase of exactly what was asked for finds that request, and leaves it pending.
        request = _request_id(credit_card_account_id, user_id, new - old)
        row = {
            "request_id": request,
            "credit_card_account_id": credit_card_account_id,
            "user_id": user_id,
            "previous_limit": dollars(old),
            "new_limit": dollars(new),
            "increase_amount": dollars(new - old),
            "decision_date": TODAY,
            "status": "APPROVED",
        }
        self.db.credit_limit_increase_requests.add(request, row)
        return lines(
            "Credit limit increase approved!",
            f"  - Account: {credit_card_account_id}",
            f"  - Previous Limit: {dollars(old)}",
            f"  - New Limit: {dollars(new)}",
            f"  - Increase: {dollars(new - old)}",
            f"  - Effective Date: {TODAY}",
            "The customer will receive a confirmation email.",
        )

    @discoverable(ToolType.WRITE)
    def deny_credit_limit_increase_5848(
        self, credit_card_account_id: str, user_id: str, denial_reason: str
    ) -> str:
        """Refuse a higher limit; whose card it is does not matter."""
        given = given_to(locals())
        require(*given.values())
        if denial_reason not in _DENIAL_REASONS:
            choices = ", ".join(_DENIAL_REASONS)
            raise Refused(f"Error: Invalid denial_reason. Must be one of: {choices}")
        refuse_if(
            credit_card_account_id not in self.db.credit_card_accounts,
            f"Credit card account '{credit_card_account_id}' not found.",
        )
        # Every refusal of a card has the same id, so that only the first one is stored.
        request = _request_id(credit_card_account_id, user_id, 0.0)
        row = {"request_id": request, **given, "decision_date": TODAY, "status": "DENIED"}
        # The answer does not depend on whether the denial was stored.
        self.db.credit_limit_increase_requests.add(request, row)
        return lines(
            success_text("deny_credit_limit_increase_5848"),
            f"  - Account: {credit_card_account_id}",
            f"  - Denial Reason: {denial_reason}",
            f"  - Date: {TODAY}",
            "The customer will receive a notification explaining the denial.",
        )

    def _card_of(self, account_id: str, user_id: str) -> Row:
        return self._owned("credit_card_accounts", "Credit card account", account_id, user_id)

    def _owned(self, table: str, kind: str, account_id: str, user_id: str) -> Row:
        named = f"{kind} '{account_id}'"
        account = self._row(table, account_id, f"{named} not found.")
        refuse_if(
            account.get("user_id") != user_id, f"{named} does not belong to user '{user_id}'."
        )
        return account

    def _checking_account(self, account_id: str, user_id: str) -> Row:
        account = self._owned("accounts", "Checking account", account_id, user_id)
        refuse_if(
            account.get("class") != "checking", f"Account '{account_id}' is not a checking account."
        )
        return account

    def _blocks_an_increase(self, card: Row, account_id: str, user_id: str) -> bool:
        disputed = any(
            row.get("user_id") == user_id and row.get("status") in _OPEN_DISPUTE
            for row in self.db.transaction_disputes.views()
        )
        ordered = any(
            row.get("credit_card_account_id") == account_id and row.get("status") in _OPEN_ORDER
            for row in self.db.credit_card_orders.views()
        )
        return disputed or ordered or card.get("account_status", "").upper() in _BAD_STANDING


def _request_id(account_id: str, user_id: str, amount: float) -> str:
    return "cli_" + hex_id(f"cli_request:{account_id}:{user_id}:{amount:.2f}", 12)
