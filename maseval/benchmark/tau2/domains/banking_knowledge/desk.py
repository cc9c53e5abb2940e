"""The common base of the bank's tools: tables, query engine, and how a tool refuses.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/tools.py (MIT, Sierra Research).
"""

import copy
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from maseval.benchmark.tau2.domains.banking_knowledge.models import BankingDB, Row
from maseval.benchmark.tau2.domains.banking_knowledge.query import is_empty, listing
from maseval.benchmark.tau2.domains.banking_knowledge.values import Refused, hex_id
from maseval.benchmark.tau2.domains.base import ToolFunction, ToolKitBase, ToolType, is_tool

AGENT, USER = "KnowledgeTools", "KnowledgeUserTools"
"""The toolkits' names, which Python puts into its errors about arguments."""


def bank_tool(
    tool_type: ToolType, *, of: str = AGENT, discoverable: bool = False, mutates: bool | None = None
) -> Callable[[ToolFunction], ToolFunction]:
    """Make a method a tool whose refusals are ordinary answers."""

    def mark(function: ToolFunction) -> ToolFunction:
        function.__qualname__ = f"{of}.{function.__name__}"

        @wraps(function)
        def tool(self: object, *args: object, **kwargs: object) -> object:
            try:
                return function(self, *args, **kwargs)
            except Refused as refusal:
                return str(refusal)

        marked = is_tool(tool_type, mutates=mutates, discoverable=discoverable)(tool)
        return marked  # type: ignore[return-value]  # it takes and gives what the function does

    return mark


def discoverable(tool_type: ToolType, *, of: str = AGENT) -> Callable[[ToolFunction], ToolFunction]:
    """Make a method a tool that is not offered, but found by reading."""
    return bank_tool(tool_type, of=of, discoverable=True)


class Desk(ToolKitBase[BankingDB]):
    """The bank's tables, as its tools look into them."""

    def update_db(self, update: Mapping[str, Any] | None = None) -> None:
        if update:
            self.db = self.db.overlay(copy.deepcopy(update))

    def _listing(self, table: str, field: str | None = None, value: object = None) -> str:
        return listing(table, self.db.table(table), field, value)

    def _require_credit_card(self, account_id: str) -> None:
        """Refuse an account that the query engine does not find."""
        if is_empty(self._listing("credit_card_accounts", "account_id", account_id)):
            raise Refused(f"Error: Credit card account '{account_id}' not found.")

    def _row(self, table: str, key: str, error: str) -> Row:
        """The row with that id, to read or to change."""
        rows = self.db.table(table)
        if key not in rows:
            raise Refused(f"Error: {error}")
        row: Row = rows[key]
        return row

    def _debit_card(self, card_id: str) -> Row:
        return self._row("debit_cards", card_id, f"Debit card '{card_id}' not found.")

    def _require_open_account(self, card: Row, action: str) -> None:
        account_id, accounts = card.get("account_id", ""), self.db.accounts
        if account_id in accounts and accounts.view(account_id).get("status") != "OPEN":
            raise Refused(
                f"Error: The linked checking account '{account_id}' is no longer open. Card cannot "
                f"be {action}."
            )

    def _log_once(self, table: str, kind: str, tool_name: str, status: str) -> None:
        key = hex_id(f"{kind}:{tool_name}")
        self.db.table(table).add(key, {"tool_name": tool_name, "status": status})
