"""Findings about the benchmark itself: its tasks, policies and reference solutions."""

from maseval.benchmark.tau2.review.audit.auditing import audit
from maseval.benchmark.tau2.review.audit.domain_check import check_domain
from maseval.benchmark.tau2.review.audit.task_finding import (
    KINDS,
    SEVERITIES,
    Severity,
    TaskFinding,
)

__all__ = ["KINDS", "SEVERITIES", "Severity", "TaskFinding", "audit", "check_domain"]
