"""Conversations of the bank that keep the policy, and changes that each break one rule of it."""

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2.data.domain_files import domain_folder
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.domains.releases import release_of
from tests.benchmark.tau2.compliance.gold_talk import Do, Say, Step
from tests.benchmark.tau2.staged import gold, wish

DOMAIN = "banking_knowledge"
Task = Mapping[str, Any]
Mutant = Callable[[list[Step], Task, random.Random], list[Step] | None]

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
    folder: Path = domain_folder(found, [found.db_file], None, found.version)
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


def arguments_of(step: Step, name: str) -> dict[str, Any] | None:
    """The arguments with which a step calls a tool, if it does."""
    if not isinstance(step, Do):
        return None
    if step.name == name:
        return dict(step.arguments)
    if step.arguments.get("agent_tool_name") == name and step.name == CALL:
        found: dict[str, Any] = json.loads(step.arguments.get("arguments") or "{}")
        return found
    return None


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


def _found(tool: str) -> list[Step]:
    return [Do("KB_search_bm25", {"query": _QUERIES.get(tool, tool)})]


def _unlocked(tool: str) -> list[Step]:
    return [*_found(tool), Do(UNLOCK, {"agent_tool_name": tool})]


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
        *_unlocked(ACCOUNTS),
        inner(ACCOUNTS, user_id=user_id),
    ]
    mine = [key for key, row in table(task, "accounts").items() if row["user_id"] == user_id]
    if mine:
        steps += [*_unlocked(BOOKINGS), *(inner(BOOKINGS, account_id=each) for each in mine)]
    checking = [key for key in mine if "checking" in table(task, "accounts")[key]["class"]]
    if checking:
        steps += [*_unlocked(CARDS), *(inner(CARDS, account_id=each) for each in checking)]
    return steps


def clean_steps(task: Task) -> list[Step]:
    """A conversation that follows the reference solution and keeps the policy on the way."""
    user_id = customer(task)
    steps: list[Step] = [
        Say("user", f"Hello, I need your help. {wish(task)}"),
        *(Say("assistant", _WELCOME), Say("user", "That is fine with me, thank you.")),
    ]
    unlocked: set[str] = set()
    for action in gold(task):
        name, arguments = action["name"], dict(action["arguments"])
        role = action.get("requestor", "assistant")
        if name == "log_verification":
            steps += _verified(task, user_id, Do(name, arguments))
            unlocked |= {ACCOUNTS, BOOKINGS, CARDS}
        elif name == UNLOCK:
            continue
        elif name == CALL:
            tool = arguments["agent_tool_name"]
            if tool not in unlocked or not _was_unlocked(steps, tool):
                unlocked.add(tool)
                steps += _unlocked(tool)
            steps += _served(tool, Do(name, arguments))
        elif name == "give_discoverable_user_tool":
            steps += [*_found(arguments["discoverable_tool_name"]), Do(name, arguments)]
        elif name == "transfer_to_human_agents":
            ask = Say("assistant", "Would you like me to transfer you to a human agent?")
            steps += [ask, Say("user", "Yes, please transfer me."), Do(name, arguments)]
        else:
            steps.append(Do(name, arguments, role))
    return [*steps, Say("assistant", "All is done."), Say("user", "Thank you. ###STOP###")]


def _was_unlocked(steps: Sequence[Step], tool: str) -> bool:
    return Do(UNLOCK, {"agent_tool_name": tool}) in steps


def _verified(task: Task, user_id: str | None, log: Do) -> list[Step]:
    if user_id == CODE:
        said = Say("user", f"My recovery code is {CODE}. My id is 6680a37184.")
        return [said, Do("get_current_time", {}), log]
    assert user_id is not None
    return [*identified(task, user_id), log, *_read(task, user_id)]


def _served(tool: str, call: Do) -> list[Step]:
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
Choice = tuple[str, dict[str, Any]]
"""A customer, and the arguments of a call."""


def log_of(task: Task, user_id: str) -> Do:
    user = table(task, "users")[user_id]
    fields = ("name", "user_id", "address", "email", "phone_number", "date_of_birth")
    return Do("log_verification", {**{key: user[key] for key in fields}, "time_verified": TIME})


def _is_verified(steps: Sequence[Step], user_id: str) -> bool:
    logs = (arguments_of(each, "log_verification") for each in steps)
    return any(each is not None and each["user_id"] == user_id for each in logs)


def known_customer(steps: list[Step], task: Task, user_id: str) -> list[Step]:
    """The steps, with the customer verified and read at the end if need be."""
    if _is_verified(steps, user_id):
        return steps
    new = [*identified(task, user_id), log_of(task, user_id), *_read(task, user_id)]
    return _add(steps, *new)


def _add(steps: list[Step], *new: Step) -> list[Step]:
    """The steps, with new ones before the farewell."""
    return [*steps[:-2], *new, *steps[-2:]]


def ready(steps: list[Step], tool: str) -> list[Step]:
    """The steps, with a tool unlocked at the end if need be."""
    return steps if _was_unlocked(steps, tool) else _add(steps, *_unlocked(tool))


def do(steps: list[Step], task: Task, user_id: str, tool: str, /, **arguments: Any) -> list[Step]:
    """The steps, and a call for a customer that is proposed and agreed to."""
    steps = ready(known_customer(steps, task, user_id), tool)
    return _add(steps, *_served(tool, inner(tool, **arguments)))


def silently(
    steps: list[Step], task: Task, user_id: str, tool: str, /, **arguments: Any
) -> list[Step]:
    """The same without a word."""
    steps = ready(known_customer(steps, task, user_id), tool)
    return _add(steps, inner(tool, **arguments))


def alter(
    steps: list[Step], tool: str, rng: random.Random, change: Callable[[dict[str, Any]], Any]
) -> list[Step] | None:
    """The steps with other arguments in a call of a tool; the change may refuse with None."""
    places = [at for at, each in enumerate(steps) if arguments_of(each, tool) is not None]
    rng.shuffle(places)
    for at in places:
        old = arguments_of(steps[at], tool)
        assert old is not None
        new = change(dict(old))
        if new is not None:
            step = inner(tool, **new) if steps[at].name == CALL else Do(tool, new)  # type: ignore[union-attr]
            return [*steps[:at], step, *steps[at + 1 :]]
    return None


def _pick(rng: random.Random, rows: Sequence[Any]) -> Any:
    return rng.choice(rows) if rows else None


def _people(task: Task) -> list[str]:
    return sorted(key for key, row in table(task, "users").items() if row.get("user_id") == key)


def _rows(task: Task, name: str, **wanted: Any) -> list[dict[str, Any]]:
    people = set(_people(task))
    return [
        row
        for key, row in sorted(table(task, name).items())
        if all(row.get(field) == value for field, value in wanted.items())
        and (row.get("user_id") in people or "user_id" not in row)
    ]


def _held(row: Mapping[str, Any]) -> float:
    return float(str(row["current_holdings"]).replace("$", "").replace(",", ""))


def _money(text: object) -> float:
    return float(str(text).replace("$", "").replace(",", ""))


def _stranger(task: Task, rng: random.Random) -> str:
    """A customer whom the conversation is not about."""
    return str(rng.choice([each for each in _people(task) if each != customer(task)]))


def on_account(tool: str, pick: Callable[[Mapping[str, Any]], bool], **more: Any) -> Mutant:
    """Make the change that calls a tool for an account that fits."""

    def change(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
        others = (each for each in _rows(task, "accounts") if each["user_id"] != customer(task))
        row = _pick(rng, [each for each in others if pick(each)])
        if row is None:
            return None
        values = {key: value(row, rng) if callable(value) else value for key, value in more.items()}
        return do(steps, task, row["user_id"], tool, account_id=row["account_id"], **values)

    return change


def for_customer(tool: str, pick: Callable[[Task, str], bool], **more: Any) -> Mutant:
    """Make the change that calls a tool for a customer who fits."""

    def change(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
        user = _pick(rng, [each for each in _people(task) if pick(task, each)])
        if user is None:
            return None
        return do(steps, task, user, tool, user_id=user, **_drawn(more, rng))

    return change


def on_card(
    tool: str, pick: Callable[[Mapping[str, Any]], bool] = lambda row: True, **more: Any
) -> Mutant:
    """Make the change that calls a tool for a debit card that fits."""

    def change(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
        row = _pick(rng, [each for each in _free_cards(task) if pick(each)])
        if row is None:
            return None
        values = {key: value(row, rng) if callable(value) else value for key, value in more.items()}
        return do(steps, task, row["user_id"], tool, card_id=row["card_id"], **values)

    return change


def _free_cards(task: Task) -> list[dict[str, Any]]:
    """The active debit cards of customers whom the conversation is not about."""
    cards = _rows(task, "debit_cards", status="ACTIVE")
    return [each for each in cards if each["user_id"] != customer(task)]


def on_credit_card(tool: str, pick: Callable[[Mapping[str, Any]], bool], **more: Any) -> Mutant:
    """Make the change that calls a tool for a credit card that fits."""

    def change(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
        row = _pick(rng, [each for each in _free_credit_cards(task) if pick(each)])
        if row is None:
            return None
        values = {key: value(row, rng) if callable(value) else value for key, value in more.items()}
        ids = {"credit_card_account_id": row["account_id"], "user_id": row["user_id"]}
        return do(steps, task, row["user_id"], tool, **ids, **values)

    return change


def _free_credit_cards(task: Task) -> list[dict[str, Any]]:
    cards = _rows(task, "credit_card_accounts")
    return [each for each in cards if each["user_id"] != customer(task)]


def _drawn(more: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    return {key: rng.choice(each) if isinstance(each, list) else each for key, each in more.items()}


def altered(tool: str, change: Callable[[dict[str, Any], random.Random], Any]) -> Mutant:
    """Make the change that alters the arguments of a call in the reference solution."""

    def alteration(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
        return alter(steps, tool, rng, lambda arguments: change(arguments, rng))

    return alteration


def _is_checking(row: Mapping[str, Any]) -> bool:
    return row["class"] == "checking"


def _is_saving(row: Mapping[str, Any]) -> bool:
    return row["class"] == "saving"


def _is_old(row: Mapping[str, Any]) -> bool:
    return not str(row["date_opened"]).endswith("2025")


def _has_old_checking(task: Task, user: str) -> bool:
    return any(_is_old(each) for each in _checking(task, user))


def _checking(task: Task, user: str) -> list[dict[str, Any]]:
    return [each for each in _rows(task, "accounts", user_id=user) if _is_checking(each)]


def _has_no_account(task: Task, user: str) -> bool:
    return user != customer(task) and not _rows(task, "accounts", user_id=user)


def _is_poor(task: Task, user: str) -> bool:
    mine = _checking(task, user)
    return user != customer(task) and bool(mine) and all(_held(each) < 500 for each in mine)


OPEN, CLOSE = "open_bank_account_4821", "close_bank_account_7392"
MOVE = "transfer_funds_between_bank_accounts_7291"
CHECKING_CREDIT = "apply_checking_account_credit_5829"
SAVINGS_CREDIT = "apply_savings_account_credit_6831"
REPORT = "submit_interest_discrepancy_report_7294"
ORDER, CLOSE_CARD = "order_debit_card_5739", "close_debit_card_4721"
FREEZE, UNFREEZE = "freeze_debit_card_3892", "unfreeze_debit_card_3893"
RESET = "reset_debit_card_pin_6284"
RAISE = "request_temporary_debit_card_limit_increase_8374"
ACTIVATE = "activate_debit_card_8292"
CLOSE_CREDIT, LOG_REASON = "close_credit_card_account_7834", "log_credit_card_closure_reason_4521"
STATEMENT = "apply_statement_credit_8472"
FLAG, PAY = "apply_credit_card_account_flag_6147", "pay_credit_card_from_checking_9182"
ASK, APPROVE = "submit_credit_limit_increase_request_7392", "approve_credit_limit_increase_5847"
DENY, REPLACE = "deny_credit_limit_increase_5848", "order_replacement_credit_card_7291"
REWARDS = "update_transaction_rewards_3847"
CREDIT_DISPUTE = "file_credit_card_transaction_dispute_4829"
DEBIT_DISPUTE = "file_debit_card_transaction_dispute_6281"
BUSY, EARLY = TRANSFERS[:2]
SAVINGS = ("Bronze", "Silver", "Silver Plus", "Gold", "Platinum", "Diamond Elite")


def too_many_accounts(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    others = (each for each in _people(task) if each != customer(task))
    user = _pick(rng, [each for each in others if _has_old_checking(task, each)])
    if user is None:
        return None
    for name in SAVINGS:
        given = {"user_id": user, "account_type": "savings", "account_class": f"{name} Account"}
        steps = do(steps, task, user, OPEN, **given)
    return steps


def too_much_moved(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    pairs = [
        (one, other)
        for one in _rows(task, "accounts")
        for other in _rows(task, "accounts", user_id=one["user_id"])
        if one["account_id"] != other["account_id"] and one["user_id"] != customer(task)
    ]
    one, other = rng.choice(pairs)
    ids = {"source_account_id": one["account_id"], "destination_account_id": other["account_id"]}
    return do(steps, task, one["user_id"], MOVE, **ids, amount=_held(one) + rng.randint(1, 900))


def credited_twice(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    row = rng.choice(_rows(task, "accounts", **{"class": "checking"}))
    for _ in range(2):
        given = {"account_id": row["account_id"], "amount": rng.randint(2, 20)}
        kind = rng.choice(["fee_refund", "rebate_credit"])
        steps = do(steps, task, row["user_id"], CHECKING_CREDIT, **given, credit_type=kind)
    return steps


def unread(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    """Credit an account whose bookings nobody has read."""
    rows = _rows(task, "accounts", **{"class": "checking"})
    row = rng.choice([each for each in rows if each["user_id"] != customer(task)])
    user = row["user_id"]
    steps = ready(_add(steps, *identified(task, user), log_of(task, user)), CHECKING_CREDIT)
    given = {"account_id": row["account_id"], "amount": 5, "credit_type": "fee_refund"}
    return _add(steps, *_served(CHECKING_CREDIT, inner(CHECKING_CREDIT, **given)))


def other_difference(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    rows = [each for each in _rows(task, "accounts") if _is_saving(each)]
    row = _pick(rng, rows)
    amount = rng.randint(5, 90)
    account, user = row["account_id"], row["user_id"]
    given = {"amount": amount, "credit_type": "interest_correction"}
    steps = do(steps, task, user, SAVINGS_CREDIT, account_id=account, **given)
    more = amount + rng.randint(1, 9)
    rates = {"expected_apy": 4.5, "actual_apy": 4.0, "amount_difference": more}
    return do(steps, task, user, REPORT, account_id=account, user_id=user, **rates)


_ORDERED = {
    "delivery_option": "STANDARD",
    "delivery_fee": 0,
    "card_design": "CLASSIC",
    "design_fee": 0,
}


def order_for(pick: Callable[[Mapping[str, Any]], bool], **more: Any) -> Mutant:
    """Make the change that orders a debit card for an account that fits."""

    def change(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
        row = _pick(rng, [each for each in _rows(task, "accounts") if pick(each)])
        if row is None:
            return None
        user = row["user_id"]
        address = table(task, "users")[user]["address"]
        given = {**_ORDERED, "shipping_address": address, **_drawn(more, rng)}
        return do(steps, task, user, ORDER, account_id=row["account_id"], user_id=user, **given)

    return change


def second_card(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    cards = {each["account_id"] for each in _free_cards(task)}
    return order_for(lambda row: row["account_id"] in cards)(steps, task, rng)


def replaced_at_once(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    """Close a card of the entry tier and order another one at once."""
    entry = ("Light Blue Account", "Green Fee-Free Account")
    accounts = {each["account_id"]: each for each in _rows(task, "accounts")}
    cards = [
        each
        for each in _rows(task, "debit_cards", status="ACTIVE")
        if accounts.get(each["account_id"], {}).get("level") in entry
    ]
    card = _pick(rng, cards)
    if card is None:
        return None
    user, account = card["user_id"], card["account_id"]
    steps = do(steps, task, user, CLOSE_CARD, card_id=card["card_id"], reason="lost")
    given = {**_ORDERED, "shipping_address": table(task, "users")[user]["address"]}
    return do(steps, task, user, ORDER, account_id=account, user_id=user, **given)


def frozen_then(tool: str, **more: Any) -> Mutant:
    """Make the change that freezes a card first."""

    def change(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
        row = rng.choice(_free_cards(task))
        steps = do(steps, task, row["user_id"], FREEZE, card_id=row["card_id"])
        values = {key: value(row, rng) if callable(value) else value for key, value in more.items()}
        return do(steps, task, row["user_id"], tool, card_id=row["card_id"], **values)

    return change


def _digits(row: Mapping[str, Any], rng: random.Random) -> str:
    return str(row["last_4_digits"])


def _expiry(row: Mapping[str, Any], rng: random.Random) -> str:
    month, _, year = str(row["expiration_date"]).split("/")
    return f"{month}/{year[2:]}"


def birth_pin(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    row = rng.choice(_free_cards(task))
    born = table(task, "users")[row["user_id"]]["date_of_birth"]
    pin = rng.choice([born[6:], born[:2] + born[3:5]])
    given = {"card_id": row["card_id"], "last_4_digits": row["last_4_digits"], "new_pin": pin}
    return do(steps, task, row["user_id"], RESET, **given)


def _owes(row: Mapping[str, Any]) -> bool:
    return _money(row.get("current_balance", 0)) > 0


def _tiered(row: Mapping[str, Any]) -> bool:
    return "credit_limit" in row and _money(row["credit_limit"]) > 0


def undecided(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    """Approve another amount than was asked for."""
    row = _pick(rng, [each for each in _free_credit_cards(task) if _tiered(each)])
    if row is None:
        return None
    ids = {"credit_card_account_id": row["account_id"], "user_id": row["user_id"]}
    steps = do(steps, task, row["user_id"], ASK, **ids, requested_increase_amount=100)
    new = _money(row["credit_limit"]) + rng.choice([50, 150, 200, 300])
    return do(steps, task, row["user_id"], APPROVE, **ids, new_credit_limit=new)


def overpaid(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    """Pay more than a card owes or an account holds."""
    pairs = [
        (card, account)
        for card in _free_credit_cards(task)
        for account in _rows(task, "accounts", user_id=card["user_id"])
        if _is_checking(account)
    ]
    card, account = rng.choice(pairs)
    ids = {"user_id": card["user_id"], "checking_account_id": account["account_id"]}
    more = _money(card.get("current_balance", 0)) + rng.randint(1, 500)
    given = {"credit_card_account_id": card["account_id"], "amount": more}
    return do(steps, task, card["user_id"], PAY, **ids, **given)


def uncontested(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    """Correct rewards about which there is no dispute."""
    rows = _rows(task, "credit_card_transaction_history")
    row = rng.choice([each for each in rows if each["user_id"] != customer(task)])
    given = {"transaction_id": row["transaction_id"], "new_rewards_earned": "950 points"}
    return do(steps, task, row["user_id"], REWARDS, **given)


def replaced_again(times: int) -> Mutant:
    """Make the change that orders a credit card so many times."""

    def change(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
        row = rng.choice(_free_credit_cards(task))
        user = row["user_id"]
        ids = {"credit_card_account_id": row["account_id"], "user_id": user}
        address = table(task, "users")[user]["address"]
        for reason in rng.sample(["lost", "stolen", "damaged", "expired", "other"], times):
            steps = do(steps, task, user, REPLACE, **ids, shipping_address=address, reason=reason)
        return steps

    return change


def on_transaction(**more: Any) -> Mutant:
    """Make the change that disputes a transaction with a credit card."""

    def change(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
        rows = _rows(task, "credit_card_transaction_history")
        row = rng.choice([each for each in rows if each["user_id"] != customer(task)])
        values = {key: value(row, rng) if callable(value) else value for key, value in more.items()}
        given = {**_credit_dispute(task, row), **values}
        return do(steps, task, row["user_id"], CREDIT_DISPUTE, **given)

    return change


def _credit_dispute(task: Task, row: Mapping[str, Any]) -> dict[str, Any]:
    user = table(task, "users")[row["user_id"]]
    return {
        "transaction_id": row["transaction_id"],
        "card_action": "keep_active",
        "card_last_4_digits": "0000",
        "full_name": user["name"],
        "user_id": row["user_id"],
        "phone": user["phone_number"],
        "email": user["email"],
        "address": user["address"],
        "contacted_merchant": True,
        "purchase_date": row["transaction_date"],
        "issue_noticed_date": "11/14/2025",
        "dispute_reason": "incorrect_amount",
        "resolution_requested": "full_refund",
        "eligible_for_provisional_credit": False,
    }


def on_booking(**more: Any) -> Mutant:
    """Make the change that disputes a booking on an account with a card."""

    def change(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
        choice = _booking(task, rng)
        if choice is None:
            return None
        user, given, row = choice
        values = {key: value(row, rng) if callable(value) else value for key, value in more.items()}
        return do(steps, task, user, DEBIT_DISPUTE, **{**given, **values})

    return change


def _bookings(task: Task) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    cards = {each["account_id"]: each for each in _free_cards(task)}
    rows = _rows(task, "bank_account_transaction_history", status="posted")
    return [
        (cards[row["account_id"]], row)
        for row in rows
        if row["account_id"] in cards and row["amount"] < -1
    ]


def _booking(task: Task, rng: random.Random) -> tuple[str, dict[str, Any], dict[str, Any]] | None:
    found = _bookings(task)
    if not found:
        return None
    card, row = rng.choice(found)
    return card["user_id"], _debit_dispute(card, row), row


def _debit_dispute(card: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "transaction_id": row["transaction_id"],
        "account_id": row["account_id"],
        "card_id": card["card_id"],
        "user_id": card["user_id"],
        "dispute_category": "incorrect_amount",
        "transaction_date": str(row["date"])[:10],
        "discovery_date": "11/14/2025",
        "disputed_amount": -row["amount"],
        "transaction_type": "signature_purchase",
        "card_in_possession": True,
        "pin_compromised": "no",
        "contacted_merchant": True,
        "police_report_filed": False,
        "written_statement_provided": True,
        "provisional_credit_eligible": False,
        "customer_max_liability_amount": 50,
        "card_action": "keep_active",
    }


def many_disputes(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    levels = ("Blue", "Green", "Bluest", "Evergreen", "Light Blue")
    accounts = {
        key
        for key, row in table(task, "accounts").items()
        if str(row["level"]).removesuffix(" Account") in levels
    }
    by_account: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for card, row in _bookings(task):
        if row["account_id"] in accounts:
            by_account.setdefault(row["account_id"], []).append((card, row))
    rich = [each for each in by_account.values() if len(each) >= 6]
    chosen = _pick(rng, rich)
    if chosen is None:
        return None
    for card, row in rng.sample(chosen, 6):
        steps = do(steps, task, card["user_id"], DEBIT_DISPUTE, **_debit_dispute(card, row))
    return steps


def other_owner(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    row = rng.choice(_rows(task, "accounts", **{"class": "checking"}))
    user = rng.choice([each for each in _people(task) if each != row["user_id"]])
    steps = known_customer(steps, task, user)
    given = {**_ORDERED, "shipping_address": "1 Main Street, Austin, TX 78701", "user_id": user}
    return do(steps, task, row["user_id"], ORDER, account_id=row["account_id"], **given)


def foreign_records(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    user = _stranger(task, rng)
    steps = steps if customer(task) not in (None, CODE) else known_customer(steps, task, "123")
    if customer(task) == CODE or user == "123":
        return None
    return _add(steps, Do("get_credit_card_accounts_by_user", {"user_id": user}))


def wrong_log(arguments: dict[str, Any], rng: random.Random) -> dict[str, Any] | None:
    field = rng.choice(["address", "email", "phone_number", "date_of_birth"])
    return {**arguments, field: rng.choice(["unknown", "n/a", "", "01/01/1990"])}


def without_clock(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    if customer(task) is None:
        return None
    if rng.random() < 0.5:
        return [each for each in steps if each != Do("get_current_time", {})]
    at = f"2025-11-{rng.randint(10, 30)} 10:{rng.randint(10, 59)}:00 EST"
    return alter(steps, "log_verification", rng, lambda given: {**given, "time_verified": at})


def unknown_person(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    user = _stranger(task, rng)
    if customer(task) == CODE:
        return None
    name = table(task, "users")[user]["name"]
    said = Say("user", f"I am {name}, my id is {user}.")
    call = rng.choice(
        [Do("get_credit_card_accounts_by_user", {"user_id": user}), log_of(task, user)]
    )
    return _add(steps, said, call)


def code_unsaid(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    if CODE in wish(task):
        return None
    fields = ("name", "user_id", "address", "email", "phone_number", "date_of_birth")
    log = Do("log_verification", {**dict.fromkeys(fields, CODE), "time_verified": TIME})
    return _add(steps, Say("user", f"My code is {CODE[: rng.randint(3, 15)]}."), log)


def unlogged(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    if customer(task) is None:
        return None
    return [each for each in steps if arguments_of(each, "log_verification") is None]


def leaked(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    user_id = _stranger(task, rng)
    user = table(task, "users")[user_id]
    secret = user[rng.choice(["email", "phone_number"])]
    if secret in wish(task):
        return None
    new = [
        Do("get_user_information_by_id", {"user_id": user_id}),
        Say("assistant", rng.choice([f"Is it still {secret}?", f"I see {secret} on file."])),
        Say("user", "Yes, it is."),
    ]
    return [steps[0], *new, *steps[1:]]


def guessed_tool(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    tools = [CLOSE_CREDIT, FLAG, MOVE, RAISE, PAY, DENY]
    tool = rng.choice([each for each in tools if not _was_unlocked(steps, each)])
    found = [each for each in steps if not (isinstance(each, Do) and each.name == "KB_search_bm25")]
    return _add(found, Do(UNLOCK, {"agent_tool_name": tool}))


def idle_tool(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    tools = [CLOSE_CREDIT, FLAG, MOVE, RAISE, PAY, DENY, RESET, STATEMENT]
    tool = rng.choice([each for each in tools if not _was_unlocked(steps, each)])
    return _add(steps, *_unlocked(tool))


def unseen_id(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    user = _stranger(task, rng)
    made_up = {"account_id": f"chk_{rng.randint(10**6, 10**7)}", "amount": 5}
    return do(steps, task, user, CHECKING_CREDIT, **made_up, credit_type="fee_refund")


def unspoken(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    """Move money of which nobody spoke."""
    said = " ".join(each.text for each in steps if isinstance(each, Say)).lower()
    if re.search(r"full|whole|entire|remaining|outstanding|total|everything|all |off|rest", said):
        steps = [Say("user", "Hello, I need your help."), *steps[-2:]]
    pairs = [
        (one, other)
        for one in _rows(task, "accounts")
        for other in _rows(task, "accounts", user_id=one["user_id"])
        if one["account_id"] != other["account_id"]
    ]
    one, other = rng.choice(pairs)
    ids = {"source_account_id": one["account_id"], "destination_account_id": other["account_id"]}
    amount = rng.randint(100, 900) + 0.37
    return silently(steps, task, one["user_id"], MOVE, **ids, amount=amount)


def refused(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    tools = (MOVE, PAY, OPEN, ORDER, REPLACE, CLOSE)
    places = [
        at
        for at, each in enumerate(steps)
        if any(arguments_of(each, tool) is not None for tool in tools)
    ]
    if not places:
        return None
    at = rng.choice(places)
    replies = ["No, please leave it as it is.", "No.", "No, I changed my mind.", "Don't do that."]
    return [*steps[: at - 1], Say("user", rng.choice(replies)), *steps[at:]]


def unchosen(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    told = wish(task).lower()
    names = ("Light Blue Account", "Dark Green Account", "Evergreen Account", "Gold Years Account")
    left = [each for each in names if each.removesuffix(" Account").lower() not in told]
    left = [each for each in left if each not in str(steps)]
    name, user = _pick(rng, left), _stranger(task, rng)
    if name is None:
        return None
    given = {"user_id": user, "account_type": "checking", "account_class": name}
    return silently(steps, task, user, OPEN, **given)


def elsewhere(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    row = rng.choice(_free_credit_cards(task))
    ids = {"credit_card_account_id": row["account_id"], "user_id": row["user_id"]}
    address = f"{rng.randint(10, 99)} Nowhere Road, Reno, NV 89501"
    given = {"shipping_address": address, "reason": "damaged"}
    return silently(steps, task, row["user_id"], REPLACE, **ids, **given)


def untold_pin(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    row = rng.choice(_free_cards(task))
    given = {"card_id": row["card_id"], "last_4_digits": row["last_4_digits"], "new_pin": "7038"}
    return silently(steps, task, row["user_id"], RESET, **given)


def told_pin(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    row, pin = rng.choice(_free_cards(task)), rng.choice(["7038", "2905", "8161", "9274"])
    given = {"card_id": row["card_id"], "last_4_digits": row["last_4_digits"], "new_pin": pin}
    steps = do(steps, task, row["user_id"], RESET, **given)
    text = rng.choice(["Your PIN is now {}.", "I set the PIN to {}.", "Done. New PIN: {}"])
    return _add(steps, Say("assistant", text.format(pin)), Say("user", "Thanks."))


def unasked(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    """Dispute without a word about a written statement."""
    quiet = [
        replace(each, text=each.text.replace(_QUESTIONS, "Do you confirm?"))
        if isinstance(each, Say)
        else each
        for each in steps
    ]
    said = " ".join(each.text for each in quiet if isinstance(each, Say))
    choice = _booking(task, rng)
    if choice is None or re.search(r"statement|writ", said, re.I):
        return None
    user, given, _ = choice
    return silently(quiet, task, user, DEBIT_DISPUTE, **given)


def claimed(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    done = [each.arguments.get("agent_tool_name", "") for each in steps if isinstance(each, Do)]
    claims = {
        ("close_", "order_"): "I have closed your account.",
        ("open_bank",): "I've opened the account for you.",
        ("file_",): "I have successfully filed the dispute.",
        ("order_",): "I've ordered a new card for you.",
        ("freeze_",): "I have frozen your card.",
        ("transfer_funds", "pay_"): "I've transferred $250.00 to your savings.",
        ("apply_", "file_"): "I have credited $25.00 to your account.",
    }
    if "submit_cash_back" in str(steps):
        return None
    left = [text for tools, text in claims.items() if not any(d.startswith(tools) for d in done)]
    return _add(steps, Say("assistant", rng.choice(left)), Say("user", "Good."))


def _speaks_of_a_transfer(steps: list[Step]) -> bool:
    return bool(re.search(r"transfer_|human|supervisor|real person|representative", str(steps)))


def handed_over(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    if _speaks_of_a_transfer(steps) or re.search("transfer", wish(task), re.I):
        return None
    reason = rng.choice(["other", "technical_system_error"])
    return _add(steps, Do("transfer_to_human_agents", {"summary": "", "reason": reason}))


def skipped_steps(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    if _speaks_of_a_transfer([each for each in steps if isinstance(each, Do)]):
        return None
    steps = _add(ready(steps, BUSY), *[inner(BUSY)] * rng.randint(1, 2))
    ask = [Say("assistant", "Shall I transfer you?"), Say("user", "Yes, transfer me.")]
    return _add(steps, *ask, Do("transfer_to_human_agents", {"summary": ""}))


def verified_incident(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    user = _stranger(task, rng)
    steps = _add(steps, *identified(task, user), log_of(task, user))
    return _add(ready(steps, EARLY), inner(EARLY))


def _flipped_credit(arguments: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    key = "eligible_for_provisional_credit"
    return {**arguments, key: not arguments[key]}


def _flipped_debit(arguments: dict[str, Any], rng: random.Random) -> dict[str, Any] | None:
    if not arguments["provisional_credit_eligible"]:
        return None
    return {**arguments, "written_statement_provided": False}


def _other_fee(arguments: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    field = rng.choice(["delivery_fee", "design_fee"])
    return {**arguments, field: arguments[field] + rng.choice([5, 10, 20])}


def _excess_fee(arguments: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    return {**arguments, "excess_replacement_fee": rng.choice([10, 15, 25])}


def odd_points(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    rewards = rng.choice(["95", "12.5 points", "$9.50", "many", "95 Points"])
    steps = uncontested(steps, task, rng) or []
    changed = alter(
        steps[-3:], REWARDS, rng, lambda given: {**given, "new_rewards_earned": rewards}
    )
    return [*steps[:-3], *(changed or steps[-3:])]


def _over_limit(row: Mapping[str, Any], rng: random.Random) -> int:
    return int(_money(row["credit_limit"]) * rng.choice([0.6, 0.8, 1.2]))


def _is_young_blue(row: Mapping[str, Any]) -> bool:
    opened = str(row["date_opened"])
    return row["level"] == "Blue Account" and opened[:3] == "11/" and opened.endswith("2025")


def _some(*values: Any) -> Callable[[Mapping[str, Any], random.Random], Any]:
    return lambda row, rng: rng.choice(values)


def _whole(least: int, most: int) -> Callable[[Mapping[str, Any], random.Random], int]:
    return lambda row, rng: rng.randint(least, most)


def _always(row: Mapping[str, Any]) -> bool:
    return True


def _never_left(row: Mapping[str, Any]) -> bool:
    return not str(row["account_id"]).endswith("_green")


def account_with_a_card(steps: list[Step], task: Task, rng: random.Random) -> list[Step] | None:
    carded = {each["account_id"] for each in _free_cards(task)}
    return on_account(CLOSE, lambda row: row["account_id"] in carded)(steps, task, rng)


_ACTIVATION: dict[str, Any] = {
    "last_4_digits": _digits,
    "expiration_date": _expiry,
    "cvv": lambda row, rng: row["cvv"],
    "pin": "7391",
}
_REPORTED: dict[str, Any] = {
    "user_id": lambda row, rng: row["user_id"],
    "expected_apy": 5.0,
    "actual_apy": 4.0,
    "amount_difference": _whole(1, 90),
}

MUTANTS: dict[str, Mutant] = {
    "banking.open.most": too_many_accounts,
    "banking.open.base": for_customer(
        OPEN,
        _has_no_account,
        account_type=["savings", "business_checking"],
        account_class="Gold Account",
    ),
    "banking.open.balance": for_customer(
        OPEN, _is_poor, account_type="business_checking", account_class=["Navy Blue", "Sky Blue"]
    ),
    "banking.open.product": for_customer(
        OPEN,
        lambda task, user: user != customer(task),
        account_type="checking",
        account_class=["Blue", "Gold Account", "Navy Blue", "Green", "Sapphire Account"],
    ),
    "banking.close.fee": on_account(CLOSE, lambda row: _is_old(row) and _held(row) > 0),
    "banking.close.waiver": on_account(CLOSE, _is_young_blue, waive_early_closure_fee=True),
    "banking.close.cards": account_with_a_card,
    "banking.move.accounts": too_much_moved,
    "banking.credit.kind": on_account(
        CHECKING_CREDIT, _is_saving, amount=_whole(1, 50), credit_type="fee_refund"
    ),
    "banking.credit.once": credited_twice,
    "banking.credit.goodwill": on_account(
        SAVINGS_CREDIT, _is_saving, amount=_whole(26, 200), credit_type="goodwill_credit"
    ),
    "banking.credit.read": unread,
    "banking.interest.first": on_account(REPORT, _is_saving, **_REPORTED),
    "banking.interest.amount": other_difference,
    "banking.interest.rates": on_account(REPORT, _is_saving, **{**_REPORTED, "expected_apy": 4.0}),
    "banking.card_order.account": order_for(_is_saving),
    "banking.card_order.balance": order_for(lambda row: _is_checking(row) and _held(row) < 25),
    "banking.card_order.single": second_card,
    "banking.card_order.fees": altered(ORDER, _other_fee),
    "banking.card_order.replaced": altered(ORDER, _excess_fee),
    "banking.card_order.waiting": replaced_at_once,
    "banking.activate.tool": on_card(
        ACTIVATE, lambda row: row["issue_reason"] == "new_account", **_ACTIVATION
    ),
    "banking.activate.card": on_card("activate_debit_card_8291", **_ACTIVATION),
    "banking.activate.details": on_card(
        "activate_debit_card_8291", **{**_ACTIVATION, "cvv": _some("000", "111", "998")}
    ),
    "banking.pin.weak": on_card(
        RESET, last_4_digits=_digits, new_pin=_some("1234", "4321", "7777", "12", "abcd", "6789")
    ),
    "banking.pin.birth": birth_pin,
    "banking.pin.card": frozen_then(RESET, last_4_digits=_digits, new_pin="7391"),
    "banking.freeze.status": on_card(UNFREEZE),
    "banking.alert.clear": on_card(
        "clear_debit_card_fraud_alert_4892",
        lambda row: not row.get("fraud_alert_active") and not row.get("velocity_blocked"),
        reason=_some("velocity_clear", "customer_verified"),
    ),
    "banking.limit_raise.account": frozen_then(RAISE, limit_type="atm", new_limit=_whole(500, 700)),
    "banking.card_close.status": frozen_then(CLOSE_CARD, reason=_some("lost", "damaged")),
    "banking.cc_close.eligible": on_credit_card(CLOSE_CREDIT, _owes),
    "banking.cc_close.retention": on_credit_card(CLOSE_CREDIT, _never_left),
    "banking.cc_close.checked": on_credit_card(CLOSE_CREDIT, _always),
    "banking.retention.eligible": on_credit_card(
        LOG_REASON, _owes, closure_reason=_some("annual_fee", "other")
    ),
    "banking.retention.repeated": on_credit_card(
        LOG_REASON,
        lambda row: row["account_id"] in ("cc_e3f4a5b6c7_green", "cc_h1i2j3k4l5_green"),
        closure_reason=_some("annual_fee", "other", "not_using_card"),
    ),
    "banking.retention.amount": on_credit_card(
        STATEMENT, _always, amount=_some(7, 25, 60, 100), reason="retention_offer"
    ),
    "banking.retention.logged": on_credit_card(
        STATEMENT, _never_left, amount=_some(5, 20, 50), reason="retention_offer"
    ),
    "banking.waiver.terms": on_credit_card(
        FLAG,
        _always,
        flag_type="annual_fee_waived",
        expiration_date=_some("12/31/2026", "11/14/2027", "11/14/2025"),
        reason="loyalty_benefit",
    ),
    "banking.cc_pay.amount": overpaid,
    "banking.cli.most": on_credit_card(ASK, _tiered, requested_increase_amount=_over_limit),
    "banking.cli.denial": on_credit_card(
        DENY, _tiered, denial_reason=_some("past_due_balance", "pending_replacement_card")
    ),
    "banking.cli.submitted": on_credit_card(DENY, _always, denial_reason="other"),
    "banking.cli.amount": undecided,
    "banking.cli.checked": on_credit_card(
        DENY, _always, denial_reason=_some("other", "high_utilization")
    ),
    "banking.cc_replace.pending": replaced_again(2),
    "banking.cc_replace.most": replaced_again(5),
    "banking.rewards.resolved": uncontested,
    "banking.rewards.form": odd_points,
    "banking.dispute.transaction": on_transaction(
        purchase_date=_some("01/02/2024", "02/03/2024", "yesterday")
    ),
    "banking.dispute.customer": on_transaction(phone=_some("000-000-0000", "", "555-1234")),
    "banking.dispute.digits": on_transaction(card_last_4_digits="0000"),
    "banking.dispute.provisional": altered(CREDIT_DISPUTE, _flipped_credit),
    "banking.dispute.refund": on_transaction(
        resolution_requested="partial_refund",
        partial_refund_amount=lambda row, rng: (
            abs(_money(row["transaction_amount"])) + rng.randint(1, 99)
        ),
    ),
    "banking.dispute.noticed": on_transaction(issue_noticed_date=_some("01/01/2020", "12/24/2025")),
    "banking.debit_dispute.transaction": on_booking(
        disputed_amount=lambda row, rng: -row["amount"] + rng.randint(1, 50)
    ),
    "banking.debit_dispute.most": many_disputes,
    "banking.debit_dispute.action": on_booking(
        card_action=_some("close_and_reissue", "freeze_pending_investigation")
    ),
    "banking.debit_dispute.type": on_booking(
        dispute_category=_some("atm_cash_discrepancy", "card_not_present_fraud")
    ),
    "banking.debit_dispute.provisional": altered(DEBIT_DISPUTE, _flipped_debit),
    "banking.debit_dispute.liability": on_booking(
        customer_max_liability_amount=_some(1, 75, 250, 1000)
    ),
    "banking.record.owner": other_owner,
    "banking.identity.own": foreign_records,
    "banking.identity.record": altered("log_verification", wrong_log),
    "banking.identity.time": without_clock,
    "banking.identity.first": unknown_person,
    "banking.identity.code": code_unsaid,
    "banking.identity.logged": unlogged,
    "banking.identity.leak": leaked,
    "banking.tool.found": guessed_tool,
    "banking.tool.used": idle_tool,
    "banking.record.known": unseen_id,
    "banking.confirm.amount": unspoken,
    "banking.confirm.refused": refused,
    "banking.confirm.product": unchosen,
    "banking.confirm.address": elsewhere,
    "banking.told.secrets": untold_pin,
    "banking.pin.told": told_pin,
    "banking.dispute.asked": unasked,
    "banking.claim.done": claimed,
    "banking.transfer.asked": handed_over,
    "banking.transfer.steps": skipped_steps,
    "banking.incident.unverified": verified_incident,
}


Staged = Callable[[Task, random.Random], tuple[Task, list[Step]]]


def with_row(task: Task, name: str, key: str, **changes: Any) -> dict[str, Any]:
    """The task, with other values in a record with which it begins."""
    changed: dict[str, Any] = json.loads(json.dumps(task))
    start = changed.get("initial_state") or {}
    data = start.get("initialization_data") or {}
    tables = data.get("agent_data") or {}
    rows = (tables.get(name) or {}).get("data") or {}
    new = {**table(task, name).get(key, {}), **changes}
    tables = {**tables, name: {**(tables.get(name) or {}), "data": {**rows, key: new}}}
    start = {**start, "initialization_data": {**data, "agent_data": tables}}
    return {**changed, "initial_state": start}


def staged_for_account(
    mutant: Callable[[Mapping[str, Any]], Mutant],
    pick: Callable[[Mapping[str, Any]], bool],
    stage: Callable[[Task, Mapping[str, Any], random.Random], Task],
) -> Staged:
    """Make a change of the records of an account that fits, and the call that must not follow."""

    def change(task: Task, rng: random.Random) -> tuple[Task, list[Step]]:
        rows = [each for each in _rows(task, "accounts") if pick(each)]
        row = rng.choice([each for each in rows if each["user_id"] != customer(task)])
        changed = stage(task, row, rng)
        steps = mutant(row)(clean_steps(changed), changed, rng)
        assert steps is not None
        return changed, steps

    return change


def _of(row: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], bool]:
    return lambda each: each["account_id"] == row["account_id"]


def _opening(kind: str, *names: str) -> Callable[[Mapping[str, Any]], Mutant]:
    return lambda row: for_customer(
        OPEN,
        lambda task, user: user == row["user_id"],
        account_type=kind,
        account_class=[*names],
    )


def _young(task: Task, row: Mapping[str, Any], rng: random.Random) -> Task:
    born = f"0{rng.randint(1, 9)}/1{rng.randint(0, 9)}/{rng.randint(2008, 2015)}"
    return with_row(task, "users", row["user_id"], date_of_birth=born)


def _abroad(task: Task, row: Mapping[str, Any], rng: random.Random) -> Task:
    address = rng.choice(["12 High Street, London SW1A 1AA", "7 Rue Cler, Paris 75007, France"])
    return with_row(task, "users", row["user_id"], address=address)


def _account(**changes: Any) -> Callable[[Task, Mapping[str, Any], random.Random], Task]:
    return lambda task, row, rng: with_row(task, "accounts", row["account_id"], **changes)


def _booked(kind: str, status: str) -> Callable[[Task, Mapping[str, Any], random.Random], Task]:
    def stage(task: Task, row: Mapping[str, Any], rng: random.Random) -> Task:
        key = f"btxn_{rng.randint(10**6, 10**7)}"
        fields = {"transaction_id": key, "account_id": row["account_id"], "type": kind}
        fields |= {"date": f"11/{rng.randint(10, 13)}/2025", "description": "SOMETHING"}
        table_name = "bank_account_transaction_history"
        return with_row(task, table_name, key, **fields, amount=-35.0, status=status)

    return stage


def _with_business_savings(task: Task, row: Mapping[str, Any], rng: random.Random) -> Task:
    task = with_row(
        task, "accounts", row["account_id"], **{"class": "business_checking", "level": "Navy Blue"}
    )
    key = f"biz_{rng.randint(10**6, 10**7)}"
    fields = {"account_id": key, "user_id": row["user_id"], "class": "business_savings"}
    fields |= {"level": "Bronze Saver Account", "date_opened": "01/02/2024", "status": "OPEN"}
    return with_row(task, "accounts", key, **fields, current_holdings="10.00")


def staged_for_card(
    tool: str,
    stage: Callable[[Task, Mapping[str, Any], random.Random], Task],
    **more: Any,
) -> Staged:
    """Make a change of the records of a debit card, and the call that must not follow."""

    def change(task: Task, rng: random.Random) -> tuple[Task, list[Step]]:
        row = rng.choice(_free_cards(task))
        changed = stage(task, row, rng)
        own = on_card(tool, lambda each: each["card_id"] == row["card_id"], **more)
        steps = own(clean_steps(changed), changed, rng)
        assert steps is not None
        return changed, steps

    return change


def _card(**changes: Any) -> Callable[[Task, Mapping[str, Any], random.Random], Task]:
    return lambda task, row, rng: with_row(
        task,
        "debit_cards",
        row["card_id"],
        **{key: value(row, rng) if callable(value) else value for key, value in changes.items()},
    )


def used_up(task: Task, rng: random.Random) -> tuple[Task, list[Step]]:
    """Approve a higher limit of a card that is nearly used up, or too young."""
    row = rng.choice(_free_credit_cards(task))
    bad = rng.choice([{"current_balance": "$950.00"}, {"date_of_account_open": "11/01/2025"}])
    changed = with_row(
        task, "credit_card_accounts", row["account_id"], **{"credit_limit": "$1,000.00", **bad}
    )
    own = on_credit_card(APPROVE, _of(row), new_credit_limit=1100)
    steps = own(clean_steps(changed), changed, rng)
    assert steps is not None
    return changed, steps


def staged_dispute(
    stage: Callable[[Task, Mapping[str, Any], random.Random], Task], **more: Any
) -> Staged:
    """Make a change of the records of a booking, and the dispute that must not follow."""

    def change(task: Task, rng: random.Random) -> tuple[Task, list[Step]]:
        card, row = rng.choice(_bookings(task))
        changed = stage(task, row, rng)
        row = table(changed, "bank_account_transaction_history")[row["transaction_id"]]
        given = {**_debit_dispute(card, row), **more}
        steps = do(clean_steps(changed), changed, card["user_id"], DEBIT_DISPUTE, **given)
        return changed, steps

    return change


def _old_booking(task: Task, row: Mapping[str, Any], rng: random.Random) -> Task:
    date = f"0{rng.randint(1, 8)}/15/2025"
    name = "bank_account_transaction_history"
    return with_row(task, name, row["transaction_id"], date=date)


def _first_booking(task: Task, row: Mapping[str, Any], rng: random.Random) -> Task:
    """A charge of the day before, which is the same."""
    key = f"btxn_{rng.randint(10**6, 10**7)}"
    name = "bank_account_transaction_history"
    task = with_row(task, name, row["transaction_id"], date="11/09/2025")
    return with_row(task, name, key, **{**row, "transaction_id": key, "date": "11/08/2025"})


def _moved_card(task: Task, row: Mapping[str, Any], rng: random.Random) -> Task:
    cards = [each for each in _free_cards(task) if each["account_id"] == row["account_id"]]
    return with_row(task, "debit_cards", cards[0]["card_id"], account_id="01")


STAGED_MUTANTS: dict[str, Staged] = {
    "banking.open.age": staged_for_account(
        _opening("checking", "Blue Account", "Purple Account"), _is_checking, _young
    ),
    "banking.open.standing": staged_for_account(
        _opening("savings", "Gold Account"), _is_checking, _account(current_holdings="-12.50")
    ),
    "banking.close.open": staged_for_account(
        lambda row: on_account(CLOSE, _of(row)), _is_checking, _account(status="CLOSED")
    ),
    "banking.close.pending": staged_for_account(
        lambda row: on_account(CLOSE, _of(row)), _is_checking, _booked("bill_pay", "pending")
    ),
    "banking.close.linked": staged_for_account(
        lambda row: on_account(CLOSE, _of(row)), _is_checking, _with_business_savings
    ),
    "banking.card_order.age": staged_for_account(
        lambda row: order_for(_of(row)), _is_checking, _young
    ),
    "banking.card_order.address": staged_for_account(
        lambda row: order_for(_of(row)), _is_checking, _abroad
    ),
    "banking.pin.hold": staged_for_card(
        RESET,
        _card(pin_locked=True, pin_lock_reason="security_hold"),
        last_4_digits=_digits,
        new_pin="7391",
    ),
    "banking.limit_raise.overdraft": staged_for_card(
        RAISE, _booked("overdraft_fee", "posted"), limit_type="atm", new_limit=_whole(500, 700)
    ),
    "banking.limit_raise.most": staged_for_card(
        RAISE, _card(daily_atm_limit=400), limit_type="atm", new_limit=_whole(601, 2000)
    ),
    "banking.card_close.age": staged_for_card(
        CLOSE_CARD,
        _card(issue_date=_some("11/05/2025", "11/10/2025", "11/13/2025")),
        reason=_some("no_longer_needed", "damaged"),
    ),
    "banking.card_close.pending": staged_for_card(
        CLOSE_CARD, _booked("debit_card_purchase", "pending"), reason="no_longer_needed"
    ),
    "banking.cli.eligible": used_up,
    "banking.debit_dispute.eligible": staged_dispute(_old_booking),
    "banking.debit_dispute.earliest": staged_dispute(
        _first_booking, dispute_category="duplicate_charge", provisional_credit_eligible=True
    ),
    "banking.debit_dispute.card": staged_dispute(_moved_card),
}
