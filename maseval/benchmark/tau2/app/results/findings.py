"""The records of tau2's rooms as findings, until the rooms return findings themselves."""

import re
from collections.abc import Sequence

from maseval.app.results.users import NOT_READ
from maseval.benchmark.tau2.review.explain.explanation import render_call
from maseval.benchmark.tau2.review.labels import Label
from maseval.benchmark.tau2.review.labels.label import meaning_of
from maseval.benchmark.tau2.review.policy import Breach, Compliance, Doubt, RuleFault
from maseval.benchmark.tau2.review.policy.rules import Kind
from maseval.benchmark.tau2.review.users import FaultKind, UserFaults
from maseval.core.finding import Finding, Weight
from maseval.core.words import excerpt

_PLACE = re.compile(r"\bmessage (\d{1,9})\b")
_LONGEST_QUOTE = 160
# By what a label says, or by its rule; all others are choices against the task.
_USER_KINDS = {
    "stopped before the confirmed action": FaultKind.LEFT,
    "left too early": FaultKind.LEFT,
    "invented facts": FaultKind.INVENTED,
    "led astray by the user": FaultKind.INVENTED,
    "information not asked for": FaultKind.UNSAID,
    "never asked": FaultKind.UNSAID,
    "reported without looking": FaultKind.BLIND,
    "empty turns": FaultKind.SILENT,
}


def cause_of(label: Label) -> Finding:
    """Return a label of a failure as a finding."""
    places = [found for line in label.evidence if (found := _PLACE.search(line))]
    return Finding(
        "cause",
        label.who,
        label.what,
        label.rule,
        meaning_of(label.rule) or f"{label.who}: {label.what}",
        message=int(places[0][1]) if places else None,
        evidence=label.evidence,
    )


def policy_findings(found: Compliance) -> list[Finding]:
    """Return what the rules of a policy found, breaches first."""
    findings = [_of_breach(each) for each in found.breaches]
    findings += (_undecided(each, each.reason) for each in found.doubts)
    findings += (_undecided(each, f"the rule failed: {each.error}") for each in found.faults)
    if found.unreadable is not None:
        findings.append(policy_unchecked(found.unreadable))
    return findings


def policy_unchecked(why: str) -> Finding:
    """Return the finding that no rule could be asked, so that it is not known what was broken."""
    return Finding("policy", "agent", "policy not checked", "no rule", why, "undecided")


def _of_breach(breach: Breach) -> Finding:
    weight: Weight = "state"
    kind = "broke the policy"
    if breach.kind is Kind.FORM:
        kind, weight = "matter of form", "manner"
    elif not breach.done:
        kind, weight = "tried to break the policy", "remark"
    elif breach.demanded:
        kind, weight = "broke the policy as demanded", "remark"
    return Finding(
        "policy",
        "agent",
        kind,
        breach.rule,
        breach.text,
        "proven" if breach.kind is Kind.STATE else "likely",
        breach.message_index,
        None if breach.call is None else render_call(breach.call),
        weight=weight,
    )


def _undecided(about: Doubt | RuleFault, words: str) -> Finding:
    return Finding(
        "policy",
        "agent",
        "policy undecided",
        about.rule,
        words,
        "undecided",
        about.message_index,
        None if about.call is None else render_call(about.call),
        weight="manner" if about.kind is Kind.FORM else "state",
    )


def user_unread(why: str) -> Finding:
    """Return the finding that nobody could look for faults of the user."""
    return Finding("user", "user", NOT_READ, NOT_READ, why, "undecided", weight="remark")


def user_findings(found: UserFaults, cause: Finding | None, last: int) -> list[Finding]:
    """Return the faults of the user, with the failure that its ``cause`` puts on the user.

    ``last`` is the last message, for a cause that names none.
    """
    if found.unreadable is not None:
        return [user_unread(found.unreadable)]
    findings = [
        Finding(
            *("user", "user", each.kind.value, each.kind.value, each.text),
            message=each.message_index,
            evidence=(f"\u201c{excerpt(each.quote, _LONGEST_QUOTE)}\u201d",) if each.quote else (),
        )
        for each in found.faults
    ]
    if cause is not None and cause.who == "user":
        kind = _USER_KINDS.get(cause.rule, _USER_KINDS.get(cause.kind, FaultKind.CHOICE)).value
        if kind not in {each.kind for each in findings}:
            text = f"the failure is the user's, {cause.kind}"
            place = _message_about_user(cause.evidence, last)
            findings.append(
                Finding(
                    "user", "user", kind, cause.rule, text, message=place, evidence=cause.evidence
                )
            )
    return findings


def _message_about_user(evidence: Sequence[str], last: int) -> int:
    lines = sorted(evidence, key=lambda line: "the user" not in line)
    return next((int(each) for line in lines for each in _PLACE.findall(line)), last)
