"""Causes: who failed in a failed conversation, and which faults the simulated user made."""

from maseval.benchmark.tau2.review.causes.cause import (
    explain_with_cause,
    find_cause,
    meaning_of,
)
from maseval.benchmark.tau2.review.causes.users import user_findings

__all__ = ["explain_with_cause", "find_cause", "meaning_of", "user_findings"]
