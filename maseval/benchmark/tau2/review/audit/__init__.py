"""Findings about the benchmark itself: its tasks, policies and reference solutions."""

from maseval.benchmark.tau2.review.audit.audited import KINDS, SEVERITIES, Severity, TaskFinding
from maseval.benchmark.tau2.review.audit.auditing import audit, check_domain

__all__ = ["KINDS", "SEVERITIES", "Severity", "TaskFinding", "audit", "check_domain"]
