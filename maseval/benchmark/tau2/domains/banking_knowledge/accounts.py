"""Bank accounts: tools that are found by reading.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/tools.py (MIT, Sierra Research).
"""

from collections.abc import Callable, Collection, Mapping, Sequence

from maseval.benchmark.tau2.domains.banking_knowledge.desk import (
    TODAY,
    Desk,
    Refused,
    age_in_days,
    balance,
    discoverable,
    dollars,
    executed,
    given_to,
    hex_id,
    is_active,
    is_empty,
    lines,
    number,
    refuse_if,
    require,
    require_choice,
)
from maseval.benchmark.tau2.domains.banking_knowledge.models import Row
from maseval.benchmark.tau2.domains.base import ToolType

_ACCOUNT_TYPES = ("checking", "savings", "business_checking", "business_savings")
_PERSONAL = ("checking", "personal_checking")

# The fee for closing an account within so many days, by class and level. Savings accounts are of
# the class "saving" in the data, and so never cost one.
CLOSING_FEES: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "checking": {
        "Light Blue Account": (15, 30),
        "Light Green Account": (15, 30),
        "Green Fee-Free Account": (15, 30),
        "Blue Account": (25, 60),
        "Green Account": (25, 60),
        "Evergreen Account": (50, 90),
        "Bluest Account": (100, 180),
    },
    "savings": {
        "Bronze Account": (20, 60),
        "Silver Account": (35, 90),
        "Silver Plus Account": (35, 90),
        "Gold Account": (75, 180),
        "Gold Plus Account": (75, 180),
        "Gold Years Account": (75, 180),
        "Platinum Account": (150, 270),
        "Platinum Plus Account": (150, 270),
        "Diamond Elite Account": (150, 270),
    },
}


class AccountTools(Desk):
    @discoverable(ToolType.WRITE)
    def open_bank_account_4821(self, user_id: str, account_type: str, account_class: str) -> str:
        """Open an account for a customer who is entitled to it."""
        given = given_to(locals())
        require(*given.values())
        require_choice("account_type", account_type, _ACCOUNT_TYPES)
        held = [row for row in self.db.accounts.views() if row.get("user_id") == user_id]
        refuse_if(not _is_eligible(account_type, held), "Account eligibility requirements not met.")
        # The id follows from customer, type and class, so nobody can open the same account twice.
        account = hex_id(f"account:{user_id}:{account_type}:{account_class}")
        row = {
            "account_id": account,
            **given,
            "current_holdings": "0.00",
            "status": "OPEN",
            "date_opened": TODAY,
        }
        if not self.db.accounts.add(account, row):
            raise Refused(f"Failed to open account: Account ID '{account}' may already exist.")
        return lines(
            "Bank account opened successfully!",
            f"  - Account ID: {account}",
            f"  - User ID: {user_id}",
            f"  - Account Type: {account_type}",
            f"  - Account Class: {account_class}",
            "  - Status: OPEN",
            "  - Initial Balance: $0.00",
            f"  - Date Opened: {TODAY}",
        )

    @discoverable(ToolType.WRITE)
    def close_bank_account_7392(
        self,
        account_id: str,
        reason: str = "Customer requested closure",
        waive_early_closure_fee: bool = False,
    ) -> str:
        """Close an account that is empty, apart from a fee for closing it early."""
        require(account_id, error="Missing required parameter (account_id).")
        account = self._row("accounts", account_id, f"Account '{account_id}' not found.")
        refuse_if(account.get("status") == "CLOSED", f"Account '{account_id}' is already closed.")
        held = balance(account)
        # An early closure needs exactly the fee in the account; any other needs exactly nothing.
        fee = 0 if waive_early_closure_fee else _closing_fee(account)
        refuse_if(fee and held < fee, "Account unable to be closed.")
        refuse_if(
            held - fee != 0,
            f"Account balance must be $0.00 before closing. Current balance: {dollars(held)}",
        )
        account |= {
            "status": "CLOSED",
            "date_closed": TODAY,
            "closure_reason": reason,
            "early_closure_fee_waived": waive_early_closure_fee,
        }
        return lines(
            "Bank account closed successfully!",
            f"  - Account ID: {account_id}",
            f"  - Account Type: {account.get('account_type', 'N/A')}",
            f"  - Account Class: {account.get('account_class', 'N/A')}",
            "  - Status: CLOSED",
            f"  - Date Closed: {TODAY}",
            f"  - Reason: {reason}",
            f"  - Early Closure Fee Waived: {'Yes' if waive_early_closure_fee else 'No'}",
        )

    @discoverable(ToolType.READ)
    def get_all_user_accounts_by_user_id_3847(self, user_id: str) -> str:
        require(user_id, error="Missing required parameter: user_id")
        bank = self._listing("accounts", "user_id", user_id)
        cards = self._listing("credit_card_accounts", "user_id", user_id)
        return executed(
            "get_all_user_accounts_by_user_id_3847",
            f"Accounts for user {user_id}:",
            "",
            "Bank Accounts:",
            "  No bank accounts found." if is_empty(bank) else bank,
            "\nCredit Card Accounts:",
            "  No credit card accounts found." if is_empty(cards) else cards,
        )

    @discoverable(ToolType.WRITE)
    def transfer_funds_between_bank_accounts_7291(
        self, source_account_id: str, destination_account_id: str, amount: float
    ) -> str:
        """Move money between two accounts, whoever they belong to."""
        refuse_if(
            not source_account_id or not destination_account_id or amount is None,
            "Missing required parameters (source_account_id, destination_account_id, amount).",
        )
        moved = number(amount, f"Invalid amount '{amount}'. Must be a number.")
        refuse_if(moved <= 0, "Transfer amount must be positive.")
        refuse_if(
            source_account_id == destination_account_id,
            "Source and destination accounts cannot be the same.",
        )
        # Both are looked up before either is checked, as the order decides which error is read.
        ids = {"Source": source_account_id, "Destination": destination_account_id}
        missing = {side: f"{side} account '{key}' not found." for side, key in ids.items()}
        source, destination = (self._row("accounts", ids[s], missing[s]) for s in ids)
        for side, account in (("Source", source), ("Destination", destination)):
            refuse_if(not is_active(account), f"{side} account '{ids[side]}' is not active.")
        held = balance(source)
        refuse_if(
            held < moved,
            f"Insufficient funds. Source account balance is {dollars(held)}, but "
            f"transfer amount is {dollars(moved)}.",
        )
        # Both are computed before either is stored, so that an unreadable balance fails before any
        # money moves.
        rest, sum_ = dollars(held - moved), dollars(balance(destination) + moved)
        source["current_holdings"], destination["current_holdings"] = rest, sum_
        return lines(
            "Transfer completed successfully!",
            f"  - Amount: {dollars(moved)}",
            f"  - From: {source_account_id} (new balance: {rest})",
            f"  - To: {destination_account_id} (new balance: {sum_})",
        )

    @discoverable(ToolType.WRITE)
    def apply_checking_account_credit_5829(
        self, account_id: str, amount: float, credit_type: str
    ) -> str:
        return self._credit(
            "checking",
            account_id,
            amount,
            credit_type,
            ("rebate_credit", "fee_refund"),
            ("checking",),
            "a checking account. Credits can only be applied to checking accounts.",
            dollars,
        )

    @discoverable(ToolType.WRITE)
    def apply_savings_account_credit_6831(
        self, account_id: str, amount: float, credit_type: str
    ) -> str:
        """Credit an amount to a savings account, whose holdings are written without a sign."""
        return self._credit(
            "savings",
            account_id,
            amount,
            credit_type,
            ("interest_correction", "fee_refund", "goodwill_credit"),
            # The data spells the class ``saving``.
            ("saving", "savings"),
            "a savings account. This tool only applies to savings accounts.",
            "{:.2f}".format,
        )

    @discoverable(ToolType.WRITE)
    def submit_interest_discrepancy_report_7294(
        self,
        account_id: str,
        user_id: str,
        expected_apy: float,
        actual_apy: float,
        amount_difference: float,
    ) -> str:
        """Report wrong interest; nothing of it is stored."""
        numbers = (expected_apy, actual_apy, amount_difference)
        refuse_if(not account_id or not user_id or None in numbers, "Missing required parameters.")
        error = "expected_apy, actual_apy, and amount_difference must be numbers."
        expected, actual, difference = (number(value, error) for value in numbers)
        account = self._row("accounts", account_id, f"Account '{account_id}' not found.")
        user = self._row("users", user_id, f"User '{user_id}' not found.")
        seed = f"interest_report:{account_id}:{user_id}:{expected}:{actual}:{TODAY}"
        return lines(
            "\nInterest Discrepancy Report Submitted Successfully!",
            f"  - Report ID: IDR_{hex_id(seed)}",
            f"  - Account: {account_id} ({account.get('level', 'Unknown')})",
            f"  - Customer: {user.get('name', 'Unknown')}",
            f"  - Expected APY: {expected}%",
            f"  - Actual APY: {actual}%",
            f"  - APY Difference: {round(expected - actual, 4)}%",
            f"  - Amount Difference: {dollars(difference)}",
            "  - Status: PENDING_REVIEW",
            "",
            "The backend team will investigate this discrepancy and ensure correct APY "
            "calculations are applied going forward.",
        )

    # Savings accounts write their holdings without a dollar sign, so each tool says how it writes.
    def _credit(
        self,
        kind: str,
        account_id: str,
        amount: float,
        credit_type: str,
        types: Sequence[str],
        classes: Collection[str],
        needed: str,
        write: Callable[[float], str],
    ) -> str:
        refuse_if(
            not account_id or not credit_type or amount is None, "Missing required parameters."
        )
        credited = number(amount, "Invalid credit amount. Must be a number.")
        refuse_if(credited <= 0, "Credit amount must be positive.")
        require_choice("credit_type", credit_type, types)
        account = self._row("accounts", account_id, f"Account '{account_id}' not found.")
        refuse_if(
            account.get("class", "").lower() not in classes,
            f"Account '{account_id}' is not {needed}",
        )
        refuse_if(not is_active(account), f"Account '{account_id}' is not active.")
        before = balance(account)
        account["current_holdings"] = write(before + credited)
        transaction = "txn_" + hex_id(
            f"{kind}_credit:{account_id}:{credit_type}:{credited}:{TODAY}"
        )
        # This is not ``add``: a repeated credit is paid again, but replaces its own entry.
        self.db.bank_account_transaction_history[transaction] = {
            "transaction_id": transaction,
            "account_id": account_id,
            "date": TODAY,
            "description": f"{credit_type.replace('_', ' ').upper()} - CUSTOMER SERVICE",
            "amount": credited,
            "type": credit_type,
            "status": "posted",
        }
        return lines(
            "\nCredit applied successfully!",
            f"  - Transaction ID: {transaction}",
            f"  - Account: {account_id}",
            f"  - Credit Type: {credit_type}",
            f"  - Amount: {dollars(credited)}",
            f"  - Previous Balance: {dollars(before)}",
            f"  - New Balance: {dollars(before + credited)}",
        )


def _is_eligible(account_type: str, held: Sequence[Row]) -> bool:
    if account_type == "savings":
        return _has(held, _PERSONAL, min_age=14)
    if account_type == "business_checking":
        closed = any(row.get("status") == "CLOSED" for row in held)
        return not closed and _has(held, _PERSONAL)
    if account_type == "business_savings":
        overdrawn = [row for row in held if balance(row) < 0]
        return not overdrawn and _has(held, ("business_checking",), min_age=30)
    return True


def _has(held: Sequence[Row], kinds: Collection[str], min_age: int | None = None) -> bool:
    return any(
        row.get("account_type", row.get("class", "")) in kinds
        and is_active(row)
        and (min_age is None or _age(row) >= min_age)
        for row in held
    )


def _age(account: Row) -> int:
    try:
        return age_in_days(account.get("date_opened", ""))
    except ValueError:
        # An account without a readable date counts as opened today, and so as too young.
        return 0


def _closing_fee(account: Row) -> int:
    levels = CLOSING_FEES.get(account.get("class", ""), {})
    fee, days = levels.get(account.get("level", ""), (0, 0))
    opened = account.get("date_opened")
    if not fee or not opened:
        return 0
    try:
        return fee if age_in_days(opened) < days else 0
    except ValueError:
        return 0
