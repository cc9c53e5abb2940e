"""Compliance: which rules of the policy a recorded conversation broke on its way."""

from maseval.benchmark.tau2.review.policy.checking import (
    check_case,
    check_gold,
    check_simulation,
    forbidden_steps,
)
from maseval.benchmark.tau2.review.policy.finding import Breach, Compliance, Doubt, RuleFault
from maseval.benchmark.tau2.scoring.case import scenario_text

__all__ = [
    "Breach",
    "Compliance",
    "Doubt",
    "RuleFault",
    "check_case",
    "check_gold",
    "check_simulation",
    "forbidden_steps",
    "scenario_text",
]
