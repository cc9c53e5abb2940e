"""Why this verdict: what decided a simulation's reward, and what would have changed it.

The public door of ``maseval.benchmark.tau2.trust.explain``.
"""

from maseval.benchmark.tau2.trust.explain import (
    ABSENT,
    AssertionEvidence,
    CallAt,
    Change,
    CheckSummary,
    CommunicationEvidence,
    Divergence,
    Explanation,
    Place,
    Quote,
    Repair,
    ReplayFault,
    WrongField,
    explain,
)

__all__ = [
    "ABSENT",
    "AssertionEvidence",
    "CallAt",
    "Change",
    "CheckSummary",
    "CommunicationEvidence",
    "Divergence",
    "Explanation",
    "Place",
    "Quote",
    "Repair",
    "ReplayFault",
    "WrongField",
    "explain",
]
