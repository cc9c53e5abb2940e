"""The tools of the bank's agent: a few at once, and the others when it has found them.

Names, parameters, results and the order of checks are those of the original, slips included.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/tools.py (MIT, Sierra Research).
"""

import json
from collections.abc import Collection
from typing import Any, Literal, get_args

from maseval.benchmark.tau2.domains.banking_knowledge.accounts import AccountTools
from maseval.benchmark.tau2.domains.banking_knowledge.credit_cards import CreditCardTools
from maseval.benchmark.tau2.domains.banking_knowledge.debit_card_use import (
    DebitCardOrderTools,
    DebitCardUseTools,
)
from maseval.benchmark.tau2.domains.banking_knowledge.debit_cards import (
    DebitCardLimitTools,
    DebitCardTools,
)
from maseval.benchmark.tau2.domains.banking_knowledge.desk import (
    Refused,
    bank_tool,
    call_tool,
    descriptions,
    discoverable,
    executed,
    given_to,
    lines,
    manual,
    parse_arguments,
    refuse_if,
    signature,
)
from maseval.benchmark.tau2.domains.banking_knowledge.models import BankingDB
from maseval.benchmark.tau2.domains.banking_knowledge.transactions import TransactionTools
from maseval.benchmark.tau2.domains.banking_knowledge.user_tools import KnowledgeUserTools
from maseval.benchmark.tau2.domains.base import ToolType

TransferReason = Literal[
    "fraud_or_security_concern",
    "account_closure_request",
    "deceased_account_holder",
    "legal_or_regulatory_matter",
    "account_ownership_dispute",
    "complex_billing_dispute",
    "abusive_customer_behavior",
    "third_party_inquiry",
    "technical_system_error",
    "unconfirmed_external_communication",
    "customer_demands_after_unavailable_offer_refusal",
    "kb_search_unsuccessful_customer_requests_transfer",
    "specialized_department_required",
    "accessibility_or_special_needs",
    "customer_frustrated_demands_human",
    "supervisor_request_service_complaint",
    "customer_requests_human_no_specific_reason",
    "request_completed_customer_wants_human_followup",
    "other",
]

_NO_ARGUMENTS = "Arguments: (no arguments)"


class KnowledgeTools(
    TransactionTools,
    CreditCardTools,
    AccountTools,
    DebitCardTools,
    DebitCardUseTools,
    DebitCardLimitTools,
    DebitCardOrderTools,
):
    """The tools of the bank's agent, over the bank's database.

    ``read_log_allowlist`` names the tools that read whose first call is noted all the same: those
    that the reference solution of a task calls.
    """

    def __init__(self, db: BankingDB) -> None:
        super().__init__(db)
        # Calls of reading tools are logged only for tools that the task's reference solution names.
        self.read_log_allowlist: Collection[str] = ()
        # Kept beside the database: what was unlocked is no part of an end state.
        self._unlocked: list[str] = []
        descriptions()  # missing texts are named before a simulation begins, not in its middle

    def note_reads(self, tool_names: Collection[str]) -> None:
        self.read_log_allowlist = list(tool_names)

    @bank_tool(ToolType.GENERIC)
    def transfer_to_human_agents(self, summary: str, reason: TransferReason = "other") -> str:
        """Hand the customer over to a human colleague.

        Which reason fits is described in the knowledge base; look it up first.

        Args:
            summary: What the customer wants and what was tried so far.
            reason: The code of the reason for handing over.
        """
        reasons = get_args(TransferReason)
        refuse_if(
            reason not in reasons,
            f"Invalid transfer reason '{reason}'. Must be one of: {', '.join(reasons)}",
        )
        return f"Transfer successful (reason: {reason}). A human agent will assist you shortly."

    @bank_tool(ToolType.READ)
    def get_current_time(self) -> str:
        """Tell the time, for instance for the log of a verification."""
        return "The current time is 2025-11-14 03:40:00 EST."

    @bank_tool(ToolType.READ)
    def get_user_information_by_id(self, user_id: str) -> str:
        """Look up a customer's name, date of birth, email, phone number and address by id.

        Args:
            user_id: The customer's id.
        """
        return self._listing("users", "user_id", user_id)

    @bank_tool(ToolType.READ)
    def get_user_information_by_name(self, customer_name: str) -> str:
        """Look up a customer's data by name, in exactly this spelling.

        Args:
            customer_name: The customer's name.
        """
        return self._listing("users", "name", customer_name)

    @bank_tool(ToolType.READ)
    def get_user_information_by_email(self, email: str) -> str:
        """Look up a customer's data by email address.

        Args:
            email: The customer's email address.
        """
        return self._listing("users", "email", email)

    @bank_tool(ToolType.WRITE)
    def change_user_email(self, user_id: str, new_email: str) -> str:
        """Change a customer's email address.

        Args:
            user_id: The customer's id.
            new_email: The new address.
        """
        user = self._row("users", user_id, f"User with ID '{user_id}' not found.")
        user["email"] = new_email
        return lines(
            "Email updated successfully.", f"  - User ID: {user_id}", f"  - New Email: {new_email}"
        )

    @bank_tool(ToolType.READ)
    def get_referrals_by_user(self, user_id: str) -> str:
        """List the referrals that a customer made.

        Args:
            user_id: The id of the customer who referred others.
        """
        return self._listing("referrals", "referrer_id", user_id)

    @bank_tool(ToolType.READ)
    def get_credit_card_transactions_by_user(self, user_id: str) -> str:
        """List a customer's credit card transactions.

        Args:
            user_id: The customer's id.
        """
        return self._listing("credit_card_transaction_history", "user_id", user_id)

    @bank_tool(ToolType.READ)
    def get_credit_card_accounts_by_user(self, user_id: str) -> str:
        """List a customer's credit card accounts.

        Args:
            user_id: The customer's id.
        """
        return self._listing("credit_card_accounts", "user_id", user_id)

    @bank_tool(ToolType.WRITE)
    def log_verification(
        self,
        name: str,
        user_id: str,
        address: str,
        email: str,
        phone_number: str,
        date_of_birth: str,
        time_verified: str,
    ) -> str:
        """Note that a customer's identity was verified.

        Args:
            name: The customer's name.
            user_id: The customer's id.
            address: The customer's address.
            email: The customer's email address.
            phone_number: The customer's phone number.
            date_of_birth: The customer's date of birth, MM/DD/YYYY.
            time_verified: When the verification took place, YYYY-MM-DD HH:MM:SS EST.
        """
        row = given_to(locals())
        time = time_verified.replace(" ", "_").replace(":", "").replace("-", "")
        if not self.db.verification_history.add(f"{user_id}_{time}", row):
            raise Refused("Failed to log verification: Record may already exist.")
        return lines(
            "Verification logged successfully.",
            f"  - User: {name} (ID: {user_id})",
            f"  - Verified at: {time_verified}",
        )

    @bank_tool(ToolType.GENERIC, mutates=True)
    def give_discoverable_user_tool(
        self, discoverable_tool_name: str, arguments: str = "{}"
    ) -> str:
        """Give the customer a tool, to be used by the customer.

        Args:
            discoverable_tool_name: The name of the tool, as the knowledge base has it.
            arguments: The arguments with which the customer should call it, as a JSON object.
        """
        name = discoverable_tool_name
        # Looked up first: a name that is no text fails here, in Python's own words.
        tool: Any = getattr(KnowledgeUserTools, name, None)
        known_tools = KnowledgeUserTools.discoverable_tools()
        refuse_if(name not in known_tools, f"Unknown discoverable tool '{name}'.")
        # Whole numbers stay whole here, because they are only shown and not used yet.
        given = parse_arguments(arguments, whole_numbers=True)
        known = signature(tool)
        for element in given:
            refuse_if(element not in known, f"Unexpected parameter: {element}")
        self._log_once("user_discoverable_tools", "user_discoverable_tool", name, "GIVEN")
        return lines(
            f"Tool given to user: {name}",
            f"Description: {descriptions()[1][name]['description']}",
            f"Arguments: {json.dumps(given, indent=2) if given else '(no arguments)'}",
            "",
            "The user can now execute this action by calling `call_discoverable_user_tool` with "
            f"discoverable_tool_name='{name}' and the same arguments.",
        )

    @bank_tool(ToolType.GENERIC, mutates=True)
    def unlock_discoverable_agent_tool(self, agent_tool_name: str) -> str:
        """Unlock a tool of yours that the knowledge base describes.

        Args:
            agent_tool_name: The name of the tool, as the knowledge base has it.
        """
        self._require_known(agent_tool_name)
        if agent_tool_name not in self._unlocked:
            self._unlocked.append(agent_tool_name)
        tool = descriptions()[0][agent_tool_name]
        return (
            f"Tool unlocked: {agent_tool_name}\nDescription: {tool['description']}\n\n"
            f"{manual(tool)}\n\n"
            "You can now use this tool by calling `call_discoverable_agent_tool` with "
            f"agent_tool_name='{agent_tool_name}' and the required arguments."
        )

    @bank_tool(ToolType.WRITE)
    def call_discoverable_agent_tool(self, agent_tool_name: str, arguments: str = "{}") -> str:
        """Call a tool of yours that was unlocked before.

        Args:
            agent_tool_name: The name of the unlocked tool.
            arguments: Its arguments, as a JSON object.
        """
        name = agent_tool_name
        self._require_known(name)
        refuse_if(
            name not in self._unlocked,
            f"Tool '{name}' has not been unlocked. You must first use "
            "`unlock_discoverable_agent_tool` to unlock this tool before calling it.",
        )
        given = parse_arguments(arguments)
        try:
            result = call_tool(getattr(self, name), given)
        # This also catches an error from inside the tool: the original cannot tell the two apart.
        except TypeError as error:
            raise Refused(f"Error: Invalid arguments: {error}") from None
        # A refused call is logged too: what counts is that the tool was called.
        if self.mutates(name) or name in self.read_log_allowlist:
            self._log_once("agent_discoverable_tools", "agent_discoverable_tool", name, "CALLED")
        return result

    @bank_tool(ToolType.READ)
    def list_discoverable_agent_tools(self) -> str:
        """List the discoverable tools that you have called."""
        found = self._listing("agent_discoverable_tools")
        # The engine says "No records found", so this hardly ever applies; the original does the
        # same.
        if "No results found" in found:
            return (
                "No agent tools have been called yet. Search the knowledge base to discover "
                "available tools."
            )
        return f"Your called agent tools:\n{found}"

    @discoverable(ToolType.WRITE)
    def example_agent_tool_0000(self) -> str:
        """Do nothing; there to show how such a tool is called."""
        return "Example tool executed successfully."

    @discoverable(ToolType.GENERIC)
    def initial_transfer_to_human_agent_0218(self) -> str:
        """Try to reach a colleague whose line is busy."""
        return executed("initial_transfer_to_human_agent_0218", _NO_ARGUMENTS)

    @discoverable(ToolType.GENERIC)
    def initial_transfer_to_human_agent_1822(self) -> str:
        """Try to reach a colleague too early."""
        return executed("initial_transfer_to_human_agent_1822", _NO_ARGUMENTS)

    @discoverable(ToolType.GENERIC)
    def emergency_credit_bureau_incident_transfer_1114(self) -> str:
        return executed("emergency_credit_bureau_incident_transfer_1114", _NO_ARGUMENTS)

    def _require_known(self, name: str) -> None:
        refuse_if(
            name not in self.discoverable_tools(),
            f"Unknown agent tool '{name}'. This tool is not available.",
        )
