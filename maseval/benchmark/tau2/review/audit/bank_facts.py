"""Findings about facts of the bank: what documents, records and scenarios say of the same thing.

What the customer is told is held against the records and against the day on which every task plays;
what the reference solution does, against the documents about it.
"""

import re
from collections.abc import Iterator
from datetime import datetime

from maseval.benchmark.tau2.domains.banking_knowledge.values import NOW, TODAY
from maseval.benchmark.tau2.review.audit.bank import AGAINST, CONFLICT, OPEN, UNANSWERED, BankGold
from maseval.benchmark.tau2.review.audit.subject import Finding
from maseval.benchmark.tau2.review.policy.banking_knowledge.inner_calls import (
    days_since,
    find_row,
    kind_of,
    level_of,
    read_date,
    rows_with,
)
from maseval.benchmark.tau2.review.policy.confirming import TRANSFER_TOOL
from maseval.core.words import count_of

_CLOSE = "close_bank_account_7392"
_FEE_CREDIT = "apply_checking_account_credit"
_CLOSING = "doc_bank_accounts_bank_accounts_(general)_005"
_CLOSING_SAVINGS = "doc_bank_accounts_bank_accounts_(general)_006"
_CARDS_CLOSED = "doc_bank_accounts_bank_accounts_(general)_025"


_TIER = re.compile(
    r"TIER \(([^\n]{5,120})\)\n[^\n]{0,80}\n[^\n]{0,10}Notice period: (\d{1,2}) days"
)


def notice_periods(gold: BankGold) -> Iterator[Finding]:
    """Find accounts that are closed at once though a document has a period of notice."""
    texts = {each.id: each.content for each in gold.task.audited.documents}
    for step in gold.calls_of(_CLOSE):
        account = find_row(gold.db, "accounts", step.arguments.get("account_id"))
        if account is None:
            continue
        named = _CLOSING if kind_of(account) == "checking" else _CLOSING_SAVINGS
        for products, days in _TIER.findall(texts.get(named, "")):
            listed = [each.replace(" (checking)", "").strip() for each in products.split(",")]
            if level_of(account) in listed and days != "0":
                text = (
                    f"{named} has {days} days of notice for {level_of(account)}, and the gold "
                    "closes it at once"
                )
                yield gold.report(
                    AGAINST,
                    "warning",
                    text,
                    step,
                    "the account's tier, looked up",
                    "the gold gives no notice",
                    documents=[named],
                )


def lost_cards_left_open(gold: BankGold) -> Iterator[Finding]:
    """Close a lost card that the gold only freezes, because of pending transactions."""
    closed = {step.arguments.get("card_id"): step for step in gold.calls_of("close_debit_card")}
    thawed = {step.arguments.get("card_id") for step in gold.calls_of("unfreeze_debit_card")}
    lost = [step for step in closed.values() if step.arguments.get("reason") in ("lost", "stolen")]
    for step in gold.calls_of("freeze_debit_card") if lost else ():
        card = step.arguments.get("card_id")
        if card in closed or card in thawed:
            continue
        thaw = next(gold.calls_of("unfreeze_debit_card"))
        again = [
            gold.vary(thaw, card_id=card)[thaw.number],
            gold.vary(lost[-1], card_id=card)[lost[-1].number],
        ]
        tried = gold.insert(lost[-1].number + 1, *again)
        if gold.flips(tried):
            text = (
                f"{_CARDS_CLOSED} closes lost cards at once and lets pending transactions be "
                f"processed, and forbids to close a card with any: {card} stays open in the gold"
            )
            yield gold.report(CONFLICT, "warning", text, step, tried, documents=[_CARDS_CLOSED])


_DISPUTES = "doc_bank_accounts_bank_accounts_(general)_031"


def disputed_cards_left_active(gold: BankGold) -> Iterator[Finding]:
    """Close the card of a dispute that says so, where the gold does not."""
    closed = {step.arguments.get("card_id") for step in gold.calls_of("close_debit_card")}
    close = next(gold.calls_of("close_debit_card"), None)
    for step in gold.calls_of("file_debit_card_transaction_dispute"):
        card = step.arguments.get("card_id")
        if step.arguments.get("card_action") != "close_and_reissue" or card in closed or not close:
            continue
        again = gold.vary(close, card_id=card, reason="fraud_suspected")[close.number]
        if gold.flips(tried := gold.insert(close.number + 1, again)):
            text = (
                f"{_DISPUTES} has the agent carry out the card action of a dispute; for {card} "
                "that is to close it, and the gold does not"
            )
            yield gold.report(AGAINST, "error", text, step, tried, documents=[_DISPUTES])


_SUBJECT = re.compile(r"(\w{3,20} \w{3,20})(?: \(Internal\))?$")


def transfers_that_documents_forbid(gold: BankGold) -> Iterator[Finding]:
    """Find transfers to a human where the document about the request forbids them."""
    transfer = next((s for s in gold.steps if s.tool == TRANSFER_TOOL), None)
    for document in gold.task.audited.documents if transfer else ():
        subject = _SUBJECT.search(document.title)
        if "Do not transfer to a human" not in document.content or not subject:
            continue
        if subject[1].lower() in gold.told.lower():
            text = f"{document.id} ({document.title}) forbids the transfer that the gold makes"
            yield gold.report(
                AGAINST,
                "error",
                text,
                transfer,
                "what the document says: Do not transfer to a human in these cases",
                "the gold's only call is the transfer",
                documents=[document.id],
            )


def records_of_the_future(gold: BankGold) -> Iterator[Finding]:
    """Find transactions that the gold reads and that lie after the time at which the task plays."""
    credited = {step.arguments.get("account_id") for step in gold.calls_of(_FEE_CREDIT)}
    for step in gold.calls_of("get_bank_account_transactions"):
        account = step.arguments.get("account_id")
        rows = rows_with(gold.db, "bank_account_transaction_history", "account_id", account)
        dates = [date for row in rows if (date := read_date(row.get("date"))) and date > NOW]
        if not dates:
            continue
        counted = account in credited
        found = count_of(len(dates), "transaction")
        text = f"{account} has {found} after {NOW:%m/%d/%Y %H:%M}, which is now"
        yield gold.report(
            "record after the clock",
            "warning" if counted else "info",
            f"{text}, and the credit counts them" if counted else text,
            step,
            "get_current_time",
            f"the last transaction is of {max(dates):%m/%d/%Y %H:%M}",
        )
        return


_TODAY = re.compile(r"today,? (?:is )?(\d{2}/\d{2}|[A-Z][a-z]{2,8} \d{1,2})")
_BORN = re.compile(r"(?:DOB|date of birth)(?: is)?:? (\d{2}/\d{2}/\d{4})", re.IGNORECASE)
_OPENED = re.compile(r"opened it in ([A-Z][a-z]{2,8} \d{4})")
_WEEKS = re.compile(r"(?:[Aa]bout|exactly) (a|two|three|four|five|\d) weeks? ago")
_HELD = re.compile(
    r"((?:[A-Z][\w-]{2,12} ){1,3}Account) \((?:personal )?checking, ~(\d{1,2}) (months|years)"
)
_LOOKED = re.compile(r"at (\d{1,2}) AM and again at")
_NUMBERS = {"a": 1, "two": 2, "three": 3, "four": 4, "five": 5}


def told_against_the_records(gold: BankGold) -> Iterator[Finding]:
    """Hold dates that the customer is told against the records and against today."""
    kind = "persona contradicts the database"
    for told, truth in _contradictions(gold):
        text = f"the customer is told {told}, but {truth}"
        yield gold.report(kind, "warning", text, tried=told, happened=truth)
    for told, truth in _harmless_contradictions(gold):  # which change nothing that an agent does
        text = f"the customer is told {told}, but {truth}"
        yield gold.report(kind, "info", text, tried=told, happened=truth)


def _contradictions(gold: BankGold) -> Iterator[tuple[str, str]]:
    for day in _TODAY.findall(gold.told):
        form = "%m/%d" if "/" in day else "%B %d"
        try:
            date = datetime.strptime(f"{day} {NOW.year}", f"{form} %Y")
        except ValueError:
            continue
        if date.date() != NOW.date():
            yield f"that today is {day}", f"today is {TODAY}"
    user = find_row(gold.db, "users", gold.user_id)
    for born in _BORN.findall(gold.told) if user else ():
        if user and user.get("date_of_birth") != born:
            yield f"the date of birth {born}", f"the record has {user.get('date_of_birth')}"
    cards = rows_with(gold.db, "credit_card_accounts", "user_id", gold.user_id)
    for month in _OPENED.findall(gold.told):
        dates = [read_date(card.get("date_of_account_open")) for card in cards]
        if dates and all(date is None or f"{date:%B %Y}" != month for date in dates):
            on = ", ".join(str(card.get("date_of_account_open")) for card in cards)
            yield f"that the card was opened in {month}", f"the cards were opened on {on}"
    purchases = {step.arguments.get("purchase_date") for step in gold.steps} - {None}
    for number in _WEEKS.findall(gold.told) if len(purchases) == 1 else ():
        weeks, (bought,) = int(_NUMBERS.get(number, 0) or number), purchases
        days = days_since(bought) or 0
        if abs(days - 7 * weeks) > 4:
            yield f"that the purchase was {weeks} weeks ago", f"it was on {bought}, {days} days ago"
    if not gold.accounts and re.search(
        r"(?:my old|already have a)[^.\n]{0,30}checking account", gold.told
    ):
        yield "to have a checking account already", "the customer has no account"


def _harmless_contradictions(gold: BankGold) -> Iterator[tuple[str, str]]:
    for hour in _LOOKED.findall(gold.told):
        if int(hour) > NOW.hour:
            yield f"to have looked at {hour} AM today", f"it is {NOW:%H:%M}"
    for product, number, unit in _HELD.findall(gold.told):
        for account in gold.accounts:
            days = days_since(account.get("date_opened")) or 0
            said = int(number) * (30 if unit == "months" else 365)
            if level_of(account) == product.strip() and not said / 2 < days < said * 2:
                yield (
                    f"to have {product} for {number} {unit}",
                    f"it was opened on {account.get('date_opened')}",
                )


def accounts_without_documents(gold: BankGold) -> Iterator[Finding]:
    """Find accounts of the customer that no document describes."""
    for account in gold.accounts:
        kind, product = kind_of(account), level_of(account)
        folder = {"savings": "savings", "checking": "checking"}.get(kind)
        if (
            folder
            and product in gold.told.replace(" (Checking)", "")
            and not gold.family(product, folder)
        ):
            text = f"the customer has a {product} for {kind}, and no document knows such an account"
            yield gold.report(
                CONFLICT,
                "info",
                text,
                tried="the documents about the account",
                happened="there are none",
            )


_COMPANY_AGE = re.compile(r"within (\d) years of formation")
_AGE_TOLD = re.compile(
    r"(?:founded|formed|incorporated|years? old|started)[^.\n]{0,40}"
    r"(?:compan|agency|studio|business|LLC|20\d\d)"
)


def conditions_nobody_asks_about(gold: BankGold) -> Iterator[Finding]:
    """Find products for young companies, where nobody says how old the customer's company is."""
    for step in gold.calls_of(OPEN):
        product = str(step.arguments.get("account_class"))
        for document in gold.family(product, "business_checking"):
            found = _COMPANY_AGE.search(document.content)
            if found and not _AGE_TOLD.search(gold.told):
                text = (
                    f"{product} is for companies up to {found[1]} years old ({document.id}), and "
                    "the customer is not told how old theirs is"
                )
                yield gold.report(
                    UNANSWERED,
                    "warning",
                    text,
                    step,
                    "the age of the company, in the scenario",
                    "it is not there",
                    documents=[document.id],
                )
                break


CHECKS = (
    *(disputed_cards_left_active, transfers_that_documents_forbid),
    *(notice_periods, lost_cards_left_open, records_of_the_future, told_against_the_records),
    *(accounts_without_documents, conditions_nobody_asks_about),
)
