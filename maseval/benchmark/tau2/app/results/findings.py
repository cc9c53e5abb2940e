"""The records of tau2's rooms as findings, until the rooms return findings themselves."""

from maseval.benchmark.tau2.review.explain.explanation import render_call
from maseval.benchmark.tau2.review.policy import Breach, Compliance, Doubt, RuleFault
from maseval.benchmark.tau2.review.policy.rules import Kind
from maseval.core.finding import Finding, Weight


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
