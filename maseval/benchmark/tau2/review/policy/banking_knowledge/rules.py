"""The bank's policy as rules; ``statements.json`` says what of policy and documents they cover.

Here are those on dealing with a customer: whose records, what was read, transfers.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from maseval.benchmark.tau2.domains.banking_knowledge.debit_card_use import ACTIVATED_BY
from maseval.benchmark.tau2.domains.banking_knowledge.models import BankingDB
from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.banking_knowledge import account_rules, card_rules
from maseval.benchmark.tau2.review.policy.banking_knowledge.card_rules import (
    APPROVE,
    CLOSE_CREDIT,
    CLOSING,
    DENY,
    LIMIT,
    RETENTION,
)
from maseval.benchmark.tau2.review.policy.banking_knowledge.records import (
    BankCall,
    bank,
    find_row,
    inner_call,
    is_same,
    read_date,
    recent,
    rows_with,
)
from maseval.benchmark.tau2.review.policy.confirming import declines, is_unclear, transfer_is_wanted
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, CannotTell, rules_in
from maseval.benchmark.tau2.review.policy.told import only_done_is_claimed
from maseval.benchmark.tau2.review.talk import Talk
from maseval.benchmark.tau2.review.words import MONTHS

_IDENTITY = "Additional Instructions: Authenticating Users"
GUIDELINES = "Guidelines"
_RULES = rules_in(vars(account_rules), vars(card_rules))
BANK_WRITES = frozenset(
    {
        *(tool for rule in _RULES for tool in rule.tools),
        *("change_user_email", "transfer_funds_between_bank_accounts_7291"),
        *("freeze_debit_card_3892", "unfreeze_debit_card_3893", *ACTIVATED_BY),
        *("reset_debit_card_pin_6284", "change_debit_card_pin_6285"),
        *("clear_debit_card_fraud_alert_4892", "pay_credit_card_from_checking_9182"),
        *("request_temporary_debit_card_limit_increase_8374", "update_transaction_rewards_3847"),
    }
)
_READS = frozenset(
    {
        *("get_referrals_by_user", "get_credit_card_transactions_by_user"),
        *("get_credit_card_accounts_by_user", "get_all_user_accounts_by_user_id_3847"),
        *("get_bank_account_transactions_9173", "get_debit_cards_by_account_id_7823"),
        *("get_debit_dispute_status_7483", "get_user_dispute_history_7291"),
        *("get_pending_replacement_orders_5765", "get_closure_reason_history_8293"),
        *("get_credit_limit_increase_history_4829", "get_payment_history_6183"),
        "get_atm_deposit_images_8473",
    }
)
_NUMBER = re.compile(r"\d{1,4}")
_CODE = "9K2X7M4P1N8Q3R5T6A"
_DAY = "2025-11-14"
_LOGGED = ("name", "address", "email", "phone_number", "date_of_birth")
TABLES = {
    "account_id": "accounts",
    "source_account_id": "accounts",
    "destination_account_id": "accounts",
    "checking_account_id": "accounts",
    "card_id": "debit_cards",
    "credit_card_account_id": "credit_card_accounts",
}
_BOOKINGS = ("credit_card_transaction_history", "bank_account_transaction_history")
LOG = "log_verification"
_DISPUTES, _ORDERS = "get_user_dispute_history_7291", "get_pending_replacement_orders_5765"
_READ_BEFORE = {
    CLOSE_CREDIT: (_ORDERS, "get_closure_reason_history_8293"),
    **dict.fromkeys(
        (APPROVE, DENY),
        (_ORDERS, "get_credit_limit_increase_history_4829", "get_payment_history_6183"),
    ),
}


def _owners(db: BankingDB, arguments: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Return to whom the records belong that a call names; a parent owns a child's account too."""
    rows = {field: find_row(db, table, arguments.get(field)) for field, table in TABLES.items()}
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


@bank.state("record.owner", "each internal procedure: ownership", *BANK_WRITES)
def check_owner(call: BankCall) -> Iterator[Answer]:
    """All records that a call names belong to one customer."""
    owners = _owners(call.db, call.arguments)
    if owners and not frozenset.intersection(*owners.values()):
        values = {field: sorted(people) for field, people in owners.items()}
        yield Broken("the records belong to different customers", values)


def _verified_users(db: BankingDB) -> set[str]:
    """Return the customers whose verification was logged today."""
    rows = db.verification_history.values()
    return {str(r.get("user_id")) for r in rows if str(r.get("time_verified")).startswith(_DAY)}


@bank.state("identity.own", _IDENTITY, *(BANK_WRITES | _READS))
def check_own_records(call: BankCall) -> Iterator[Answer]:
    """The records of the customer who was verified are read and changed, and nobody else's."""
    verified = _verified_users(call.db)
    if not verified or _CODE in verified:
        return
    for field, people in _owners(call.db, call.arguments).items():
        if not people & verified:
            yield Broken(f"{call.arguments.get(field)} is not the verified customer's")


@bank.state("identity.record", _IDENTITY, LOG)
def check_log(call: BankCall) -> Iterator[Answer]:
    """A verification is logged with the customer's data as on record."""
    given, user = call.arguments, call.user
    if given.get("user_id") == _CODE:
        wrong = ", ".join(field for field in _LOGGED if given.get(field) != _CODE)
        if wrong:
            yield Broken(f"personal data is logged together with the bypass code: {wrong}")
    elif not user:
        yield Broken(f"there is no customer {given.get('user_id')!r}")
    for field in _LOGGED if user else ():
        if not is_same(given.get(field), user.get(field)):
            named, known = field.replace("_", " "), user.get(field)
            yield Broken(f"the {named} on record is {known}, not {given.get(field)}")


@bank.flow("identity.time", f"{GUIDELINES}: 4", LOG)
def check_log_time(call: BankCall) -> Iterator[Answer]:
    """The time of a verification is the one that the clock gave before."""
    given = call.text("time_verified")
    answers = [made.answer for name, _, made in call.earlier if name == "get_current_time"]
    if not answers:
        yield Broken("the time was not looked up before")
    elif not any(given and given in answer for answer in answers):
        yield Broken(f"{given} is not the time that was looked up")


@bank.talk("identity.logged", _IDENTITY, words=False)
def check_logged(talk: Talk) -> Iterator[Answer]:
    """A verification is logged in a conversation in which records are opened or changed."""
    made = [(inner_call(each.call)[0], each) for each in talk.calls if not each.failed]
    opened = [each for name, each in made if name in BANK_WRITES | _READS]
    if opened and not any(name == LOG for name, _ in made):
        yield Broken("no verification was logged", message_index=opened[0].message_index)


_TOOLS = "Additional Instructions: Discoverable Tools"
_INCIDENT = "Backend incident 11/13 (internal)"

_TRANSFER = "transfer_to_human_agents"
_UNLOCK, _GIVE = "unlock_discoverable_agent_tool", "give_discoverable_user_tool"
_BUSY, _EARLY = "initial_transfer_to_human_agent_0218", "initial_transfer_to_human_agent_1822"
_SEARCHES = ("KB_search", "grep", "KB_search_bm25", "KB_search_dense", "shell")
_IDS = (*TABLES, "transaction_id", "user_id")


@bank.flow("tool.found", _TOOLS, _UNLOCK, _GIVE)
def check_tool_found(call: BankCall) -> Iterator[Answer]:
    """A tool is unlocked or given after the knowledge base named it."""
    name = call.text("agent_tool_name") or call.text("discoverable_tool_name")
    if not any(call.moment.tools.has_tool(each) for each in _SEARCHES):
        return
    answers = [made.answer for tool, _, made in call.earlier if tool in _SEARCHES]
    if not any(name and name in answer for answer in answers):
        yield Broken(f"no document that was read names {name}")


@bank.talk("tool.used", _TOOLS, words=False)
def check_tool_used(talk: Talk) -> Iterator[Answer]:
    """A tool that the agent unlocks is a tool that it uses."""
    called = {inner_call(each.call)[0] for each in talk.calls}
    for made in talk.calls:
        name = made.call["arguments"].get("agent_tool_name")
        if made.call["name"] != _UNLOCK or made.failed or name in called:
            continue
        later = [each.lower for each in talk.user if each.message_index > made.message_index]
        if any(
            phrases.SAYS_NO.match(each.strip()) or phrases.TURNS_DOWN.search(each) for each in later
        ):
            yield CannotTell(f"{name} was unlocked, and the customer may have changed the plan")
        else:
            yield Broken(f"{name} was unlocked and never used", message_index=made.message_index)


@bank.flow("record.known", f"{GUIDELINES}: 1", *BANK_WRITES)
def check_known(call: BankCall) -> Iterator[Answer]:
    """The ids in a change were read or said before."""
    answers = (made.answer for _, _, made in call.earlier)
    known = "\n".join((call.moment.user_said, *answers))
    for field in _IDS:
        value = call.arguments.get(field)
        if isinstance(value, str) and value and value not in known:
            yield Broken(f"{value} was neither read nor said before")


@bank.flow("card.checked", f"{LIMIT}: step 2; {CLOSING}; {RETENTION}", *_READ_BEFORE)
def check_records_read(call: BankCall) -> Iterator[Answer]:
    """Disputes, orders and the card's history are looked up before it is decided about."""
    card, wanted = call.arguments.get("credit_card_account_id"), _READ_BEFORE[call.name]
    missing = [each for each in wanted if not call.has_read(each, credit_card_account_id=card)]
    if not call.has_read(_DISPUTES, user_id=call.arguments.get("user_id")):
        missing.append(_DISPUTES)
    if missing:
        yield Broken(f"not looked up before the decision: {', '.join(missing)}")


@bank.protocol(
    "transfer.steps", f"Purchase declines; {_INCIDENT}", _TRANSFER, _BUSY, _EARLY, words=False
)
def check_transfer_steps(call: BankCall) -> Iterator[Answer]:
    """A transfer that goes by steps takes all of them, in order."""
    made = [name for name, _, each in call.earlier if not each.failed]
    busy, early = made.count(_BUSY), made.count(_EARLY)
    if call.name == _EARLY:
        if busy or early:
            yield Broken(f"{_EARLY} comes first, and once")
    elif call.name == _BUSY:
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
        count = len(recent(paid, 6, "date"))
        if count > 1:
            yield Broken(f"{count} referrals of the last 7 days were paid, and 2 are allowed")


def _act(tool: str) -> re.Pattern[str] | None:
    """Return the words for a tool that works for a customer who wants it."""
    return None if tool == account_rules.REPORT else phrases.BANK_ACTS.get(tool.partition("_")[0])


@bank.protocol("write.yes", f"{GUIDELINES}: 1; each internal procedure", *filter(_act, BANK_WRITES))
def check_agreement(call: BankCall) -> Iterator[Answer]:
    """Nothing is done for the customer to which the customer's last word was no."""
    act = _act(call.name)
    for question, reply in call.moment.exchanges():
        if act and "?" in question.text and act.search(question.lower):
            if declines(question, reply, call.moment):
                yield Broken("the customer did not agree", {"reply": reply.text})
            elif is_unclear(question, reply, call.moment):
                yield CannotTell("the customer's reply is neither a yes nor a no")
            return


@bank.protocol("identity.facts", _IDENTITY, LOG)
def check_facts(call: BankCall) -> Iterator[Answer]:
    """A customer is verified by two of birth date, email, phone number and address."""
    user = call.user
    if not user:
        return
    said = call.moment.user_words
    digits = phrases.SEPARATORS.sub("", said)
    born, phone = read_date(user.get("date_of_birth")), str(user.get("phone_number"))
    street = str(user.get("address")).lower().split()[:2]
    facts = (
        str(user.get("email")).lower() in said,
        phrases.SEPARATORS.sub("", phone)[-10:] in digits,
        born is not None and _is_date_told(born, said),
        all(word.strip(",") in said for word in street),
    )
    if sum(facts) < 2:
        yield Broken(f"the customer gave {sum(facts)} of the two facts that are needed")


def _is_date_told(date: datetime, said: str) -> bool:
    """Return True if the parts of a date stand in a text, in whatever order."""
    numbers = {int(each) for each in _NUMBER.findall(said)}
    month = date.month in numbers or MONTHS[date.month - 1][:3] in said
    return month and date.day in numbers and not numbers.isdisjoint((date.year, date.year % 100))


RULES = (
    *_RULES,
    *rules_in(globals()),
    transfer_is_wanted("banking", f"{GUIDELINES}: 5"),
    only_done_is_claimed(
        "banking", f"{GUIDELINES}: 1", phrases.BANK_CLAIMS, lambda call: inner_call(call)[0]
    ),
)
