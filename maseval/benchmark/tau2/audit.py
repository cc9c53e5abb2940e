"""Is the benchmark itself right? Findings about tasks, policies and reference solutions.

The public door of ``maseval.benchmark.tau2.trust.audit``.
"""

from maseval.benchmark.tau2.trust.audit import (
    KINDS,
    SEVERITIES,
    Finding,
    Severity,
    audit,
    document,
)

__all__ = [
    "KINDS",
    "SEVERITIES",
    "Finding",
    "Severity",
    "audit",
    "document",
]
