"""Transactions, disputes about them, and replacement cards: tools that are found by reading.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/tools.py (MIT, Sierra Research).
"""

from datetime import datetime

from maseval.benchmark.tau2.domains.banking_knowledge.deposit_images import deposit_image
from maseval.benchmark.tau2.domains.banking_knowledge.desk import (
    TODAY,
    Desk,
    Refused,
    arguments_text,
    discoverable,
    dispute_id,
    dollars,
    executed,
    given_to,
    hex_id,
    is_empty,
    lines,
    refuse_if,
    render_rows,
    require,
    require_choice,
    title,
)
from maseval.benchmark.tau2.domains.banking_knowledge.models import Row
from maseval.benchmark.tau2.domains.base import ToolType

_CARD_ACTIONS = ("keep_active", "cancel_and_reissue")
_DISPUTE_REASONS = (
    "unauthorized_fraudulent_charge",
    "duplicate_charge",
    "incorrect_amount",
    "goods_services_not_received",
    "goods_services_not_as_described",
    "canceled_subscription_still_charging",
    "refund_never_processed",
)
_RESOLUTIONS = ("full_refund", "partial_refund")
_FRAUD = ("unauthorized_transaction", "card_present_fraud", "card_not_present_fraud")
_DEBIT_CATEGORIES = (
    "unauthorized_transaction",
    "atm_cash_discrepancy",
    "atm_deposit_not_credited",
    "duplicate_charge",
    "incorrect_amount",
    "goods_services_not_received",
    "recurring_charge_after_cancellation",
    "card_present_fraud",
    "card_not_present_fraud",
)
_DEBIT_TYPES = (
    "pin_purchase",
    "signature_purchase",
    "online_purchase",
    "atm_withdrawal",
    "atm_deposit",
    "recurring_payment",
    "person_to_person",
)
_PIN_COMPROMISED = ("yes_shared", "yes_observed", "no", "unknown")
_DEBIT_CARD_ACTIONS = ("keep_active", "freeze_pending_investigation", "close_and_reissue")
_REPLACEMENT_REASONS = ("fraud_suspected", "lost", "stolen", "damaged", "expired", "other")
_ALREADY_FILED = "Error: Dispute may have already been filed for this transaction."


class TransactionTools(Desk):
    @discoverable(ToolType.WRITE)
    def update_transaction_rewards_3847(self, transaction_id: str, new_rewards_earned: str) -> str:
        require(transaction_id, new_rewards_earned)
        missing = f"Transaction '{transaction_id}' not found."
        row = self._row("credit_card_transaction_history", transaction_id, missing)
        row["rewards_earned"] = new_rewards_earned
        return executed(
            "update_transaction_rewards_3847",
            arguments_text(transaction_id=transaction_id, new_rewards_earned=new_rewards_earned),
            "Transaction updated:",
            f"  - Transaction ID: {transaction_id}",
            f"  - New Rewards: {new_rewards_earned}",
        )

    @discoverable(ToolType.WRITE)
    def file_credit_card_transaction_dispute_4829(
        self,
        transaction_id: str,
        card_action: str,
        card_last_4_digits: str,
        full_name: str,
        user_id: str,
        phone: str,
        email: str,
        address: str,
        contacted_merchant: bool,
        purchase_date: str,
        issue_noticed_date: str,
        dispute_reason: str,
        resolution_requested: str,
        eligible_for_provisional_credit: bool,
        partial_refund_amount: float | None = None,
    ) -> str:
        """File a dispute; neither transaction nor user need exist."""
        given = given_to(locals())
        require(transaction_id, user_id)
        require_choice("card_action", card_action, _CARD_ACTIONS)
        require_choice("dispute_reason", dispute_reason, _DISPUTE_REASONS)
        require_choice("resolution_requested", resolution_requested, _RESOLUTIONS)
        refuse_if(
            resolution_requested == "partial_refund" and partial_refund_amount is None,
            "partial_refund_amount is required when resolution_requested is 'partial_refund'.",
        )
        dispute = dispute_id(user_id, transaction_id)
        # The order of a row's keys is the order in which a model reads them.
        del given["eligible_for_provisional_credit"]  # which stands behind the amount
        row = {
            "dispute_id": dispute,
            "transaction_id": transaction_id,
            "user_id": user_id,
            **given,
            "eligible_for_provisional_credit": eligible_for_provisional_credit,
            "provisional_credit_given": eligible_for_provisional_credit,
            "submitted_at": TODAY,
            "status": "SUBMITTED",
        }
        # The transaction is part of the id, so a second dispute about it finds the first.
        if not self.db.transaction_disputes.add(dispute, row):
            raise Refused(_ALREADY_FILED)
        refund = partial_refund_amount
        return executed(
            "file_credit_card_transaction_dispute_4829",
            f"Dispute ID: {dispute}",
            f"Transaction: {transaction_id}",
            f"Reason: {title(dispute_reason)}",
            f"Resolution Requested: {title(resolution_requested)}",
            # A text fails here, after the dispute was stored.
            f"Partial Refund Amount: {dollars(refund)}" if refund else None,
            "Provisional Credit: ELIGIBLE - Credit will be applied within 2 business days."
            if eligible_for_provisional_credit
            else "Provisional Credit: Not eligible at this time.",
        )

    @discoverable(ToolType.WRITE)
    def file_debit_card_transaction_dispute_6281(
        self,
        transaction_id: str,
        account_id: str,
        card_id: str,
        user_id: str,
        dispute_category: str,
        transaction_date: str,
        discovery_date: str,
        disputed_amount: float,
        transaction_type: str,
        card_in_possession: bool,
        pin_compromised: str,
        contacted_merchant: bool,
        police_report_filed: bool,
        written_statement_provided: bool,
        provisional_credit_eligible: bool,
        customer_max_liability_amount: float,
        card_action: str,
    ) -> str:
        """File a dispute about money that has left an account; nothing is looked up."""
        given = given_to(locals())
        # Only these must not be empty; the fields that may be False are checked below.
        require(
            transaction_id,
            account_id,
            card_id,
            user_id,
            dispute_category,
            transaction_date,
            discovery_date,
            disputed_amount,
            transaction_type,
            pin_compromised,
            card_action,
        )
        # A liability of 0 is a valid value, so only None is refused.
        refuse_if(
            customer_max_liability_amount is None, "customer_max_liability_amount is required."
        )
        refuse_if(
            None
            in (
                card_in_possession,
                contacted_merchant,
                police_report_filed,
                written_statement_provided,
            ),
            "card_in_possession, contacted_merchant, police_report_filed, and "
            "written_statement_provided are required boolean fields.",
        )
        require_choice("dispute_category", dispute_category, _DEBIT_CATEGORIES)
        require_choice("transaction_type", transaction_type, _DEBIT_TYPES)
        require_choice("pin_compromised", pin_compromised, _PIN_COMPROMISED)
        require_choice("card_action", card_action, _DEBIT_CARD_ACTIONS)
        refuse_if(disputed_amount <= 0, "disputed_amount must be a positive number.")
        fraud, shared = dispute_category in _FRAUD, pin_compromised == "yes_shared"
        dispute, eligible = dispute_id(user_id, transaction_id), provisional_credit_eligible
        del given["customer_max_liability_amount"], given["card_action"]  # which stand further down
        row = {
            "dispute_id": dispute,
            **given,
            "provisional_credit_issued": eligible,
            "provisional_credit_amount": disputed_amount if eligible else None,
            "customer_max_liability_amount": customer_max_liability_amount,
            "card_action": card_action,
            "is_fraud_category": fraud,
            "pin_shared_voluntarily": shared,
            "submitted_at": TODAY,
            "status": "OPEN",
        }
        if not self.db.debit_card_disputes.add(dispute, row):
            raise Refused(_ALREADY_FILED)
        return lines(
            f"Dispute ID: {dispute}",
            f"Transaction: {transaction_id}",
            f"Account: {account_id}",
            f"Category: {title(dispute_category)}",
            f"Disputed Amount: {dollars(disputed_amount)}",
            f"Card Action: {title(card_action)}",
            f"Provisional Credit: ISSUED - {dollars(disputed_amount)} credited within 10 business "
            "days per Regulation E."
            if eligible
            else "Provisional Credit: Not eligible - see Debit Card Provisional Credit Guidelines "
            "for details.",
            "WARNING: Customer indicated PIN was shared voluntarily. This may affect liability "
            "determination."
            if shared
            else None,
            "RECOMMENDATION: For fraud disputes over $500, filing a police report is recommended."
            if fraud and not police_report_filed and disputed_amount > 500
            else None,
        )

    @discoverable(ToolType.READ)
    def get_debit_dispute_status_7483(self, user_id: str) -> str:
        require(user_id, error="Missing required parameter: user_id")
        return self._history(
            "get_debit_dispute_status_7483",
            f"Debit card dispute history for user {user_id}:",
            self._listing("debit_card_disputes", "user_id", user_id),
            "No debit card disputes found for this user.",
        )

    @discoverable(ToolType.READ)
    def get_user_dispute_history_7291(self, user_id: str) -> str:
        """List a customer's credit card disputes."""
        require(user_id, error="Missing required parameter: user_id")
        return self._history(
            "get_user_dispute_history_7291",
            f"Transaction dispute history for user {user_id}:",
            self._listing("transaction_disputes", "user_id", user_id),
            "No transaction disputes found for this user.",
        )

    @discoverable(ToolType.READ)
    def get_pending_replacement_orders_5765(self, credit_card_account_id: str) -> str:
        """List the replacement orders of a card, whatever their status."""
        return self._card_history(
            "get_pending_replacement_orders_5765",
            "Replacement orders for credit card account",
            ("credit_card_orders", credit_card_account_id),
            "No pending replacement orders found for this credit card account.",
        )

    @discoverable(ToolType.READ)
    def get_closure_reason_history_8293(self, credit_card_account_id: str) -> str:
        return self._card_history(
            "get_closure_reason_history_8293",
            "Closure reason history for credit card account",
            ("credit_card_closure_reasons", credit_card_account_id),
            "No closure reason records found for this credit card account.",
        )

    @discoverable(ToolType.READ)
    def get_credit_limit_increase_history_4829(self, credit_card_account_id: str) -> str:
        return self._card_history(
            "get_credit_limit_increase_history_4829",
            "Credit limit increase history for account",
            ("credit_limit_increase_requests", credit_card_account_id),
            "No credit limit increase requests found for this account.",
        )

    @discoverable(ToolType.READ)
    def get_bank_account_transactions_9173(self, account_id: str) -> str:
        """List what was booked on a bank account, most recent first."""
        require(account_id, error="Missing required parameter: account_id")
        refuse_if(account_id not in self.db.accounts, f"Account '{account_id}' not found.")
        table = "bank_account_transaction_history"
        rows = self.db.table(table).entries()
        hits = [(key, row) for key, row in rows if row.get("account_id") == account_id]
        hits.sort(key=lambda hit: _booking_date(hit[1]), reverse=True)
        return self._history(
            "get_bank_account_transactions_9173",
            f"Transactions for account {account_id}:",
            render_rows(table, hits) if hits else "",
            "No transactions found for this account.",
        )

    @discoverable(ToolType.READ)
    def get_payment_history_6183(self, credit_card_account_id: str, months: int) -> str:
        """List the last payments to a card, and how many in a row were on time."""
        refuse_if(
            not credit_card_account_id or months is None,
            "Missing required parameters (credit_card_account_id, months).",
        )
        try:
            # A number usually arrives as a float such as 3.0, and a text of digits works too.
            months = int(months)
        except (ValueError, TypeError):
            raise Refused("Error: Invalid months value. Must be a positive integer.") from None
        refuse_if(months <= 0, "months must be a positive integer.")
        rows = self.db.payment_history.views()
        payments = [r for r in rows if r.get("credit_card_account_id") == credit_card_account_id]
        if not payments:
            return f"No payment history found for account '{credit_card_account_id}'."
        payments.sort(key=lambda payment: payment.get("payment_date") or "", reverse=True)
        latest = payments[:months]
        late = (n for n, payment in enumerate(latest) if payment.get("status") != "ON_TIME")
        return lines(
            f"Payment history for account '{credit_card_account_id}' (last {months} months):",
            f"Consecutive on-time payments: {next(late, len(latest))}",
            *map(_payment, latest),
        )

    @discoverable(ToolType.READ)
    def get_atm_deposit_images_8473(self, transaction_id: str) -> str:
        """Show what a machine photographed of a deposit."""
        require(transaction_id, error="Missing required parameter: transaction_id")
        rows = self.db.bank_account_transaction_history
        refuse_if(transaction_id not in rows, f"Transaction '{transaction_id}' not found.")
        return deposit_image(transaction_id, rows.view(transaction_id))

    @discoverable(ToolType.WRITE)
    def order_replacement_credit_card_7291(
        self,
        credit_card_account_id: str,
        user_id: str,
        shipping_address: str,
        reason: str,
        expedited_shipping: bool = False,
    ) -> str:
        """Order a new card and close the old one."""
        given = given_to(locals())
        needed = "credit_card_account_id, user_id, shipping_address, reason"
        require(
            credit_card_account_id,
            user_id,
            shipping_address,
            reason,
            error=f"Missing required parameters ({needed}).",
        )
        require_choice("reason", reason, _REPLACEMENT_REASONS)
        self._require_credit_card(credit_card_account_id)
        seed = f"credit_card_order:{credit_card_account_id}:{user_id}:{reason}"
        order = "ccord_" + hex_id(seed, 12)
        row = {
            "order_id": order,
            **given,
            "order_date": TODAY,
            "status": "ORDERED",
            "old_card_cancelled": True,
        }
        refuse_if(
            not self.db.credit_card_orders.add(order, row),
            "Order may have already been placed for this card replacement.",
        )
        # The account was found by a field, which need not be its key in the table.
        if credit_card_account_id in self.db.credit_card_accounts:
            account = self.db.credit_card_accounts[credit_card_account_id]
            account |= {"status": "CLOSED", "closed_date": TODAY}
        method, delivery = (
            ("Expedited", "2-3 business days")
            if expedited_shipping
            else ("Standard", "7-10 business days")
        )
        return lines(
            f"Order ID: {order}",
            f"Card Account: {credit_card_account_id}",
            f"Reason: {title(reason)}",
            f"Shipping Address: {shipping_address}",
            f"Shipping Method: {method}",
            f"Expected Delivery: {delivery}",
            "",
            "The old card has been cancelled for security. The new card will have the same account "
            "number but a new card number and CVV.",
        )

    def _card_history(self, tool: str, heading: str, where: tuple[str, str], none: str) -> str:
        table, account_id = where
        require(account_id, error="Missing required parameter: credit_card_account_id")
        found = self._listing(table, "credit_card_account_id", account_id)
        return self._history(tool, f"{heading} {account_id}:", found, none)

    def _history(self, tool: str, heading: str, found: str, none: str) -> str:
        shown_or_none = f"\n{none}" if not found or is_empty(found) else found
        return executed(tool, heading, shown_or_none)


# A row without a readable date counts as the oldest.
def _booking_date(row: Row) -> datetime:
    for form in ("%m/%d/%Y %H:%M:%S", "%m/%d/%Y"):
        try:
            return datetime.strptime(str(row.get("date", "")), form)
        except ValueError:
            continue
    return datetime.min


def _payment(row: Row) -> str:
    return (
        f"\n  - Payment Date: {row.get('payment_date')}\n    Amount: {row.get('amount')}"
        f"\n    Status: {row.get('status')}"
    )
