"""Findings about calls of the bank that could be made otherwise, and be as right.

A call of the reference solution is changed in one thing that no text decides: a free text that may
be left out, one of two equal charges, another name of a product, an answer that the customer was
never told, something that the documents leave to the agent. Where the tools take the change and the
verdict does not, a right agent may fail.
"""

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from maseval.benchmark.tau2.review.audit.bank import (
    AGAINST,
    CONFLICT,
    FREE_TEXT,
    OPEN,
    SEVERAL,
    UNANSWERED,
    BankGold,
    user_action,
)
from maseval.benchmark.tau2.review.audit.subject import AuditedDomain, AuditedTask, Finding
from maseval.benchmark.tau2.review.policy import check_gold, scenario_text
from maseval.benchmark.tau2.review.policy.banking_knowledge.inner_calls import find_row, inner_call
from maseval.benchmark.tau2.review.policy.confirming import TRANSFER_TOOL
from maseval.benchmark.tau2.world.tasks import Action, RewardType
from maseval.core.words import count_of

_GIVE, _ASK_HUMAN = "give_discoverable_user_tool", "request_human_agent_transfer"
_DEBIT, _CREDIT = "file_debit_card_transaction_dispute", "file_credit_card_transaction_dispute"
_ORDER, _REPLACE = "order_debit_card_5739", "order_replacement_credit_card_7291"
_SENTENCE = "The customer asked for it."
_NAMED_HUMAN = re.compile(r"(?:speak|talk)\w{0,3} (?:to|with) an? (?:real )?human", re.IGNORECASE)


def calls_of_the_user(gold: BankGold) -> Iterator[Finding]:
    """Find calls of the customer that the scenario asks for and the gold lacks, or the reverse."""
    for give in gold.calls_of(_GIVE):
        tool = str(give.arguments.get("discoverable_tool_name"))
        if any(step.tool == tool for step in gold.steps):
            continue
        arguments = _arguments_for(gold, tool)
        tried = gold.insert(give.number + 1, user_action(tool, **arguments))
        if arguments and gold.flips(tried):
            text = f"the customer is given {tool}, and fails the task by using it"
            yield gold.report("gold lacks a call of the user", "error", text, give, tried)
    named = _ASK_HUMAN in gold.told
    asked = [step for step in gold.steps if step.tool == _ASK_HUMAN]
    offered = _ASK_HUMAN in (gold.task.raw.get("user_tools") or ())
    if asked and not named:
        without = [each for each in gold.actions if each.name != _ASK_HUMAN]
        if gold.flips(without):
            text = f"the customer must call {_ASK_HUMAN}, which the scenario never mentions"
            tried_without = f"the same without {_ASK_HUMAN}"
            yield gold.report("user is not told to call", "warning", text, asked[0], tried_without)
    elif offered and not asked and _NAMED_HUMAN.search(gold.told):
        call = Action(action_id="tried", name=_ASK_HUMAN, arguments={}, requestor="user")
        if gold.flips(tried := gold.insert(0, call)):
            text = f"the customer asks for a human and has {_ASK_HUMAN}; by using it they fail"
            yield gold.report("gold lacks a call of the user", "warning", text, tried=tried)


def _arguments_for(gold: BankGold, tool: str) -> dict[str, object]:
    """Return the arguments of a tool of the customer, by the names that the gold uses."""
    kit = gold.task.audited.domain.user_toolkit
    method = getattr(kit, tool, None)
    wanted = (
        [name for name in inspect.signature(method).parameters if name != "self"] if method else []
    )
    known = {name: value for step in gold.steps for name, value in step.arguments.items()}
    return {name: known[name] for name in wanted} if known.keys() >= set(wanted) else {}


def texts_that_may_be_left_out(gold: BankGold) -> Iterator[Finding]:
    """Fill in the free texts that a tool takes and the gold leaves out."""
    seen = set()
    for step in gold.steps:
        method = getattr(gold.task.audited.domain.toolkit, step.tool, None)
        if step.tool in seen or method is None or not step.arguments:
            continue
        for name, parameter in inspect.signature(method).parameters.items():
            if not isinstance(parameter.default, str) or name in step.arguments:
                continue
            tried = gold.vary(step, **{name: _SENTENCE})
            if inner_call(gold.actions[step.number].call())[0] == step.tool and gold.flips(tried):
                seen.add(step.tool)
                text = (
                    f"{step.tool} stores {name}, a free text that the gold leaves out: an agent "
                    "that says why fails"
                )
                yield gold.report(FREE_TEXT, "warning", text, step, tried)


def twin_charges(gold: BankGold) -> Iterator[Finding]:
    """Dispute the other one of two charges that differ in nothing but their ids."""
    for step in (*gold.calls_of(_DEBIT), *gold.calls_of(_CREDIT)):
        chosen = step.arguments.get("transaction_id")
        for table in ("bank_account_transaction_history", "credit_card_transaction_history"):
            record = find_row(gold.db, table, chosen)
            if record is None:
                continue
            for key, other in gold.db.table(table).items():
                if key == chosen or _without_id(other) != _without_id(record):
                    continue
                if gold.flips(tried := gold.vary(step, transaction_id=key)):
                    text = (
                        f"{chosen} and {key} are equal but for their ids, and have no time of day; "
                        "only a dispute of the former counts"
                    )
                    yield gold.report(SEVERAL, "warning", text, step, tried)


def _without_id(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "transaction_id"}


def names_of_products(gold: BankGold) -> Iterator[Finding]:
    """Open an account under the name that the documents give the product."""
    titles = [each.title for each in gold.task.audited.documents]
    for step in gold.calls_of(OPEN):
        kind, name = (str(step.arguments.get(each)) for each in ("account_type", "account_class"))
        full = f"{name} ({kind})"
        twins = (f"{name} (checking)", f"{name} (savings)")
        if not all(any(each in title for title in titles) for each in twins):
            continue
        if gold.flips(tried := gold.vary(step, account_class=full)):
            text = (
                f"the documents call the account {full!r}, to tell it from another {name}; under "
                "that name it does not count"
            )
            yield gold.report(FREE_TEXT, "warning", text, step, tried)


_TOLD_VALUE = re.compile(r"[Ss]et (\w{3,40}) to \W(\w{2,40})\W")


def values_that_documents_tell(gold: BankGold) -> Iterator[Finding]:
    """Give an argument the value that the document about the action tells."""
    for document in gold.required:
        title = document.title.lower()
        for name, value in dict.fromkeys(_TOLD_VALUE.findall(document.content)):
            for step in gold.steps:
                own = step.arguments.get(name)
                meant = isinstance(own, str) and all(part in title for part in own.split("_"))
                if step.tool not in document.content or own == value or not meant:
                    continue
                if gold.flips(tried := gold.vary(step, **{name: value})):
                    text = (
                        f"{document.id} ({document.title}) says to set {name} to {value!r}, and "
                        f"the gold has {own!r}"
                    )
                    yield gold.report(
                        AGAINST, "warning", text, step, tried, documents=[document.id]
                    )


class _Question(NamedTuple):
    """Something that the documents say to ask the customer, and words that would answer it."""

    tool: str
    argument: str
    words: str
    of: str = ""
    usual: tuple[object, ...] = ()


_QUESTIONS = (
    _Question(_DEBIT, "pin_compromised", r"\bPIN\b", usual=("no",)),
    _Question(_DEBIT, "written_statement_provided", r"written statement", usual=(False,)),
    _Question(_DEBIT, "transaction_type", r"\bPIN\b|sign(?:ed|ature)", r"(?:pin|signature)_\w+"),
    _Question(_DEBIT, "discovery_date", r"notic|discover|saw|text"),
    _Question(_CREDIT, "resolution_requested", r"full refund|money back|want a refund"),
    _Question(_CREDIT, "contacted_merchant", r"contact|called|merchant"),
    _Question(_CREDIT, "issue_noticed_date", r"notic|discover"),
    _Question(
        _REPLACE, "expedited_shipping", r"expedit|rush|fast|quick|as soon as", usual=(False,)
    ),
    _Question(_ORDER, "delivery_option", r"ship|fast|expedit|rush|option", usual=("STANDARD",)),
    _Question(_ORDER, "card_design", r"design|option|card type|metal", usual=("CLASSIC",)),
)
_OTHERS: Mapping[object, object] = {
    **{"pin_purchase": "signature_purchase", "signature_purchase": "pin_purchase"},
    **{"full_refund": "partial_refund", "partial_refund": "full_refund", "no": "unknown"},
    **{"unknown": "no", "yes_observed": "unknown", "PREMIUM": "CLASSIC", "EXPEDITED": "STANDARD"},
}


def answers_nobody_gives(gold: BankGold) -> Iterator[Finding]:
    """Give another answer to a question about which the customer is told nothing."""
    for question in _QUESTIONS:
        if re.search(question.words, gold.told, re.IGNORECASE):
            continue
        for step in gold.calls_of(question.tool):
            value = step.arguments.get(question.argument)
            wanted = not question.of or re.fullmatch(question.of, str(value))
            if value in question.usual or value is None or not wanted:
                continue
            tried = gold.vary(step, **_otherwise(question.argument, value))
            if gold.flips(tried):
                text = (
                    f"{question.argument} is {value!r} in the gold; the agent is to ask, and the "
                    "customer is told nothing about it"
                )
                yield gold.report(UNANSWERED, "warning", text, step, tried)
                break


def _otherwise(name: str, value: object) -> dict[str, object]:
    if isinstance(value, bool):
        return {name: not value}
    changes: dict[str, object] = {name: _OTHERS.get(value, "11/14/2025")}
    if name == "resolution_requested":
        changes["partial_refund_amount"] = None if value == "partial_refund" else 1.0
    return changes


_REQUIRED = (
    *("unauthorized_transaction", "card_present_fraud", "card_not_present_fraud"),
    *("atm_cash_discrepancy", "duplicate_charge"),
)
_CREDITS = "doc_bank_accounts_bank_accounts_(general)_032"


def credits_left_open(gold: BankGold) -> Iterator[Finding]:
    """Decide otherwise on provisional credit where the document allows or says both."""
    for step in gold.calls_of(_DEBIT):
        category, name = step.arguments.get("dispute_category"), "provisional_credit_eligible"
        given = step.arguments.get(name)
        if category not in _REQUIRED and given:
            kind, why = (SEVERAL, "may be given at discretion, and was in the gold")
        elif category == "duplicate_charge" and not step.arguments.get("contacted_merchant"):
            kind = CONFLICT
            why = (
                "is required for the category, and is not if the merchant was not contacted, which "
                f"{_CREDITS} says both"
            )
        else:
            continue
        if gold.flips(tried := gold.vary(step, **{name: not given})):
            text = f"provisional credit for {category} {why}"
            yield gold.report(kind, "warning", text, step, tried, documents=[_CREDITS])
            return


_REASONS = {
    "annual_fee": r"annual fee",
    "not_using_card": r"(?:don't|do not) (?:really )?use (?:this|that|the|my)\b",
    "found_better_card": r"found a (?:better )?card|better card",
    "unhappy_with_rewards": r"(?:rewards|program) (?:isn't|aren't|just aren't)[^.]{0,12}worth",
    "simplifying_finances": r"simplify",
}


def reasons_side_by_side(gold: BankGold) -> Iterator[Finding]:
    """Log the other reason where the customer gives two in one breath."""
    for step in gold.calls_of("log_credit_card_closure_reason_4521"):
        reason = str(step.arguments.get("closure_reason"))
        for said in (line for line in gold.told.splitlines() if '"' in line):
            given = [name for name, words in _REASONS.items() if re.search(words, said)]
            others = [name for name in given if name != reason]
            if reason not in given or not others or "just the" in said:
                continue
            if gold.flips(tried := gold.vary(step, closure_reason=others[0])):
                text = f"the customer gives {' and '.join(given)} as reasons; only {reason} counts"
                yield gold.report(SEVERAL, "warning", text, step, tried)
                break


_BEST_FREE = re.compile(r"(?:best|most premium|premium)[^.\"]{0,25}free", re.IGNORECASE)
_FREE_BEST = re.compile(r"best[^.\"]{0,12}option[^.\"]{0,20}free", re.IGNORECASE)
_RANKS = {
    "delivery_option": ("STANDARD", "EXPEDITED", "RUSH"),
    "card_design": ("CLASSIC", "PREMIUM"),
}
_FEES = {"delivery_option": "delivery_fee", "card_design": "design_fee"}


def better_free_options(gold: BankGold) -> Iterator[Finding]:
    """Order a better card or delivery where the customer wants the best that is free."""
    if not (_BEST_FREE.search(gold.told) or _FREE_BEST.search(gold.told)):
        return
    before = _breaches(gold, gold.actions)
    for step in gold.calls_of(_ORDER):
        for name, ranks in _RANKS.items():
            own = step.arguments.get(name)
            better = ranks[ranks.index(own) + 1 :] if own in ranks else ()
            for option in better:
                tried = gold.vary(step, **{name: option, _FEES[name]: 0})
                if _breaches(gold, tried) <= before and gold.flips(tried):
                    text = (
                        f"the customer wants the best that is free; the gold has {name} {own!r} "
                        f"where {option!r} is free as well"
                    )
                    yield gold.report("gold is not what was asked for", "error", text, step, tried)
                    break


def _breaches(gold: BankGold, actions: object) -> frozenset[str]:
    task = gold.task
    assert task.criteria is not None
    criteria = task.criteria.model_copy(update={"actions": actions})
    spec = task.spec.model_copy(update={"evaluation_criteria": criteria})
    found = check_gold(task.setting._replace(task=spec), scenario_text(task.raw))
    return frozenset(f"{each.rule} {each.text}" for each in found.breaches)


def arguments_compared_as_text(gold: BankGold) -> Iterator[Finding]:
    """Write the inner arguments of a call that counts in another form of the same JSON."""
    if not gold.task.counts(RewardType.ACTION):
        return
    for step in gold.steps:
        action = gold.actions[step.number]
        written = action.arguments.get("arguments")
        if not isinstance(written, str) or not step.arguments:
            continue
        again = json.dumps(json.loads(written), indent=1)
        call = {**action.call(), "arguments": {**action.arguments, "arguments": again}}
        if not action.matches(call):
            text = f"the arguments of {step.tool} are compared letter by letter, as a JSON text"
            yield gold.report(
                FREE_TEXT,
                "error",
                text,
                step,
                "the same JSON with other blanks",
                "the call no longer counts as the gold's",
            )
            return


_VERIFYING = ("date_of_birth", "email", "phone_number", "address")
_REFERRALS = "doc_credit_cards_credit_cards_(general)_009"


def verification_nobody_can_pass(gold: BankGold) -> Iterator[Finding]:
    """Find customers who know too little to be verified, before a tool is given to them."""
    gives = next(gold.calls_of(_GIVE), None)
    verified = any(step.tool == "log_verification" for step in gold.steps)
    user = find_row(gold.db, "users", gold.user_id) or {}
    known = [name for name in _VERIFYING if str(user.get(name)) in gold.told]
    if gives is None or verified or len(known) > 1:
        return
    text = (
        f"the agent is to look up whether a referral would be denied ({_REFERRALS}), for which two "
        f"values must be verified; the customer is told {len(known)}"
    )
    yield gold.report(
        UNANSWERED,
        "warning",
        text,
        gives,
        "the customer's email address, phone number, address and date of birth, in the scenario",
        f"only {', '.join(known)} is there",
        documents=[_REFERRALS],
    )


_PREPARES = ("unlock_discoverable_agent_tool", _GIVE, TRANSFER_TOOL)


def order_of_calls(gold: BankGold) -> Iterator[Finding]:
    """Swap each two neighbouring calls, with all tools unlocked and given before."""
    before = [each for each in gold.actions if each.name in _PREPARES]
    calls = [each for each in gold.actions if each.name not in _PREPARES]
    for number, (one, other) in enumerate(pairwise(calls)):
        tried = [*before, *calls[:number], other, one, *calls[number + 2 :]]
        if one.name == other.name == _ASK_HUMAN or not gold.flips(tried):
            continue
        text = f"{one.name} and {other.name} count in the gold's order only"
        swapped = "the two calls in the other order"
        yield gold.report("order of writes is compared", "warning", text, tried=swapped)


def bookkeeping_that_counts(
    audited: AuditedDomain, tasks: Sequence[AuditedTask]
) -> Iterator[Finding]:
    """Find what the end state has of how an agent worked: what it read, and when it verified."""
    reading, timing = [], []
    for gold in map(BankGold, tasks):
        reads = {
            step.tool for step in gold.steps if step.tool.startswith("get_") and step.arguments
        }
        without = [gold.actions[s.number] for s in gold.steps if s.tool not in reads]
        if len(without) < len(gold.actions) and gold.flips(without):
            reading.append(gold.task.id)
        logged = next(gold.calls_of("log_verification"), None)
        if logged and gold.flips(gold.vary(logged, time_verified="2025-11-14 03:40:00")):
            timing.append(gold.task.id)
    kind, name = FREE_TEXT, audited.domain.name
    if timing:
        text = (
            f"in {count_of(len(timing), 'task')} the time of verification counts letter by letter, "
            "in the form in which get_current_time gives it"
        )
        yield Finding(name, None, kind, "info", text, {"tasks": timing})
    if reading:
        text = (
            f"in {count_of(len(reading), 'task')} it counts which reading tools were called: an "
            "agent that does without one fails"
        )
        yield Finding(name, None, "reading counts", "info", text, {"tasks": reading})


CHECKS = (
    *(calls_of_the_user, texts_that_may_be_left_out, twin_charges, names_of_products),
    *(values_that_documents_tell, answers_nobody_gives, credits_left_open, reasons_side_by_side),
    *(better_free_options, arguments_compared_as_text, verification_nobody_can_pass),
    order_of_calls,
)
