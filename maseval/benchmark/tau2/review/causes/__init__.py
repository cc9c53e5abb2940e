"""Causes: who failed in a failed conversation, and which faults the simulated user made."""

from maseval.benchmark.tau2.review.causes.failure import user_findings
from maseval.benchmark.tau2.review.causes.steps import beside_policy, explain_with_cause, find_cause

__all__ = ["beside_policy", "explain_with_cause", "find_cause", "user_findings"]
