"""Conversations of the bank that keep its policy, made from reference solutions."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2.data_loader import domain_folder
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.domains.releases import release_of
from tests.benchmark.tau2.compliance.gold_talk import Do, Say, Step
from tests.benchmark.tau2.staged import gold, wish

DOMAIN = "banking_knowledge"
Task = Mapping[str, Any]

CALL, UNLOCK = "call_discoverable_agent_tool", "unlock_discoverable_agent_tool"
CODE = "9K2X7M4P1N8Q3R5T6A"
ACCOUNTS = "get_all_user_accounts_by_user_id_3847"
BOOKINGS = "get_bank_account_transactions_9173"
CARDS = "get_debit_cards_by_account_id_7823"
TRANSFERS = (
    *("initial_transfer_to_human_agent_0218", "initial_transfer_to_human_agent_1822"),
    "emergency_credit_bureau_incident_transfer_1114",
)
_QUESTIONS = (
    "Did you contact the merchant? May we use your words as a written statement? Was the PIN "
    "compromised? Do you confirm (yes/no)?"
)
_WELCOME = (
    "Thank you for this. I will be glad to help you with it. I need to have a look at what we have "
    "on you, and for that I must know that it is you. I will tell you what I can do and what I "
    "need from you, and I will not do any of it before you tell me that you want it. Is this what "
    "you would like me to do, and do you have the time for it?"
)
_SECRETS = ("last_4_digits", "cvv", "pin", "new_pin", "current_pin")


@cache
def _base() -> dict[str, dict[str, Any]]:
    found = release_of(DOMAIN, "1.0.1").domain(domain_named(DOMAIN))
    folder: Path = domain_folder(found, [found.db_file], None)
    raw = json.loads((folder / found.db_file).read_text("utf-8"))
    return {name: table["data"] for name, table in raw.items()}


def table(task: Task, name: str) -> dict[str, Any]:
    """The records with which a task begins."""
    start = ((task.get("initial_state") or {}).get("initialization_data") or {}).get("agent_data")
    own = ((start or {}).get(name) or {}).get("data") or {}
    return {**_base().get(name, {}), **own}


def customer(task: Task) -> str | None:
    """The customer whom the reference solution verifies."""
    logs = (
        each["arguments"]["user_id"] for each in gold(task) if each["name"] == "log_verification"
    )
    return next(logs, None)


def inner(name: str, /, **arguments: Any) -> Do:
    """A call of a tool that was found by reading."""
    return Do(CALL, {"agent_tool_name": name, "arguments": json.dumps(arguments)})


# What to search for where the name of a tool does not find its document.
_QUERIES = {
    "update_transaction_rewards_3847": "Applying Resolved Cash Back Dispute Corrections",
    "file_debit_card_transaction_dispute_6281": "Filing a Debit Card Transaction Dispute",
    "log_credit_card_closure_reason_4521": "Credit Card Retention Protocol",
    "emergency_credit_bureau_incident_transfer_1114": "Erroneous Credit Bureau Reporting",
    "submit_cash_back_dispute_0589": "Submitting a Cash Back Dispute",
    "get_referral_link": "Generating a Credit Card Referral Link",
    "get_card_last_4_digits": "How to Find Your Rho-Bank Credit Card Numbers Online",
}


def found(tool: str) -> list[Step]:
    return [Do("KB_search_bm25", {"query": _QUERIES.get(tool, tool)})]


def unlocked(tool: str) -> list[Step]:
    return [*found(tool), Do(UNLOCK, {"agent_tool_name": tool})]


def identified(task: Task, user_id: str) -> list[Step]:
    """The steps with which a customer is found and verified."""
    user = table(task, "users")[user_id]
    told = ", ".join(
        str(user[key]) for key in ("date_of_birth", "email", "phone_number", "address")
    )
    return [
        Say("assistant", "Please tell me who you are."),
        Say("user", f"I am {user['name']}, my data: {told}. My id is {user_id}."),
        Do("get_user_information_by_id", {"user_id": user_id}),
        Do("get_current_time", {}),
    ]


def _read(task: Task, user_id: str) -> list[Step]:
    """The steps that read all records of a customer."""
    steps: list[Step] = [
        Do("get_credit_card_accounts_by_user", {"user_id": user_id}),
        Do("get_credit_card_transactions_by_user", {"user_id": user_id}),
        *unlocked(ACCOUNTS),
        inner(ACCOUNTS, user_id=user_id),
    ]
    mine = [key for key, row in table(task, "accounts").items() if row["user_id"] == user_id]
    if mine:
        steps += [*unlocked(BOOKINGS), *(inner(BOOKINGS, account_id=each) for each in mine)]
    checking = [key for key in mine if "checking" in table(task, "accounts")[key]["class"]]
    if checking:
        steps += [*unlocked(CARDS), *(inner(CARDS, account_id=each) for each in checking)]
    return steps


def clean_steps(task: Task) -> list[Step]:
    """A conversation that follows the reference solution and keeps the policy on the way."""
    user_id = customer(task)
    steps: list[Step] = [
        Say("user", f"Hello, I need your help. {wish(task)}"),
        *(Say("assistant", _WELCOME), Say("user", "That is fine with me, thank you.")),
    ]
    ready: set[str] = set()
    for action in gold(task):
        name, arguments = action["name"], dict(action["arguments"])
        role = action.get("requestor", "assistant")
        if name == "log_verification":
            steps += _verified(task, user_id, Do(name, arguments))
            ready |= {ACCOUNTS, BOOKINGS, CARDS}
        elif name == UNLOCK:
            continue
        elif name == CALL:
            tool = arguments["agent_tool_name"]
            if tool not in ready or Do(UNLOCK, {"agent_tool_name": tool}) not in steps:
                ready.add(tool)
                steps += unlocked(tool)
            steps += served(tool, Do(name, arguments))
        elif name == "give_discoverable_user_tool":
            steps += [*found(arguments["discoverable_tool_name"]), Do(name, arguments)]
        elif name == "transfer_to_human_agents":
            ask = Say("assistant", "Would you like me to transfer you to a human agent?")
            steps += [ask, Say("user", "Yes, please transfer me."), Do(name, arguments)]
        else:
            steps.append(Do(name, arguments, role))
    return [*steps, Say("assistant", "All is done."), Say("user", "Thank you. ###STOP###")]


def _verified(task: Task, user_id: str | None, log: Do) -> list[Step]:
    if user_id == CODE:
        said = Say("user", f"My recovery code is {CODE}. My id is 6680a37184.")
        return [said, Do("get_current_time", {}), log]
    assert user_id is not None
    return [*identified(task, user_id), log, *_read(task, user_id)]


def served(tool: str, call: Do) -> list[Step]:
    arguments = json.loads(call.arguments.get("arguments") or "{}")
    if tool.startswith("get_") or tool in TRANSFERS:
        return [call]
    shown = {
        key: value
        for key, value in arguments.items()
        if "pin" not in key or key == "pin_compromised"
    }
    details = "\n".join(f"- {key}: {_plain(value)}" for key, value in shown.items())
    text = f"I will do this for you:\n{details}\n{_QUESTIONS}"
    secrets = [str(arguments[key]) for key in _SECRETS if key in arguments]
    return [
        Say("assistant", text),
        Say("user", " ".join(["Yes, please go ahead.", *secrets])),
        call,
    ]


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


TIME = "2025-11-14 03:40:00 EST"


def log_of(task: Task, user_id: str) -> Do:
    user = table(task, "users")[user_id]
    fields = ("name", "user_id", "address", "email", "phone_number", "date_of_birth")
    return Do("log_verification", {**{key: user[key] for key in fields}, "time_verified": TIME})


def known(task: Task, user_id: str) -> list[Step]:
    """The steps with which a customer is verified and read."""
    return [*identified(task, user_id), log_of(task, user_id), *_read(task, user_id)]


def with_row(task: Task, name: str, key: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """The task, with other values in a record with which it begins."""
    start = task.get("initial_state") or {}
    data = start.get("initialization_data") or {}
    tables = data.get("agent_data") or {}
    rows = (tables.get(name) or {}).get("data") or {}
    new = {**table(task, name).get(key, {}), **row}
    tables = {**tables, name: {**(tables.get(name) or {}), "data": {**rows, key: new}}}
    start = {**start, "initialization_data": {**data, "agent_data": tables}}
    return {**task, "initial_state": start}
