"""The bank's query engine: the text behind most reads.

A question is a JSON text into which the value is pasted without escaping, so a quotation mark in a
value breaks the text or adds a condition of its own. Recorded answers depend on that.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/db_query.py (MIT, Sierra Research).
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from maseval.benchmark.tau2.domains.banking_knowledge.models import BankTable, Row

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
        return f"Error: Invalid JSON: {error}"
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
