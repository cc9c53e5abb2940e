"""The bank's policy on dealing with a customer: who it is, what was read or said, transfers."""

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from maseval.benchmark.tau2.domains.banking_knowledge.account_rules import (
    CHECKING_CREDIT,
    CLOSE,
    MOVE,
    OPEN,
    REPORT,
    SAVINGS_CREDIT,
)
from maseval.benchmark.tau2.domains.banking_knowledge.credit_card_rules import (
    CREDIT_CARD_WRITES,
    PAY,
    REPLACE,
)
from maseval.benchmark.tau2.domains.banking_knowledge.debit_card_rules import (
    ACTIVATED_BY,
    CHANGE_PIN,
    DEBIT_CARD_WRITES,
    ORDER,
    RESET_PIN,
)
from maseval.benchmark.tau2.domains.banking_knowledge.dispute_rules import (
    CREDIT_DISPUTE,
    DEBIT_DISPUTE,
)
from maseval.benchmark.tau2.domains.banking_knowledge.inner_calls import (
    BankCall,
    bank_rule,
    find_row,
    inner_call,
    is_same,
    read_date,
)
from maseval.benchmark.tau2.domains.banking_knowledge.models import BankingDB, Row
from maseval.benchmark.tau2.domains.confirming import names, spell_amount
from maseval.benchmark.tau2.domains.rules import (
    Answer,
    Broken,
    CallMade,
    CallMoment,
    CannotTell,
    Kind,
    Talk,
    talk_rule,
)
from maseval.benchmark.tau2.words import (
    agrees,
    asks,
    sentences,
    spellings,
    wants_a_human,
)

_IDENTITY = "Additional Instructions: Authenticating Users"
_TOOLS = "Additional Instructions: Discoverable Tools"
_GUIDELINES = "Guidelines"
_INCIDENT = "Backend incident 11/13 (internal)"

BANK_WRITES = frozenset(
    {
        *(OPEN, CLOSE, MOVE, CHECKING_CREDIT, SAVINGS_CREDIT, REPORT),
        *(*DEBIT_CARD_WRITES, *CREDIT_CARD_WRITES, CREDIT_DISPUTE, DEBIT_DISPUTE),
        "change_user_email",
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
_LOG, _TRANSFER = "log_verification", "transfer_to_human_agents"
_UNLOCK, _GIVE = "unlock_discoverable_agent_tool", "give_discoverable_user_tool"
_BUSY, _EARLY = "initial_transfer_to_human_agent_0218", "initial_transfer_to_human_agent_1822"
_EMERGENCY = "emergency_credit_bureau_incident_transfer_1114"
_CODE = "9K2X7M4P1N8Q3R5T6A"
_DAY = "2025-11-14"
_SEARCHES = ("KB_search", "grep", "KB_search_bm25", "KB_search_dense", "shell")
_LOGGED = {
    "name": "name",
    "address": "address",
    "email": "email",
    "phone_number": "phone_number",
    "date_of_birth": "date_of_birth",
}
_TABLES = {
    "account_id": "accounts",
    "source_account_id": "accounts",
    "destination_account_id": "accounts",
    "checking_account_id": "accounts",
    "card_id": "debit_cards",
    "credit_card_account_id": "credit_card_accounts",
}
_BOOKINGS = ("credit_card_transaction_history", "bank_account_transaction_history")
_IDS = (*_TABLES, "transaction_id", "user_id")
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,5}")
_PHONE = re.compile(r"\b\d{3}-\d{3}-\d{4}\b")
_FACT = re.compile(r"\b(date_of_birth|email|phone_number|address)\W+(\S[^\n\"]*)")
_NO_DIGIT = re.compile(r"\D")
_ON_FILE = re.compile(
    r"\b(?:on file|on record|registered|home|current|same|usual|primary|billing|my) "
    r"(?:\w+ )?address|address (?:\w+ ){0,4}(?:on file|on record|registered)",
    re.I,
)
_ALL_OF_IT = re.compile(
    r"\b(?:full|whole|entire|remaining|outstanding|total) (?:\w+ )?(?:balance|amount|funds|money)|"
    r"\beverything\b|\ball (?:of )?(?:it|the|my|that)\b|\bpay\w* (?:\w+ ){0,3}off\b|\bthe rest\b"
)
_MERCHANT = re.compile(
    r"merchant|contact|reach|call|spoke|talk|seller|store|shop|company|vendor|resolve|directly",
    re.I,
)
_HAND_OVER = re.compile(r"transfer|human|specialist|colleague|security team|connect you", re.I)
_SAYS_NO = re.compile(r"no\b(?! (?:problem|worries|need))|please don't|don't|do not|stop\b", re.I)
_TURNS_DOWN = re.compile(
    r"(?:don't|do not|not) (?:want|wish|proceed|now|do)|never ?mind|chang\w+ my mind|rather not|"
    r"second thought|\bleave (?:it|that|everything)|\bcancel (?:it|that|this)|\bhold off|\bkeep it",
    re.I,
)
_SHORT = 4
_REFUSES = re.compile(r"\b(?:no|not|don't|do not|never)\b", re.I)
_I_HAVE = r"\bI(?:'ve| have)? (?:now |just |successfully |also |already )*"
# What the agent may report, and the tools after which it is true.
_CLAIMS: Mapping[str, tuple[tuple[str, ...], re.Pattern[str]]] = {
    "closing": (
        ("close_", "order_replacement"),
        re.compile(_I_HAVE + r"(?:closed|cancelled|canceled)\b.*\b(?:account|card)\b", re.I),
    ),
    "opening": (("open_bank",), re.compile(_I_HAVE + r"opened\b.*\baccount\b", re.I)),
    "filing a dispute": (
        ("file_", "submit_cash_back"),
        re.compile(_I_HAVE + r"(?:filed|submitted)\b.*\bdisputes?\b", re.I),
    ),
    "ordering a card": (("order_",), re.compile(_I_HAVE + r"ordered\b.*\bcards?\b", re.I)),
    "freezing a card": (("freeze_",), re.compile(_I_HAVE + r"(?:frozen|froze)\b.*\bcard", re.I)),
    "moving money": (
        ("transfer_funds", "pay_credit"),
        re.compile(_I_HAVE + r"(?:transferred|moved)\b.*\$ ?\d", re.I),
    ),
    "a credit": (
        ("apply_checking", "apply_savings", "apply_statement", "file_"),
        re.compile(_I_HAVE + r"(?:credited|applied)\b.*\$ ?\d.*\b(?:account|card|credit)\b", re.I),
    ),
}
_NOT_YET = re.compile(r"\b(?:once|after|when|if|before|until|unless)\b", re.I)
_REPORTS = re.compile(r"\bI(?:'ve| have| )", re.I)


def _owners(db: BankingDB, arguments: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Return to whom the records belong that a call names; a parent owns a child's account too."""
    found: dict[str, frozenset[str]] = {}
    for field, table in _TABLES.items():
        row = find_row(db, table, arguments.get(field))
        if row is not None:
            found[field] = _people(db, row)
    for table in _BOOKINGS:
        row = find_row(db, table, arguments.get("transaction_id"))
        if row is not None:
            account = find_row(db, "accounts", row.get("account_id"))
            found["transaction_id"] = _people(db, account or row)
    user = arguments.get("user_id")
    if isinstance(user, str) and user in db.users:
        found["user_id"] = frozenset({user})
    return found


def _people(db: BankingDB, row: Row) -> frozenset[str]:
    parent = find_row(db, "accounts", row.get("parent_account_id"))
    return frozenset(str(each.get("user_id")) for each in (row, parent) if each is not None)


@bank_rule(
    "record.owner", Kind.STATE, place="each internal procedure: ownership", tools=BANK_WRITES
)
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


@bank_rule("identity.own", Kind.STATE, place=_IDENTITY, tools=BANK_WRITES | _READS)
def check_own_records(call: BankCall) -> Iterator[Answer]:
    """The records of the customer who was verified are read and changed, and nobody else's."""
    verified = _verified_users(call.db)
    if not verified or _CODE in verified:
        return
    for field, people in _owners(call.db, call.arguments).items():
        if not people & verified:
            values = {field: call.arguments.get(field), "verified": sorted(verified)}
            yield Broken(f"{call.arguments.get(field)} is not the verified customer's", values)


@bank_rule("identity.record", Kind.STATE, place=_IDENTITY, tools={_LOG})
def check_log(call: BankCall) -> Iterator[Answer]:
    """A verification is logged with the customer's data as on record."""
    user = call.row("users", "user_id")
    if call.arguments.get("user_id") == _CODE:
        wrong = [field for field in _LOGGED if call.arguments.get(field) != _CODE]
        if wrong:
            yield Broken(f"personal data is logged beside the bypass code: {', '.join(wrong)}")
        return
    if user is None:
        named = call.arguments.get("user_id")
        yield Broken(f"there is no customer {named!r}", {"user_id": named})
        return
    for field, known in _LOGGED.items():
        given = call.arguments.get(field)
        if not is_same(given, user.get(known)):
            text = f"the {field.replace('_', ' ')} on record is {user.get(known)}, not {given}"
            yield Broken(text, {"on_record": user.get(known), "logged": given})


@bank_rule("identity.time", Kind.DATA_FLOW, place=f"{_GUIDELINES}: 4", tools={_LOG})
def check_log_time(call: BankCall) -> Iterator[Answer]:
    """The time of a verification is the one that the clock gave before."""
    given = call.text("time_verified")
    answers = [made.answer for name, _, made in call.earlier if name == "get_current_time"]
    if not answers:
        yield Broken("the time was not looked up before", {"time": given})
    elif not any(given and given in answer for answer in answers):
        yield Broken(f"{given} is not the time that was looked up", {"time": given})


def _facts_told(user: Row, said: str) -> int:
    """Count the facts of a customer's record that a customer has told, up to two."""
    told = 0
    for spelled in _spelled_facts(user):
        told += any(form in said for form in spelled)
        if told == 2:
            break
    return told


def _spelled_facts(user: Row) -> Iterator[list[str]]:
    """Yield the ways to write each fact by which a customer is known, in lower case."""
    if user.get("email"):
        yield [str(user["email"]).lower()]
    phone = _NO_DIGIT.sub("", str(user.get("phone_number", "")))
    if len(phone) == 10:
        area, office, line = phone[:3], phone[3:6], phone[6:]
        joined = (each.join((area, office, line)) for each in ("-", "", " ", ".", " - "))
        yield [*joined, f"({area}) {office}-{line}", f"({area}) {office} {line}"]
    elif phone:
        yield [str(user["phone_number"]).lower(), phone]
    street = str(user.get("address", "")).lower().split(",")[0].split()
    if len(street) > 1:
        yield [" ".join(street[:2])]
    born = read_date(user.get("date_of_birth"))
    if born is not None:
        day, year = born.day, f"{born:%Y}"
        forms = [
            *spellings(born.strftime("%Y-%m-%d")),
            *(f"{born.month}/{day}/{year}", f"{born.month}/{day}/{born:%y}"),
            *(born.strftime("%m-%d-%Y"), born.strftime("%m.%d.%Y"), born.strftime("%m/%d/%y")),
            *(born.strftime("%d/%m/%Y"), born.strftime("%m%d%Y"), f"{born:%B} {day} {year}"),
            *(f"{born:%B} {day}{end}, {year}" for end in ("st", "nd", "rd", "th")),
            *(f"{day}{end} of {born:%B} {year}" for end in ("st", "nd", "rd", "th")),
            *(f"{day}{end} {born:%B} {year}" for end in ("st", "nd", "rd", "th")),
            *(f"{born.month}-{day}-{year}", born.strftime("%Y/%m/%d")),
        ]
        yield [form.lower() for form in forms]


@bank_rule("identity.first", Kind.PROTOCOL, place=_IDENTITY, tools=BANK_WRITES | _READS | {_LOG})
def check_identity(call: BankCall) -> Iterator[Answer]:
    """A customer gives two right facts before the bank's records are opened or changed."""
    said = call.moment.user_said
    if _CODE in said:
        return
    people = set(chain.from_iterable(_owners(call.db, call.arguments).values()))
    known = [row for each in people if (row := find_row(call.db, "users", each)) is not None]
    told = max((_facts_told(user, said.lower()) for user in known), default=0)
    if people and told < 2:
        text = f"the customer had told {told} of the facts on record by then, and two are needed"
        yield Broken(text, {"told": told, "customer": sorted(people)})


@bank_rule("identity.code", Kind.PROTOCOL, place="Account recovery bypass code", tools={_LOG})
def check_code(call: BankCall) -> Iterator[Answer]:
    """The bypass code is logged only if the customer gave it in full."""
    if _CODE in call.arguments.values() and _CODE not in call.moment.user_said:
        yield Broken("the customer did not give the bypass code")


@talk_rule("banking.identity.logged", Kind.PROTOCOL, place=_IDENTITY, reads_words=False)
def check_logged(talk: Talk) -> Iterator[Answer]:
    """A verification is logged in a conversation in which records are opened or changed."""
    made = [(inner_call(each.call)[0], each) for each in talk.calls if not each.failed]
    opened = [each for name, each in made if name in BANK_WRITES | _READS]
    if opened and not any(name == _LOG for name, _ in made):
        yield Broken("no verification was logged", {}, opened[0].message_index)


@talk_rule("banking.identity.leak", Kind.PROTOCOL, place=f"{_IDENTITY}: last sentence")
def check_leaks(talk: Talk) -> Iterator[Answer]:
    """The agent tells nothing about a customer who is not verified yet."""
    logged = next((each for each in talk.calls if each.call["name"] == _LOG), None)
    end = logged.message_index if logged else len(talk.messages)
    for made in talk.calls_before(end):
        if made.call["name"].startswith("get_user_information"):
            yield from _leaks(talk, made, end)


def _leaks(talk: Talk, made: CallMade, end: int) -> Iterator[Answer]:
    """Yield what the agent tells of a record that was looked up, to who did not know it."""
    found = (*_EMAIL.findall(made.answer), *_PHONE.findall(made.answer))
    secrets, user = sorted({each.lower() for each in found}), dict(_FACT.findall(made.answer))
    for said in talk.agent_before(end):
        if said.message_index < made.answer_index:
            continue
        given = "\n".join(each.text for each in talk.user_before(said.message_index)).lower()
        if _facts_told(user, given) >= 2:
            return
        for secret in secrets:
            if secret in said.text.lower() and secret not in given:
                text = f"{secret} is told before the verification"
                yield Broken(text, {"told": secret}, said.message_index)


@bank_rule("tool.found", Kind.DATA_FLOW, place=_TOOLS, tools={_UNLOCK, _GIVE})
def check_tool_found(call: BankCall) -> Iterator[Answer]:
    """A tool is unlocked or given after the knowledge base named it."""
    name = call.text("agent_tool_name") or call.text("discoverable_tool_name")
    if not any(call.moment.tools.has_tool(each) for each in _SEARCHES):
        return
    answers = [made.answer for tool, _, made in call.earlier if tool in _SEARCHES]
    if not any(name and name in answer for answer in answers):
        yield Broken(f"no document that was read names {name}", {"tool": name})


@talk_rule("banking.tool.used", Kind.PROTOCOL, place=_TOOLS, reads_words=False)
def check_tool_used(talk: Talk) -> Iterator[Answer]:
    """A tool that the agent unlocks is a tool that it uses."""
    called = {inner_call(each.call)[0] for each in talk.calls}
    for made in talk.calls:
        name = made.call["arguments"].get("agent_tool_name")
        if made.call["name"] != _UNLOCK or made.failed or name in called:
            continue
        later = [each.text for each in talk.user if each.message_index > made.message_index]
        if any(_SAYS_NO.match(each.strip()) or _TURNS_DOWN.search(each) for each in later):
            yield CannotTell(f"{name} was unlocked, and the customer may have changed the plan")
        else:
            yield Broken(f"{name} was unlocked and never used", {"tool": name}, made.message_index)


@bank_rule("record.known", Kind.DATA_FLOW, place=f"{_GUIDELINES}: 1", tools=BANK_WRITES)
def check_known(call: BankCall) -> Iterator[Answer]:
    """The ids in a change were read or said before."""
    answers = (made.answer for _, _, made in call.earlier)
    known = "\n".join((call.moment.user_said, *answers))
    for field in _IDS:
        value = call.arguments.get(field)
        if isinstance(value, str) and value and value not in known:
            yield Broken(f"{value} was neither read nor said before", {field: value})


def _said_by_both(moment: CallMoment) -> str:
    """Return what the user said, and the agent before the user's last words."""
    talk, at = moment.talk, moment.message_index
    replies = talk.user_before(at)
    heard = talk.agent_before(replies[-1].message_index) if replies else []
    return "\n".join(each.text for each in (*heard, *replies))


@bank_rule(
    "confirm.amount",
    Kind.DATA_FLOW,
    place="Transferring funds; Paying a card from checking",
    tools={MOVE, PAY},
    reads_words=True,
)
def check_amount_said(call: BankCall) -> Iterator[Answer]:
    """The customer authorizes the amount that is moved or paid."""
    amount = call.figure("amount")
    said = _said_by_both(call.moment).lower()
    if amount is None or any(names(said, form) for form in spell_amount(amount)):
        return
    if _ALL_OF_IT.search(said):
        yield CannotTell("the customer may have meant a whole balance")
    else:
        yield Broken(f"nobody spoke of ${amount:.2f} before", {"amount": amount})


@bank_rule(
    "confirm.refused",
    Kind.PROTOCOL,
    place="Transferring funds; Opening accounts; Ordering cards",
    tools={MOVE, PAY, OPEN, ORDER, REPLACE, CLOSE},
)
def check_not_refused(call: BankCall) -> Iterator[Answer]:
    """Nothing is done to which the customer just said no."""
    replies = call.moment.user_texts
    if not replies:
        return
    last = replies[-1].text.strip()
    question = call.moment.talk.agent_before(replies[-1].message_index)[-1:]
    if not _SAYS_NO.match(last) or agrees(last) or not (question and asks(question[0].text)):
        return
    if _TURNS_DOWN.search(last) or len(last.split()) <= _SHORT:
        yield Broken("the customer's last words before the call are a no", {"reply": last})
    else:
        yield CannotTell("the customer refused a part of the proposal, and may want the rest")


@bank_rule(
    "confirm.product",
    Kind.DATA_FLOW,
    place="Opening accounts: step 3",
    tools={OPEN},
    reads_words=True,
)
def check_product_said(call: BankCall) -> Iterator[Answer]:
    """The customer chooses the account that is opened."""
    name = call.text("account_class").replace(" (checking)", "").replace(" (savings)", "")
    bare = name.removesuffix("Account").strip().lower()
    if bare and bare not in _said_by_both(call.moment).lower():
        yield Broken(f"nobody spoke of a {name} before", {"account_class": name})


@bank_rule(
    "confirm.address",
    Kind.DATA_FLOW,
    place="Ordering a debit card: step 6; Replacement credit card",
    tools={ORDER, REPLACE},
    reads_words=True,
)
def check_address_said(call: BankCall) -> Iterator[Answer]:
    """The address to which a card is sent is confirmed with the customer."""
    address = call.text("shipping_address")
    street = " ".join(address.lower().split(",")[0].split()[:2])
    said = _said_by_both(call.moment)
    if not street or street in said.lower():
        return
    user = call.row("users", "user_id")
    if user is not None and user.get("address") == address and _ON_FILE.search(said):
        return
    yield Broken(f"nobody spoke of {address} before", {"address": address})


_TOLD_BY_USER = {
    **dict.fromkeys(ACTIVATED_BY, ("last_4_digits", "cvv", "pin")),
    RESET_PIN: ("last_4_digits", "new_pin"),
    CHANGE_PIN: ("current_pin", "new_pin"),
    "change_user_email": ("new_email",),
}


@bank_rule(
    "told.secrets", Kind.DATA_FLOW, place="Activating a debit card; PINs", tools=_TOLD_BY_USER
)
def check_secrets_told(call: BankCall) -> Iterator[Answer]:
    """Digits, codes, PINs and addresses come from the customer, and not from the records."""
    said = call.moment.user_said.lower()
    joined = re.sub(r"[\s-]+", "", said)
    heard = call.moment.agent_texts
    for field in _TOLD_BY_USER[call.name]:
        value = call.text(field).lower()
        if not value or value in said or value in joined:
            continue
        if field == "last_4_digits" and any(value in each.text for each in heard):
            yield CannotTell("the agent named the digits, which the customer may have confirmed")
        else:
            text = f"the customer did not give the {field.replace('_', ' ')}"
            yield Broken(text, {field: call.text(field)})


@talk_rule("banking.pin.told", Kind.PROTOCOL, place="Debit card PINs: notes")
def check_pin_not_told(talk: Talk) -> Iterator[Answer]:
    """The agent does not read a PIN back to the customer."""
    for made in talk.calls:
        tool, arguments = inner_call(made.call)
        field = next((each for each in _TOLD_BY_USER.get(tool, ()) if each.endswith("pin")), None)
        pins = [arguments.get(each) for each in ("pin", "new_pin", "current_pin")] if field else []
        others = [arguments.get("last_4_digits"), arguments.get("cvv")]
        for pin in (each for each in pins if isinstance(each, str) and each and each not in others):
            for said in talk.agent:
                if re.search(rf"\bpin\b[^.\n]{{0,40}}\b{re.escape(pin)}\b", said.text, re.I):
                    yield Broken("the agent reads the PIN back", {}, said.message_index)


@bank_rule(
    "dispute.asked",
    Kind.PROTOCOL,
    place="Filing a credit card dispute: 9; Filing a debit card dispute: 11, 12 and 14",
    tools={CREDIT_DISPUTE, DEBIT_DISPUTE},
)
def check_asked(call: BankCall) -> Iterator[Answer]:
    """The customer is asked about merchant, PIN and statement before a dispute says so."""
    said = _said_by_both(call.moment)
    if call.arguments.get("contacted_merchant") is True and not _MERCHANT.search(said):
        yield Broken("nobody spoke of contacting the merchant", {"contacted_merchant": True})
    pin = call.text("pin_compromised")
    if pin.startswith("yes") and not re.search(r"\bpin\b|\bcode\b", said, re.I):
        yield Broken("nobody spoke of the PIN", {"pin_compromised": pin})
    written = call.arguments.get("written_statement_provided")
    if written is True and not re.search(r"statement|writ", said, re.I):
        yield Broken("nobody spoke of a written statement", {"written_statement_provided": True})


@talk_rule("banking.claim.done", Kind.DATA_FLOW, place=f"{_GUIDELINES}: 1")
def check_claims(talk: Talk) -> Iterator[Answer]:
    """The agent says that it did what it did, and nothing else."""
    done = [inner_call(each.call)[0] for each in talk.calls if not each.failed]
    for said in talk.agent if _REPORTS.search(talk.agent_words) else ():
        for sentence in sentences(said.text):
            for deed, (tools, pattern) in _CLAIMS.items():
                found = pattern.search(sentence)
                if not found or _NOT_YET.search(sentence[: found.start()]):
                    continue
                if not any(each.startswith(tools) for each in done):
                    text = f"the agent reports {deed}, which was not done"
                    yield Broken(text, {"said": sentence}, said.message_index)


@bank_rule("transfer.asked", Kind.PROTOCOL, place=f"{_GUIDELINES}: 5 and 6", tools={_TRANSFER})
def check_transfer(call: BankCall) -> Iterator[Answer]:
    """A customer is handed over after asking for it, or after agreeing to it."""
    talk, at = call.moment.talk, call.moment.message_index
    if any(name in (_EMERGENCY, "request_human_agent_transfer") for name, _, _ in call.earlier):
        return
    replies = talk.user_before(at)
    if any(wants_a_human(each.text) for each in replies):
        return
    for reply in replies:
        offers = talk.agent_before(reply.message_index)[-1:]
        if offers and _HAND_OVER.search(offers[0].text):
            if agrees(reply.text):
                return
            if not _REFUSES.search(reply.text):
                yield CannotTell("the customer heard of the transfer and did not refuse it")
                return
    yield Broken("the customer neither asked for the transfer nor agreed to it")


@bank_rule(
    "transfer.steps",
    Kind.PROTOCOL,
    place=f"Purchase declines; {_INCIDENT}",
    tools={_TRANSFER, _BUSY, _EARLY},
    reads_words=False,
)
def check_transfer_steps(call: BankCall) -> Iterator[Answer]:
    """A transfer that goes by steps takes all of them, in order."""
    made = [name for name, _, each in call.earlier if not each.failed]
    busy, early = made.count(_BUSY), made.count(_EARLY)
    if call.name == _EARLY:
        if busy or early:
            yield Broken(f"{_EARLY} comes first, and once", {"before": busy + early})
    elif call.name == _BUSY:
        if busy >= (1 if early else 3):
            yield Broken(f"{_BUSY} was called {busy} times already", {"calls": busy})
    elif early and not busy:
        yield Broken(f"{_BUSY} is still to be called", {"calls": busy})
    elif busy and not early and busy < 3:
        yield Broken(f"{_BUSY} was called {busy} times of three", {"calls": busy})


@bank_rule("incident.unverified", Kind.PROTOCOL, place=_INCIDENT, tools={_EARLY}, reads_words=False)
def check_incident(call: BankCall) -> Iterator[Answer]:
    """Nobody is verified under the protocol of the payment incident."""
    if any(name == _LOG for name, _, _ in call.earlier):
        yield Broken("the customer was verified, which this protocol does not want")


DEALING_RULES = (
    *(check_owner, check_own_records, check_log, check_log_time, check_identity, check_code),
    *(check_logged, check_leaks, check_tool_found, check_tool_used, check_known),
    *(check_amount_said, check_not_refused, check_product_said, check_address_said),
    *(check_secrets_told, check_pin_not_told, check_asked, check_claims, check_transfer),
    *(check_transfer_steps, check_incident),
)
