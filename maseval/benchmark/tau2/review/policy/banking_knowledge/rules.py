"""The bank's policy as rules.

They are about dealing with a customer: whose records, what was read, what was said, transfers. Who
may have which account or card, and what a write says, has no rule: the verdict compares all that is
written. Two rules are kept all the same, because reference solutions break them.

A tool that is found by reading is called through another one. A rule names the tool that does the
work, and sees that tool's arguments, however it is called. What is not on record is an empty row or
not a number, which no limit is above or below: so a demand about it is not broken.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any

from maseval.benchmark.tau2.domains.banking_knowledge.debit_card_use import ACTIVATED_BY
from maseval.benchmark.tau2.domains.banking_knowledge.desk import NOW
from maseval.benchmark.tau2.domains.banking_knowledge.models import BankingDB, Row
from maseval.benchmark.tau2.review.policy.rules import (
    Answer,
    Broken,
    CannotTell,
    Kind,
    Policy,
    inner_call,
    rules_in,
)
from maseval.benchmark.tau2.review.talk import CallMade, CallMoment, Talk
from maseval.benchmark.tau2.review.values import bare, has_date, has_spoken_numbers, is_said

_IDENTITY = "Additional Instructions: Authenticating Users"
_GUIDELINES = "Guidelines"
_CREDITS = (
    "apply_checking_account_credit_5829",
    "apply_savings_account_credit_6831",
    "submit_interest_discrepancy_report_7294",
)
_ORDER, _CLOSE_CARD = "order_debit_card_5739", "close_debit_card_4721"
_FREEZE = "freeze_debit_card_3892"
_DISPUTE = "file_debit_card_transaction_dispute_6281"
_ORDERS, _HISTORY = "get_pending_replacement_orders_5765", "get_bank_account_transactions_9173"
_DISPUTES = "get_user_dispute_history_7291"
_DECIDING = (_ORDERS, "get_credit_limit_increase_history_4829", "get_payment_history_6183")
_READ_BEFORE = {
    "close_credit_card_account_7834": (_ORDERS, "get_closure_reason_history_8293"),
    "approve_credit_limit_increase_5847": _DECIDING,
    "deny_credit_limit_increase_5848": _DECIDING,
}
_WRITES = frozenset(
    {
        *_CREDITS,
        _ORDER,
        _CLOSE_CARD,
        _FREEZE,
        _DISPUTE,
        *_READ_BEFORE,
        *ACTIVATED_BY,
        "open_bank_account_4821",
        "close_bank_account_7392",
        "change_user_email",
        "log_credit_card_closure_reason_4521",
        "apply_statement_credit_8472",
        "apply_credit_card_account_flag_6147",
        "submit_credit_limit_increase_request_7392",
        "order_replacement_credit_card_7291",
        "set_debit_card_recurring_block_7382",
        "file_credit_card_transaction_dispute_4829",
        "unfreeze_debit_card_3893",
        "transfer_funds_between_bank_accounts_7291",
        "pay_credit_card_from_checking_9182",
        "reset_debit_card_pin_6284",
        "change_debit_card_pin_6285",
        "clear_debit_card_fraud_alert_4892",
        "update_transaction_rewards_3847",
        "request_temporary_debit_card_limit_increase_8374",
    }
)
_READS = frozenset(
    {
        "get_referrals_by_user",
        "get_credit_card_transactions_by_user",
        _HISTORY,
        *_DECIDING,
        "get_credit_card_accounts_by_user",
        "get_all_user_accounts_by_user_id_3847",
        "get_debit_cards_by_account_id_7823",
        "get_debit_dispute_status_7483",
        _DISPUTES,
        "get_closure_reason_history_8293",
        "get_atm_deposit_images_8473",
    }
)
_CARRIED_OUT_BY = {
    "close_and_reissue": (_CLOSE_CARD,),
    "freeze_pending_investigation": (_FREEZE, _CLOSE_CARD),
}
# Only the accounts of this tier have to wait for another card.
_ENTRY_TIER = ("Light Blue Account", "Light Green Account", "Green Fee-Free Account")
_DATES = ("%m/%d/%Y", "%Y-%m-%d", "%m/%d/%Y %H:%M:%S")
_CODE = "9K2X7M4P1N8Q3R5T6A"
_DAY = "2025-11-14"
_TABLES = {
    **dict.fromkeys(
        ("account_id", "source_account_id", "destination_account_id", "checking_account_id"),
        "accounts",
    ),
    **{"card_id": "debit_cards", "credit_card_account_id": "credit_card_accounts"},
}
_BOOKINGS = ("credit_card_transaction_history", "bank_account_transaction_history")
_LOG = "log_verification"


class BankCall(CallMoment):
    """A call of the bank's agent: the tool that does the work, and the records it is about."""

    @property
    def tool(self) -> str:
        return inner_call(self.call)[0]

    @property
    def arguments(self) -> Mapping[str, Any]:
        return inner_call(self.call)[1]

    @property
    def db(self) -> BankingDB:
        db: BankingDB = self.tools.db
        return db

    def row(self, table: str, field: str) -> Row:
        return find_row(self.db, table, self.arguments.get(field))

    @cached_property
    def earlier(self) -> list[tuple[str, Mapping[str, Any], CallMade]]:
        """The calls that were made before, by the tool that did the work."""
        return [(*inner_call(made.call), made) for made in self.earlier_calls]

    def has_read(self, tool: str, **arguments: object) -> bool:
        """Return True if a tool answered before, with these arguments."""
        return any(
            name == tool and not made.failed and arguments.items() <= given.items()
            for name, given, made in self.earlier
        )


bank = Policy("banking", BankCall)


def find_row(db: BankingDB, table: str, key: object) -> Row:
    """Return a record by its id; an empty one for what is no id of one."""
    rows = db.table(table)
    row: Row = rows.view(key) if isinstance(key, str) and key in rows else {}
    return row


def rows_with(db: BankingDB, table: str, field: str, value: object) -> list[Row]:
    return [row for row in db.table(table).values() if row.get(field) == value]


@lru_cache(maxsize=4096)
def read_date(text: str) -> datetime | None:
    for form in _DATES:
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    return None


def days_since(value: object) -> float:
    date = read_date(str(value))
    return math.nan if date is None else (NOW - date).days


def recent(rows: Iterable[Row], days: int, field: str) -> list[Row]:
    return [row for row in rows if days_since(row.get(field)) <= days]


# A child's account is its parent's too.
def _owners(db: BankingDB, arguments: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    rows = {field: find_row(db, table, arguments.get(field)) for field, table in _TABLES.items()}
    for table in _BOOKINGS:
        if row := find_row(db, table, arguments.get("transaction_id")):
            rows["transaction_id"] = find_row(db, "accounts", row.get("account_id")) or row
    found = {}
    for field, row in rows.items():
        parent = find_row(db, "accounts", row.get("parent_account_id"))
        if row:
            people = (str(each.get("user_id")) for each in (row, parent) if each)
            found[field] = frozenset(people)
    user = arguments.get("user_id")
    if isinstance(user, str) and user in db.users:
        found["user_id"] = frozenset({user})
    return found


def _verified_users(db: BankingDB) -> set[str]:
    rows = db.verification_history.values()
    return {str(r.get("user_id")) for r in rows if str(r.get("time_verified")).startswith(_DAY)}


@bank.state("identity.own", _IDENTITY, *(_WRITES | _READS))
def check_own_records(call: BankCall) -> Iterator[Answer]:
    """The records of the customer who was verified are read and changed, and nobody else's."""
    verified = _verified_users(call.db)
    if not verified or _CODE in verified:
        return
    for field, people in _owners(call.db, call.arguments).items():
        if not people & verified:
            yield Broken(f"{call.arguments.get(field)} is not the verified customer's")


@bank.talk("identity.logged", _IDENTITY)
def check_logged(talk: Talk) -> Iterator[Answer]:
    """A verification is logged in a conversation in which records are opened or changed."""
    made = [(inner_call(each.call)[0], each) for each in talk.calls if not each.failed]
    opened = [each for name, each in made if name in _WRITES | _READS]
    if opened and not any(name == _LOG for name, _ in made):
        yield Broken("no verification was logged", message_index=opened[0].message_index)


_TOOLS = "Additional Instructions: Discoverable Tools"
_INCIDENT = "Backend incident 11/13 (internal)"
_TRANSFER = "transfer_to_human_agents"
_UNLOCK, _GIVE = "unlock_discoverable_agent_tool", "give_discoverable_user_tool"
_BUSY, _EARLY = "initial_transfer_to_human_agent_0218", "initial_transfer_to_human_agent_1822"
_SEARCHES = ("KB_search", "grep", "KB_search_bm25", "KB_search_dense", "shell")
_IDS = (*_TABLES, "transaction_id", "user_id")


@bank.flow("tool.found", _TOOLS, _UNLOCK, _GIVE)
def check_tool_found(call: BankCall) -> Iterator[Answer]:
    """A tool is unlocked or given after the knowledge base named it."""
    name = call.text("agent_tool_name") or call.text("discoverable_tool_name")
    # Variants without a search give the agent its documents at once, or none.
    if not any(call.tools.has_tool(each) for each in _SEARCHES):
        return
    answers = [made.answer for tool, _, made in call.earlier if tool in _SEARCHES]
    if not any(name and name in answer for answer in answers):
        yield Broken(f"no document that was read names {name}")


@bank.talk("tool.used", _TOOLS, kind=Kind.FORM)
def check_tool_used(talk: Talk) -> Iterator[Answer]:
    """A tool that the agent unlocks is a tool that it uses."""
    called = {inner_call(each.call)[0] for each in talk.calls}
    for made in talk.calls:
        name = made.call["arguments"].get("agent_tool_name")
        if made.call["name"] != _UNLOCK or made.failed or name in called:
            continue
        later = [each for each in talk.user if each.message_index > made.message_index]
        if len(later) > 1:  # the last word may be a goodbye
            yield CannotTell(f"{name} was unlocked, and the customer may have changed the plan")
        else:
            yield Broken(f"{name} was unlocked and never used", message_index=made.message_index)


@bank.flow("record.known", f"{_GUIDELINES}: 1", *_WRITES)
def check_known(call: BankCall) -> Iterator[Answer]:
    """The ids in a change were read or said before."""
    answers = (made.answer for _, _, made in call.earlier)
    known = "\n".join((call.user_said, *answers))
    for field in _IDS:
        value = call.arguments.get(field)
        if not isinstance(value, str) or not value or value in known:
            continue
        if is_said(value, call.user_said):
            continue
        if has_spoken_numbers(call.user_said):
            yield CannotTell(f"{value} may have been read out")
        else:
            yield Broken(f"{value} was neither read nor said before")


@bank.flow(
    "card.checked",
    "Credit limit increases, closing and retention of credit cards (internal)",
    *_READ_BEFORE,
)
def check_records_read(call: BankCall) -> Iterator[Answer]:
    """Disputes, orders and the card's history are looked up before it is decided about."""
    card, wanted = call.arguments.get("credit_card_account_id"), _READ_BEFORE[call.tool]
    unread = [each for each in wanted if not call.has_read(each, credit_card_account_id=card)]
    if not call.has_read(_DISPUTES, user_id=call.arguments.get("user_id")):
        unread.append(_DISPUTES)
    if unread:
        yield Broken(f"not looked up before the decision: {', '.join(unread)}")


@bank.form("transfer.steps", f"Purchase declines; {_INCIDENT}", _TRANSFER, _BUSY, _EARLY)
def check_transfer_steps(call: BankCall) -> Iterator[Answer]:
    """A transfer that goes by steps takes all of them, in order."""
    made = [name for name, _, each in call.earlier if not each.failed]
    busy, early = made.count(_BUSY), made.count(_EARLY)
    if call.tool == _EARLY:
        if busy or early:
            yield Broken(f"{_EARLY} comes first, and once")
    elif call.tool == _BUSY:
        if busy >= (1 if early else 3):
            yield Broken(f"{_BUSY} was called {busy} times already")
    elif early and not busy:
        yield Broken(f"{_BUSY} is still to be called")
    elif busy and not early and busy < 3:
        yield Broken(f"{_BUSY} was called {busy} times of three")


@bank.state("referral.window", "Credit card referral offers: weekly limit", _GIVE)
def check_referrals(call: BankCall) -> Iterator[Answer]:
    """No referral link is given to who has had two bonuses within a week."""
    if call.text("discoverable_tool_name") != "get_referral_link":
        return
    for user in _verified_users(call.db):
        rows = rows_with(call.db, "referrals", "referrer_id", user)
        paid = [each for each in rows if each.get("referral_status") == "COMPLETE"]
        # Today is one of the seven days, so the first of them was six days ago.
        count = len(recent(paid, 6, "date"))
        if count > 1:
            yield Broken(f"{count} referrals of the last 7 days were paid, and 2 are allowed")


@bank.flow("credit.read", "Applying credits (internal): transaction history", *_CREDITS)
def check_history_read(call: BankCall) -> Iterator[Answer]:
    """The bookings of an account are read before a credit or a report about it."""
    account_id = call.arguments.get("account_id")
    if not call.has_read(_HISTORY, account_id=account_id):
        yield Broken(f"the bookings of {account_id} were not read before")


@bank.state("card_order.waiting", "Debit card replacement by tier (internal): waiting", _ORDER)
def check_waiting(call: BankCall) -> Iterator[Answer]:
    """A card of the entry tier is replaced 48 hours after it was closed."""
    cards = rows_with(call.db, "debit_cards", "account_id", call.arguments.get("account_id"))
    level = call.row("accounts", "account_id").get("level")
    # Dates have no hours: only a card closed yesterday or today is surely within 48 hours.
    for card in recent(cards, 1, "closed_date"):
        if card.get("status") == "CLOSED" and level in _ENTRY_TIER:
            yield Broken(f"card {card.get('card_id')} was closed on {card.get('closed_date')}")


@bank.state("debit_dispute.action", "Filing a debit card dispute (internal): card action", _DISPUTE)
def check_card_action(call: BankCall) -> Iterator[Answer]:
    """The card action of a dispute is carried out by a call of its own."""
    card, action = call.row("debit_cards", "card_id"), call.text("card_action")
    wanted = _CARRIED_OUT_BY.get(action)
    if wanted is None or not card or card.get("status") in ("FROZEN", "CLOSED"):
        return
    made = [inner_call(each.call) for each in call.talk.calls if not each.failed]
    if not any(name in wanted and call.text("card_id") == e.get("card_id") for name, e in made):
        yield Broken(f"the dispute says {action}, and the card was left as it was")


@bank.protocol("identity.facts", _IDENTITY, _LOG)
def check_facts(call: BankCall) -> Iterator[Answer]:
    """A customer is verified by two of birth date, email, phone number and address."""
    user = call.row("users", "user_id")
    if not user:
        return
    said, born = call.user_said.lower(), read_date(str(user.get("date_of_birth")))
    # The last ten digits leave out the country code, which people may omit.
    digits, phone = bare(said), bare(str(user.get("phone_number")))[-10:]
    # House number and first word are enough, because the rest can be written in many ways.
    street = str(user.get("address")).lower().split()[:2]
    facts = (
        bare(str(user.get("email"))) in digits,
        phone in digits,
        born is not None and has_date(said, f"{born:%Y-%m-%d}"),
        all(word.strip(",") in said for word in street),
    )
    if sum(facts) < 2:
        text = f"the customer gave {sum(facts)} of the two facts that are needed"
        yield CannotTell(text) if has_spoken_numbers(said) else Broken(text)


RULES = rules_in(globals())
