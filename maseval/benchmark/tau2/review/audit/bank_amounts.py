"""Findings about amounts and choices of the bank that are worked out again by the documents.

Points are rounded down at the rate of card and category, interest is the sum of what the documents
give, and the best product is the one that pays most of those that have what the customer wants.
"""

import re
from collections.abc import Iterator, Sequence
from math import floor
from typing import NamedTuple

from maseval.benchmark.tau2.domains.banking_knowledge.models import Row
from maseval.benchmark.tau2.domains.banking_knowledge.user_tools import CASH_BACK
from maseval.benchmark.tau2.review.audit.bank import AGAINST, CONFLICT, OPEN, SEVERAL, BankGold
from maseval.benchmark.tau2.review.audit.subject import Finding
from maseval.benchmark.tau2.review.policy.banking_knowledge.inner_calls import (
    figure,
    find_row,
    level_of,
    rows_with,
)
from maseval.core.words import count_of

_APPLY = "apply_for_credit_card"
_REPORT, _CREDIT = "submit_interest_discrepancy_report", "apply_savings_account_credit"
_ROUNDING = "doc_credit_cards_credit_cards_(general)_007"


def rewards_by_the_documents(gold: BankGold) -> Iterator[Finding]:
    """Work out rewards again: points are rounded down, at the rate of card and category."""
    disputed = {
        str(step.arguments.get("transaction_id"))
        for step in gold.calls_of("submit_cash_back_dispute")
    }
    if not disputed:
        return
    off = []
    for key, record in gold.db.table("credit_card_transaction_history").items():
        if record.get("user_id") == gold.user_id and key not in disputed:
            stored = figure(str(record.get("rewards_earned")).partition(" ")[0])
            if stored is not None and _is_nearly(stored, _points(record)):
                off.append(f"{key} has {stored:g} points")
    if off:
        more = " …" if len(off) > 3 else ""
        text = (
            f"by {_ROUNDING}, which rounds down, {count_of(len(off), 'transaction')} more would be "
            f"wrong by one point, which the gold does not dispute: {', '.join(off[:3])}{more}"
        )
        yield gold.report(
            AGAINST,
            "warning",
            text,
            tried="rewards worked out again",
            happened="other points than those on record",
            documents=[_ROUNDING],
            transactions=off,
        )
    for step in gold.calls_of("update_transaction_rewards"):
        record = find_row(
            gold.db, "credit_card_transaction_history", step.arguments["transaction_id"]
        )
        given = figure(str(step.arguments.get("new_rewards_earned")).partition(" ")[0])
        points = _points(record) if record else ()
        if given is not None and _is_nearly(given, points):
            right = min(points, key=lambda each: abs(each - given))
            tried = gold.vary(step, new_rewards_earned=f"{right:g} points")
            if gold.flips(tried):
                text = f"{given:g} points are rounded up; {_ROUNDING} rounds down, to {right:g}"
                yield gold.report(AGAINST, "error", text, step, tried, documents=[_ROUNDING])


def _points(record: Row) -> Sequence[float]:
    """Return the points that a purchase may have earned: at each rate, plain or twofold."""
    amount = figure(record.get("transaction_amount"))
    rates = CASH_BACK.get(str(record.get("credit_card_type")), {})
    if amount is None:
        return ()
    chosen = {rates.get(str(record.get("category")), 0.0), *rates.values()}
    return [floor(amount * rate * times + 1e-6) for rate in chosen for times in (1, 2)]


def _is_nearly(value: float, points: Sequence[float]) -> bool:
    return bool(points) and value not in points and min(abs(value - each) for each in points) == 1


_BONUS = re.compile(
    r"relationship (?:APY )?bonus[^.\n]{0,25}(\d\.\d{1,3})%|(\d\.\d{1,3})% relationship"
)
_HOLDER = re.compile(r"(\w{3,12} (?:Rewards|Elite) Card) holder")


def interest_by_the_documents(gold: BankGold) -> Iterator[Finding]:
    """Work out interest again, with the relationship bonus that documents give."""
    credits = {step.arguments.get("account_id"): step for step in gold.calls_of(_CREDIT)}
    for report in gold.calls_of(_REPORT):
        account = find_row(gold.db, "accounts", report.arguments.get("account_id"))
        credit = credits.get(report.arguments.get("account_id"))
        numbers = [figure(report.arguments.get(name)) for name in ("expected_apy", "actual_apy")]
        if account is None or credit is None or None in numbers:
            continue
        expected, actual = (each or 0.0 for each in numbers)
        balance = figure(account.get("current_holdings")) or 0.0
        due, given = balance * (expected - actual) / 1200, figure(credit.arguments.get("amount"))
        if given is not None and 0.004 < abs(due - given) < 0.015:
            tried = gold.vary(credit, amount=round(due, 2))
            if gold.flips(tried):
                text = (
                    f"{balance:g} at {expected - actual:g}% for a month are {due:.4f}, not {given}"
                )
                yield gold.report(SEVERAL, "warning", text, credit, tried)
        found = _relationship_bonus(gold, account)
        if found is None or round(expected * 1000) % 50 == round(found.bonus * 1000) % 50:
            continue
        more = round((given or 0.0) + balance * found.bonus / 1200, 2)
        if gold.flips(tried := gold.vary(credit, amount=more)):
            text = (
                f"{found.document} gives {level_of(account)} a relationship bonus of "
                f"{found.bonus:g}%; the gold expects {expected:g}% without it"
            )
            yield gold.report(AGAINST, "warning", text, credit, tried, documents=[found.document])


class _Bonus(NamedTuple):
    document: str
    bonus: float


def _relationship_bonus(gold: BankGold, account: Row) -> _Bonus | None:
    """Return the bonus that documents give a customer who has other products."""
    cards = rows_with(gold.db, "credit_card_accounts", "user_id", gold.user_id)
    held = {card.get("card_type") for card in cards}
    for document in gold.family(level_of(account), "savings"):
        found = _BONUS.search(document.content)
        holder = _HOLDER.search(document.title) or _HOLDER.search(document.content)
        if found and (holder is None or holder[1] in held):
            return _Bonus(document.id, float(found[1] or found[2]))
    return None


_ROW = re.compile(
    r"^(?:\|| {0,4}-) ?([A-Z][\w-]{2,12}(?: [\w-]{2,9}){0,3}?)(?: Card)? ?[|:] ?\+(\d\.?\d{0,3})%",
    re.MULTILINE,
)


def rival_cards(gold: BankGold) -> Iterator[Finding]:
    """Apply for another card that raises the savings account's yield as much, at no fee either."""
    opened = [
        step for step in gold.calls_of(OPEN) if step.arguments.get("account_type") == "savings"
    ]
    for step in gold.calls_of(_APPLY) if opened else ():
        card = str(step.arguments.get("card_type"))
        product = str(opened[0].arguments.get("account_class"))
        bonuses = {
            name: bonus
            for document in gold.family(product, "savings")
            for name, bonus in _ROW.findall(document.content)
        }
        own = bonuses.get(card.removesuffix(" Card"))
        for name, bonus in bonuses.items():
            other = f"{name} Card"
            if bonus != own or other == card or not _fits(gold, other):
                continue
            if gold.flips(tried := gold.vary(step, card_type=other)):
                text = (
                    f"{other} raises {product} by {bonus}% as {card} does, and costs nothing either"
                )
                yield gold.report(SEVERAL, "warning", text, step, tried)


def _fits(gold: BankGold, card: str) -> bool:
    """Tell whether a card costs nothing and has what the scenario insists on."""
    name = card.lower().replace(" ", "_")
    start = f"doc_credit_cards_{name}"
    text = "\n".join(d.content for d in gold.task.audited.documents if d.id.startswith(start))
    insisted = "travel insurance" in gold.told.lower()
    return "Annual fee: $0.00" in text and ("travel insurance" in text.lower() or not insisted)


_WANTS_MOST = re.compile(
    r"highest (?:possible )?(?:interest|APY|return)|absolute highest", re.IGNORECASE
)
_DEPOSIT = re.compile(r"exactly \$([\d,]{4,9})")
_APY = re.compile(r"(?:APY of|APY[:|]?(?: \|)?) ?(\d\.\d{1,2})%")
_LEAST = re.compile(r"(?:[Mm]inimum balance|Maintain at least)[^$\n]{0,40}\$([\d,]{3,9})")


def better_accounts(gold: BankGold) -> Iterator[Finding]:
    """Open a savings account that pays more and has what the customer insists on."""
    deposit = _DEPOSIT.search(gold.told)
    wants_rebates = "ATM fee" in gold.told
    if not (deposit and wants_rebates and _WANTS_MOST.search(gold.told)):
        return
    products = {
        document.id.split("_accounts_")[1].rpartition("_")[0]
        for document in gold.task.audited.documents
        if document.id.startswith("doc_savings_accounts_")
    }
    for step in gold.calls_of(OPEN):
        chosen = str(step.arguments.get("account_class"))
        if step.arguments.get("account_type") != "savings":
            continue
        own = _terms_of(gold, chosen)
        for product in sorted(products):
            name = product.partition("_(")[0].replace("_", " ").title()
            terms = _terms_of(gold, name)
            if own is None or terms is None or name == chosen or terms.apy < own.apy + 1:
                continue
            if terms.least > (figure(deposit[1]) or 0.0) or not terms.rebates:
                continue
            if gold.flips(tried := gold.vary(step, account_class=name)):
                text = (
                    f"{name} pays {terms.apy:g}%, takes {deposit[1]} dollars and rebates ATM fees "
                    f"({terms.rebates}); the gold opens {chosen}, which pays {own.apy:g}%"
                )
                yield gold.report(AGAINST, "error", text, step, tried, documents=[terms.rebates])


class _Terms(NamedTuple):
    """The yield of a savings account, its least balance, and who says that ATM fees come back."""

    apy: float
    least: float
    rebates: str | None


def _terms_of(gold: BankGold, product: str) -> _Terms | None:
    family = gold.family(product, "savings")
    text = "\n".join(document.content for document in family)
    yields, least = _APY.findall(text), _LEAST.findall(text)
    if not yields:
        return None
    family = [document for document in family if "holder" not in document.title]
    rebates = next(
        (d.id for d in family if re.search(r"ATM fee rebate[^\n]{0,30}\d", d.content)), None
    )
    return _Terms(
        min(map(float, yields)), max([figure(each) or 0.0 for each in least], default=0.0), rebates
    )


_ABROAD = re.compile(r"^ATM WITHDRAWAL - .{3,60} (?:UK|JP|MX|ES|DE|FR|KR|HK|MY|SG)$")
_BOTH_FEES = "doc_business_checking_accounts_hunter_green_010"


def fees_abroad(gold: BankGold) -> Iterator[Finding]:
    """Find withdrawals abroad for which one document has two fees, and the gold counts one."""
    abroad = 0
    for step in gold.calls_of("apply_checking_account_credit"):
        account = step.arguments.get("account_id")
        rows = rows_with(gold.db, "bank_account_transaction_history", "account_id", account)
        abroad += sum(bool(_ABROAD.search(str(row.get("description")))) for row in rows)
    if abroad:
        text = (
            f"there is a fee abroad and one out of network for {count_of(abroad, 'withdrawal')}; "
            f"{_BOTH_FEES} has both at once, the documents about these accounts do not say, and "
            "the gold counts one"
        )
        yield gold.report(
            CONFLICT,
            "warning",
            text,
            tried="the fee for withdrawals out of network, on those abroad",
            happened="the credit would be smaller",
            documents=[_BOTH_FEES],
        )


CHECKS = (
    *(rewards_by_the_documents, interest_by_the_documents, rival_cards, better_accounts),
    fees_abroad,
)
