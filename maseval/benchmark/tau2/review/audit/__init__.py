"""Findings about the benchmark itself: its tasks, policies and reference solutions."""

from maseval.benchmark.tau2.review.audit.auditing import audit, document
from maseval.benchmark.tau2.review.audit.soundness import check_domain
from maseval.benchmark.tau2.review.audit.subject import KINDS, SEVERITIES, Finding, Severity

__all__ = ["KINDS", "SEVERITIES", "Finding", "Severity", "audit", "check_domain", "document"]
