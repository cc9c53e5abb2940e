"""The tools of the bank's customer, on a screen of their own.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/tools.py (MIT, Sierra Research).
"""

import inspect
import json
from collections.abc import Mapping

from maseval.benchmark.tau2.domains.banking_knowledge.desk import (
    TODAY,
    USER,
    Desk,
    Refused,
    answer,
    arguments_text,
    balance,
    bank_tool,
    call_tool,
    discoverable,
    dispute_id,
    dollars,
    executed,
    given_to,
    hex_id,
    is_active,
    is_empty,
    last_4_digits,
    lines,
    number,
    parse_arguments,
    refuse_if,
    signature,
    transaction_id,
)
from maseval.benchmark.tau2.domains.base import ToolType, for_tasks

_APPLIED_FOR = (
    "Bronze Rewards Card",
    "Business Bronze Rewards Card",
    "Business Gold Rewards Card",
    "Business Platinum Rewards Card",
    "Business Silver Rewards Card",
    "Crypto-Cash Back",
    "Diamond Elite Card",
    "EcoCard",
    "Gold Rewards Card",
    "Green Rewards Card",
    "Platinum Rewards Card",
    "Silver Rewards Card",
    "Silver Zoom Card",
)

# Per cent of cash back by category; "default" is every other category.
CASH_BACK: Mapping[str, Mapping[str, float]] = {
    "Bronze Rewards Card": {"default": 1.0},
    "Silver Rewards Card": {"Travel": 4.0, "Software": 4.0, "default": 1.0},
    "Gold Rewards Card": {"default": 2.5},
    "Platinum Rewards Card": {"default": 10.0},
    "Business Bronze Rewards Card": {"default": 1.0},
    "Business Silver Rewards Card": {"Travel": 10.0, "Software": 10.0, "default": 1.0},
    "Green Rewards Card": {"Sustainable": 3.0, "default": 1.0},
    "Business Gold Rewards Card": {"Operations": 2.5, "default": 1.0},
    "Business Platinum Rewards Card": {
        **{"Travel": 4.0, "Software": 4.0, "Media": 4.0},
        "default": 1.5,
    },
    "Silver Zoom Card": {"Transportation": 3.0, "default": 1.0},
    "Diamond Elite Card": {"default": 5.0},
    "EcoCard": {"Green": 5.0, "default": 1.0},
    "Crypto-Cash Back": {"default": 2.0},
}


class KnowledgeUserTools(Desk):
    """The tools of a customer in the bank's app."""

    @discoverable(ToolType.WRITE, of=USER)
    def submit_cash_back_dispute_0589(self, user_id: str, transaction_id: str) -> str:
        arguments = {"user_id": user_id, "transaction_id": transaction_id}
        self._note_call("submit_cash_back_dispute_0589", arguments)
        dispute = dispute_id(user_id, transaction_id)
        # A task's data may have the bank decide at once.
        resolved = self._disputes_are_resolved()
        row = {"dispute_id": dispute, **arguments, "submitted_at": TODAY}
        row["status"] = "RESOLVED" if resolved else "SUBMITTED"
        if resolved:
            row["resolution"] = "APPROVED"
        added = self.db.cash_back_disputes.add(dispute, row)
        status = (
            "RESOLVED - The dispute has been reviewed and approved. The transaction rewards need "
            "to be updated."
            if resolved
            else "SUBMITTED - Your dispute has been queued for review."
        )
        return executed(
            "submit_cash_back_dispute_0589",
            arguments_text(**arguments),
            f"Dispute ID: {dispute}\nStatus: {status}"
            if added
            else "Note: Dispute may have already been submitted for this transaction.",
        )

    @discoverable(ToolType.WRITE, of=USER)
    def get_referral_link(self, user_id: str, card_name: str) -> str:
        arguments = {"user_id": user_id, "card_name": card_name}
        self._note_call("get_referral_link", arguments)
        link = hex_id(f"referral_link:{user_id}:{card_name}")
        return executed(
            "get_referral_link",
            arguments_text(**arguments),
            f"Referral ID: {link}\nReferral link: https://rhobank.com/refer/{link}"
            if self._refer(link, user_id, card_name)
            else "Note: A referral link for this card may have already been generated.",
        )

    @discoverable(ToolType.READ, of=USER)
    def get_card_last_4_digits(self, credit_card_account_id: str) -> str:
        arguments = {"credit_card_account_id": credit_card_account_id}
        self._note_call("get_card_last_4_digits", arguments)
        self._require_credit_card(credit_card_account_id)
        digits = last_4_digits(credit_card_account_id)
        return executed(
            "get_card_last_4_digits",
            arguments_text(**arguments),
            f"Last 4 digits of card: {digits}",
        )

    @discoverable(ToolType.WRITE, of=USER)
    def deposit_check_3847(self, account_id: str, check_amount: float) -> str:
        arguments = {"account_id": account_id, "check_amount": check_amount}
        # The call is logged first: it is part of the end state even if it fails.
        self._note_call("deposit_check_3847", arguments)
        invalid = f"Invalid check amount '{check_amount}'. Must be a number."
        amount = number(check_amount, invalid)
        refuse_if(amount <= 0, "Check amount must be positive.")
        account = self._row("accounts", account_id, f"Account '{account_id}' not found.")
        refuse_if(not is_active(account), f"Account '{account_id}' is not active.")
        before = balance(account)
        # With the dollar sign, ordering a debit card reads this balance as 0.
        account["current_holdings"] = dollars(before + amount)
        return executed(
            "deposit_check_3847",
            arguments_text(**arguments),
            "Check deposit processed!",
            f"  - Account: {account_id}",
            f"  - Check Amount: {dollars(amount)}",
            f"  - Previous Balance: {dollars(before)}",
            f"  - New Balance: {dollars(before + amount)}",
        )

    @bank_tool(ToolType.WRITE, of=USER)
    def apply_for_credit_card(
        self,
        card_type: str,
        customer_name: str,
        annual_income: float,
        rho_bank_subscription: bool = False,
    ) -> str:
        """Apply for a credit card.

        Args:
            card_type: The name of the card.
            customer_name: Your full name.
            annual_income: What you earn in a year, in dollars.
            rho_bank_subscription: Whether you have the bank's subscription.
        """
        given = given_to(locals())
        refuse_if(
            card_type not in _APPLIED_FOR,
            f"Invalid card_type '{card_type}'. Must be one of: {list(_APPLIED_FOR)}",
        )
        income = number(annual_income, "Invalid annual_income. Must be a number.")
        # The income is converted first, so that 50000 and 50000.0 are one application.
        seed = f"credit_card:{card_type}:{customer_name}:{income}:{rho_bank_subscription}"
        key = hex_id(seed)
        row = {
            "application_id": key,
            **given,
            "annual_income": income,
            "status": "PENDING",
            "date": TODAY,
        }
        if not self.db.credit_card_applications.add(key, row):
            raise Refused(f"Failed to submit application: Record ID '{key}' may already exist.")
        return lines(
            "Credit card application submitted:",
            "Your application has been successfully submitted. You will receive a decision within "
            "5-7 business days via email.",
        )

    @bank_tool(ToolType.WRITE, of=USER)
    def submit_referral(self, user_id: str, account_type: str) -> str:
        """Refer somebody to an account of the bank.

        Args:
            user_id: Your id.
            account_type: The account to which you refer somebody.
        """
        key = hex_id(":".join(["referral", user_id, account_type]))
        if not self._refer(key, user_id, account_type):
            raise Refused(f"Failed to submit referral: Record ID '{key}' may already exist.")
        return lines(
            "Referral request submitted successfully!",
            f"  - Referral ID: {key}",
            f"  - Referrer ID: {user_id}",
            f"  - Account Type: {account_type}",
            "  - Status: NO_PROGRESS",
            f"  - Date: {TODAY}",
            "",
            "Share your referral ID with the person you're referring. They will need to use this "
            "when applying for their account.",
        )

    @bank_tool(ToolType.WRITE, of=USER)
    def call_discoverable_user_tool(
        self, discoverable_tool_name: str, arguments: str = "{}"
    ) -> str:
        """Call a tool that the assistant gave you.

        Args:
            discoverable_tool_name: The name of the tool.
            arguments: Its arguments, as a JSON object.
        """
        name = discoverable_tool_name
        refuse_if(name not in self.discoverable_tools(), f"Unknown discoverable tool '{name}'.")
        given, tool = parse_arguments(arguments), getattr(self, name)
        known = signature(tool)
        for parameter in known.values():
            refuse_if(
                parameter.default is inspect.Parameter.empty and parameter.name not in given,
                f"Missing required parameter: {parameter.name}",
            )
        for argument in given:
            refuse_if(argument not in known, f"Unexpected parameter: {argument}")
        try:
            return call_tool(tool, given)
        except TypeError as error:
            raise Refused(f"Error: Invalid arguments for tool '{name}': {error}") from None

    @bank_tool(ToolType.READ, of=USER)
    def list_discoverable_user_tools(self) -> str:
        """List the tools that the assistant gave you."""
        found = self._listing("user_discoverable_tools")
        if "No results found" in found:
            return "No tools have been given to you yet by the agent."
        return f"Tools given to you by the agent:\n{found}"

    @bank_tool(ToolType.WRITE, of=USER)
    def request_human_agent_transfer(self) -> str:
        """Ask to be handed over to a human."""
        found = self._listing("human_transfer_requests")
        # The word is counted in the text, as in the original, wherever it stands.
        count = 1 if is_empty(found) else found.count("request_id") + 1
        key = f"transfer_request_{count}"
        row = {
            "request_id": key,
            "request_number": count,
            "requested_at": TODAY,
            "status": "PENDING",
        }
        self.db.human_transfer_requests.add(key, row)
        return f"Transfer request #{count} submitted.\nThe agent will process your request."

    @bank_tool(ToolType.WRITE, of=USER)
    def submit_transaction(
        self, user_id: str, credit_card_type: str, merchant_name: str, amount: float, category: str
    ) -> str:
        """Pay with a credit card.

        Args:
            user_id: Your id.
            credit_card_type: The name of your card.
            merchant_name: Whom you pay.
            amount: How much, in dollars.
            category: What kind of purchase it is.
        """
        rates = CASH_BACK.get(credit_card_type)
        if rates is None:
            raise Refused(
                f"Error: Unknown credit card type '{credit_card_type}'. Available types: "
                f"{list(CASH_BACK)}"
            )
        key = transaction_id(user_id, credit_card_type, merchant_name, amount, category)
        rate = rates.get(category, rates["default"])
        points = int(amount * rate)
        row = {
            "transaction_id": key,
            "user_id": user_id,
            "credit_card_type": credit_card_type,
            "merchant_name": merchant_name,
            "transaction_amount": dollars(amount),
            "transaction_date": TODAY,
            "category": category,
            "status": "COMPLETED",
            "rewards_earned": f"{points} points",
        }
        if not self.db.credit_card_transaction_history.add(key, row):
            raise Refused(f"Failed to submit transaction: Record ID '{key}' may already exist.")
        return lines(
            "Transaction submitted successfully!",
            f"  - Transaction ID: {key}",
            f"  - User ID: {user_id}",
            f"  - Card Type: {credit_card_type}",
            f"  - Merchant: {merchant_name}",
            f"  - Amount: {dollars(amount)}",
            f"  - Category: {category}",
            f"  - Date: {TODAY}",
            f"  - Rewards Earned: {points} points ({rate}% cashback rate)\n",
        )

    @for_tasks
    def query_database(self, database_name: str, constraints: str = "{}") -> str:
        """Ask the query engine anything; for tasks, not for customers."""
        names = list(type(self.db).model_fields)
        if database_name not in names:
            return f"Error: Database '{database_name}' not found. Available: {names}"
        return answer(database_name, self.db.table(database_name), constraints)

    # The call is noted whatever becomes of it, and only then made.
    def _note_call(self, name: str, arguments: Mapping[str, object]) -> None:
        refuse_if(
            "No records found" in self._listing("user_discoverable_tools", "tool_name", name),
            f"Tool '{name}' has not been given to you by the agent. The agent must "
            "first use `give_discoverable_user_tool` to give this tool to you.",
        )
        # Keys are sorted, so that the same arguments in another order are the same call.
        text = json.dumps(arguments, sort_keys=True)
        row = {"tool_name": name, "arguments": arguments, "called_at": TODAY, "status": "CALLED"}
        key = hex_id(f"user_discoverable_tool_call:{name}:{text}")
        self.db.user_discoverable_tool_calls.add(key, row)

    def _refer(self, key: str, user_id: str, to: str) -> bool:
        row = {
            "referral_id": key,
            "referrer_id": user_id,
            "referred_account_type": to,
            "referral_status": "NO_PROGRESS",
            "date": TODAY,
        }
        return self.db.referrals.add(key, row)

    def _disputes_are_resolved(self) -> bool:
        settings = self.db.task_config
        if "dispute_settings" not in settings:
            return False
        return bool(settings.view("dispute_settings").get("auto_resolve_disputes"))
