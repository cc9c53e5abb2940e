"""Explanations of verdicts: the reasons for a reward, and what would have changed it."""

from maseval.benchmark.tau2.domains.permanence import ABSENT
from maseval.benchmark.tau2.explain.divergence import Divergence
from maseval.benchmark.tau2.explain.evidence import (
    AssertionEvidence,
    CommunicationEvidence,
    Quote,
)
from maseval.benchmark.tau2.explain.explaining import explain
from maseval.benchmark.tau2.explain.explanation import Explanation
from maseval.benchmark.tau2.explain.findings import CheckSummary, ReplayFault
from maseval.benchmark.tau2.explain.repair import CallChange, Repair
from maseval.benchmark.tau2.explain.snapshot import FieldPlace
from maseval.benchmark.tau2.explain.tracing import CallAt, WrongField

__all__ = [
    "ABSENT",
    "AssertionEvidence",
    "CallAt",
    "CallChange",
    "CheckSummary",
    "CommunicationEvidence",
    "Divergence",
    "Explanation",
    "FieldPlace",
    "Quote",
    "Repair",
    "ReplayFault",
    "WrongField",
    "explain",
]
