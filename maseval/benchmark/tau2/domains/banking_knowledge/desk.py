"""The common base of the bank's tools: tables, query engine, and how a tool refuses.

A question is a JSON text into which the value is pasted without escaping, so a quotation mark in a
value breaks the text or adds a condition of its own. Recorded answers depend on that.

The description of a tool that is found by reading is the answer of another tool, so a conversation
can only be replayed with the original's own words. They come from the extracted texts and are not
part of maseval.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/tools.py (MIT, Sierra Research).
"""

import copy
import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, wraps
from hashlib import sha256
from typing import Any

from maseval.benchmark.tau2.domains.banking_knowledge.models import BankingDB, BankTable, Row
from maseval.benchmark.tau2.domains.base import ToolFunction, ToolKitBase, ToolType, is_tool
from maseval.benchmark.tau2.texts.loading import load_texts
from maseval.benchmark.tau2.texts.texts import Form
from maseval.core.exceptions import MASEvalError

_VERSION = "1.0.1"
_MODULE = "tau2.domains.banking_knowledge.tools"

Descriptions = Mapping[str, Form]


def descriptions() -> tuple[Descriptions, Descriptions]:
    """Return the texts of the discoverable tools, agent's and user's, fetched if need be."""
    return _load_descriptions(load_texts(_VERSION, verbose=0).sha256)


@cache
def _load_descriptions(sha256: str) -> tuple[Descriptions, Descriptions]:
    tools = load_texts(_VERSION, verbose=0).tools["banking_knowledge"]
    agent, user = tools["discoverable_assistant"], tools["discoverable_user"]
    return {tool["name"]: tool for tool in agent}, {tool["name"]: tool for tool in user}


def success_text(name: str) -> str:
    """Return a discoverable tool's own words about its result, said when it has done its work."""
    agent, user = descriptions()
    tool = agent.get(name) or user[name]
    _, told, result = tool["description"].rpartition("Returns:\n")
    return str(result.strip() if told else tool["success_message"])


def executed(tool: str, *parts: str | None) -> str:
    """Return the lines of the answer of a discoverable tool, after its own words and its name."""
    return lines(success_text(tool), "", f"Executed: {tool}", *parts)


def parse_arguments(arguments: str, *, whole_numbers: bool = False) -> Any:
    """The arguments of a call; unless ``whole_numbers`` are to stay, they become floats."""
    try:
        # The original turns even whole numbers of such a call into floats, and shows them so.
        return json.loads(arguments, parse_int=None if whole_numbers else float)
    except json.JSONDecodeError as error:
        raise Refused(f"Error: Invalid JSON in arguments: {json_problem(error)}") from None


def call_tool(tool: Callable[..., str], arguments: Any) -> str:
    """Call a tool with what was parsed, which need not be a mapping."""
    if not isinstance(arguments, Mapping):
        raise TypeError(
            f"{_MODULE}.{tool.__qualname__}() argument after ** must be a mapping, "
            f"not {type(arguments).__name__}"
        )
    return tool(**arguments)


def given_to(scope: Mapping[str, Any]) -> Row:
    """A tool's arguments in the order of its parameters: ``scope`` is its ``locals()`` at first."""
    return {name: value for name, value in scope.items() if name != "self"}


def signature(function: Callable[..., str]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def manual(tool: Form) -> str:
    """A tool's description and its parameters, as an agent that unlocks it reads them."""
    parameters = "\n".join(
        f"  - {name}: {each['type']} ({'required' if each['required'] else 'optional'}) - "
        f"{each['description']}"
        for name, each in tool["parameters"].items()
    )
    return (
        f"Tool: {tool['name']}\nDescription: {tool['description']}\n"
        f"Parameters:\n{parameters or '  (no parameters)'}"
    )


TODAY = "11/14/2025"
NOW = datetime(2025, 11, 14, 3, 40)
_DATE = "%m/%d/%Y"


class Refused(MASEvalError):
    """A tool's ordinary answer to what it will not do; it starts with ``Error:``."""


_TRAILING_COMMA = "Illegal trailing comma"


def json_problem(error: json.JSONDecodeError) -> str:
    """Return the error in the words of Python 3.12, whatever runs: 3.13 names a comma at the end.

    An agent reads them, and the same conversation must have the same answers everywhere.
    """
    if not error.msg.startswith(_TRAILING_COMMA):
        return str(error)
    # Python 3.12 reports the error at the closing bracket, and not at the comma.
    rest = error.doc[error.pos + 1 :]
    closing = error.pos + 1 + len(rest) - len(rest.lstrip(" \t\n\r"))
    is_object = error.doc[closing] == "}"
    words = "Expecting property name enclosed in double quotes" if is_object else "Expecting value"
    return str(json.JSONDecodeError(words, error.doc, closing))


def hex_id(seed: str, length: int = 16) -> str:
    """The same id for the same seed, as everything in this bank has one."""
    return sha256(seed.encode()).hexdigest()[:length]


def dispute_id(user_id: str, transaction_id: str) -> str:
    return "dsp_" + hex_id(f"dispute:{user_id}:{transaction_id}", 12)


def transaction_id(user_id: str, card: str, merchant: str, amount: float, category: str) -> str:
    # Ids follow from what is booked, so that a replay of a conversation has the same ones.
    parts = ["transaction", user_id, card, merchant, f"{amount:.2f}", category]
    return "txn_" + hex_id(":".join(parts), 12)


def last_4_digits(credit_card_account_id: str) -> str:
    """The last digits of a credit card, as its owner sees them."""
    hexadecimal = hex_id(f"card_last4:{credit_card_account_id}", 64)
    return "".join(c for c in hexadecimal if c.isdigit())[:4].ljust(4, "0")


def dollars(amount: float) -> str:
    return f"${amount:.2f}"


def title(name: str) -> str:
    """A constant's name as people read it."""
    return name.replace("_", " ").title()


def arguments_text(**arguments: object) -> str:
    return f"Arguments: {json.dumps(arguments, indent=2)}"


def refuse_if(is_wrong: object, error: str) -> None:
    """Refuse a call that must not go on, in the words of an ordinary answer."""
    if is_wrong:
        raise Refused(f"Error: {error}")


def require(*values: object, error: str = "Missing required parameters.") -> None:
    """Refuse a call in which a value is missing or empty; 0 counts as empty."""
    # The original tests for truth, and not for None.
    refuse_if(not all(values), error)


def require_choice(name: str, value: str, choices: Sequence[str]) -> None:
    refuse_if(value not in choices, f"Invalid {name}. Must be one of: {list(choices)}")


def require_status(card: Row, card_id: str, statuses: str, done: str) -> None:
    """Refuse what can be done only to debit cards of some statuses."""
    status = card.get("status")
    if status not in statuses.split(" or "):
        raise Refused(
            f"Error: Debit card '{card_id}' cannot be {done}. Current status: {status}. Only "
            f"{statuses} cards can be {done}."
        )


def number(value: object, error: str) -> float:
    """A value as a number; what is none is refused with ``error``."""
    try:
        return float(value)  # type: ignore[arg-type]  # what a model sent
    except (ValueError, TypeError):
        raise Refused(f"Error: {error}") from None


def balance(account: Row) -> float:
    value = account.get("current_holdings", account.get("balance", 0))
    if isinstance(value, int | float):
        return float(value)
    return float(plain(value)) if isinstance(value, str) else 0.0


def plain(text: str) -> str:
    """An amount without its decoration."""
    return text.replace("$", "").replace(",", "")


def amount_in(money: object) -> float:
    """The number in a text of money; 0 if there is none."""
    try:
        return float(plain(str(money)))
    except ValueError:
        return 0.0


def age_in_days(date: str) -> int:
    return (NOW - datetime.strptime(date, _DATE)).days


def is_active(account: Row) -> bool:
    return account.get("status") in ("ACTIVE", "OPEN")


def lines(*parts: str | None) -> str:
    """The lines of an answer; None is no line."""
    return "\n".join(part for part in parts if part is not None)


Operator = Callable[[Any, Any], bool]
FoundRow = tuple[str, Row]

_QUERY = "query_db() got multiple values for"
# A condition of such a name becomes a second argument of the original's function.
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
            return [(found, row) for found, row in table.entries() if row.get(key) == wanted]
    limit = conditions.get("limit")
    tests = [_test(key, wanted) for key, wanted in conditions.items() if key != "limit"]
    hits: list[FoundRow] = []
    for key, row in table.entries():
        if all(test(row) for test in tests):
            hits.append((key, row))
            # The limit is checked after a hit, so that a limit of 0 still gives one row.
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
        # Values that cannot be compared do not match; that is no error.
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
        # Python's errors about arguments show this name, and a model reads them.
        function.__qualname__ = f"{of}.{function.__name__}"

        # ``wraps`` keeps the signature from which the tool is described.
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

    # The account is looked for by a query, so that a quotation mark in an id has its effect.
    def _require_credit_card(self, account_id: str) -> None:
        if is_empty(self._listing("credit_card_accounts", "account_id", account_id)):
            raise Refused(f"Error: Credit card account '{account_id}' not found.")

    def _row(self, table: str, key: str, error: str) -> Row:
        rows = self.db.table(table)
        if key not in rows:
            raise Refused(f"Error: {error}")
        row: Row = rows[key]
        return row

    def _debit_card(self, card_id: str) -> Row:
        return self._row("debit_cards", card_id, f"Debit card '{card_id}' not found.")

    def _require_open_account(self, card: Row, action: str) -> None:
        # A card whose account does not exist passes, as in the original.
        account_id, accounts = card.get("account_id", ""), self.db.accounts
        if account_id in accounts and accounts.view(account_id).get("status") != "OPEN":
            raise Refused(
                f"Error: The linked checking account '{account_id}' is no longer open. Card cannot "
                f"be {action}."
            )

    def _log_once(self, table: str, kind: str, tool_name: str, status: str) -> None:
        key = hex_id(f"{kind}:{tool_name}")
        self.db.table(table).add(key, {"tool_name": tool_name, "status": status})
