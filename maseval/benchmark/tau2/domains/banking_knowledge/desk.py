"""The common base of the bank's tools: tables, query engine, and how a tool refuses.

A question is a JSON text into which the value is pasted without escaping, so a quotation mark in a
value breaks the text or adds a condition of its own. Recorded answers depend on that.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/tools.py (MIT, Sierra Research).
"""

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any

from maseval.benchmark.tau2.domains.banking_knowledge.models import BankingDB, BankTable, Row
from maseval.benchmark.tau2.domains.banking_knowledge.values import Refused, hex_id, json_problem
from maseval.benchmark.tau2.domains.base import ToolFunction, ToolKitBase, ToolType, is_tool

Operator = Callable[[Any, Any], bool]
FoundRow = tuple[str, Row]

_QUERY = "query_db() got multiple values for"
_COLLISIONS = {
    name: f"tau2.domains.banking_knowledge.db_query.{_QUERY} keyword argument '{name}'"
    for name in ("return_ids", "db")
}
_OPERATORS: Mapping[str, Operator] = {
    "ne": lambda found, wanted: found != wanted,
    "gt": lambda found, wanted: found > wanted,
    "gte": lambda found, wanted: found >= wanted,
    "lt": lambda found, wanted: found < wanted,
    "lte": lambda found, wanted: found <= wanted,
    "contains": lambda found, wanted: found is not None and wanted in found,
    "startswith": lambda found, wanted: found is not None and str(found).startswith(wanted),
    "endswith": lambda found, wanted: found is not None and str(found).endswith(wanted),
    "in": lambda found, wanted: found in wanted,
    "nin": lambda found, wanted: found not in wanted,
}


def listing(name: str, table: BankTable, field: str | None = None, value: object = None) -> str:
    """The rows of a table whose field has that value, as a tool shows them; all without a field."""
    return answer(name, table, "{}" if field is None else f'{{"{field}": "{value}"}}')


def answer(name: str, table: BankTable, question: str) -> str:
    """Parse a JSON text of conditions, with the engine's own error texts."""
    try:
        conditions = json.loads(question)
    except json.JSONDecodeError as error:
        return f"Error: Invalid JSON: {json_problem(error)}"
    try:
        hits = _hits(table, conditions)
    except Exception as error:  # conditions that a value smuggled in: their failure is the answer
        return f"Error querying database: {error}"
    return render_rows(name, hits)


def render_rows(name: str, hits: Iterable[FoundRow]) -> str:
    """Rows as a tool shows them."""
    numbered = [
        f"{number}. Record ID: {key}\n" + "".join(f"   {f}: {value}\n" for f, value in row.items())
        for number, (key, row) in enumerate(hits, 1)
    ]
    if not numbered:
        return f"No records found in '{name}'."
    return f"Found {len(numbered)} record(s) in '{name}':\n\n" + "\n".join(numbered)


def is_empty(text: str) -> bool:
    """Return True if a tool takes a listing for empty: it looks for words, values included."""
    return "No records found" in text or "No results found" in text


def _hits(table: BankTable, conditions: Mapping[str, Any]) -> list[FoundRow]:
    for key in conditions:
        if key in _COLLISIONS:
            raise TypeError(_COLLISIONS[key])
    if "db_name" in conditions:
        raise TypeError(f"{_QUERY} argument 'db_name'")
    if len(conditions) == 1 and "limit" not in conditions:
        ((key, wanted),) = conditions.items()
        if "__" not in key:  # nearly all questions are of this form
            return [(found, row) for found, row in table.items() if row.get(key) == wanted]
    limit = conditions.get("limit")
    tests = [_test(key, wanted) for key, wanted in conditions.items() if key != "limit"]
    hits: list[FoundRow] = []
    for key, row in table.items():
        if all(test(row) for test in tests):
            hits.append((key, row))
            if limit is not None and len(hits) >= limit:
                break
    return hits


def _test(key: str, wanted: object) -> Callable[[Row], bool]:
    field, _, name = key.rpartition("__") if "__" in key else (key, "", "")
    comparison = _OPERATORS.get(name)

    def holds(row: Row) -> bool:
        found = row.get(field)
        try:
            return bool(found == wanted if comparison is None else comparison(found, wanted))
        except (TypeError, ValueError):
            return False

    return holds


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
