"""Amounts, dates, ids and choices, as the bank reads and writes them.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/tools.py (MIT, Sierra Research).
"""

import json
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256

from maseval.benchmark.tau2.domains.banking_knowledge.models import Row
from maseval.core.exceptions import MASEvalError

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


def require(*values: object, error: str = "Missing required parameters.") -> None:
    """Refuse a call in which a value is missing or empty; 0 counts as empty."""
    if not all(values):
        raise Refused(f"Error: {error}")


def require_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise Refused(f"Error: Invalid {name}. Must be one of: {list(choices)}")


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
    """Return the balance of a bank account."""
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
    """Whole days since a date; raises where there is no date."""
    return (NOW - datetime.strptime(date, _DATE)).days


def is_active(account: Row) -> bool:
    return account.get("status") in ("ACTIVE", "OPEN")


def lines(*parts: str | None) -> str:
    """The lines of an answer; None is no line."""
    return "\n".join(part for part in parts if part is not None)
