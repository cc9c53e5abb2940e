"""Compliance: which rules of the policy a recorded conversation broke on its way."""

from maseval.benchmark.tau2.review.policy.checking import (
    PolicyResult,
    check_case,
    check_gold,
    check_simulation,
    forbidden_steps,
    not_checked,
)
from maseval.benchmark.tau2.scoring.case import scenario_text

__all__ = [
    "PolicyResult",
    "check_case",
    "check_gold",
    "check_simulation",
    "forbidden_steps",
    "not_checked",
    "scenario_text",
]
