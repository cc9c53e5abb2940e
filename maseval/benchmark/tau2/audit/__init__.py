"""Is the benchmark itself right? Findings about tasks, policies and reference solutions."""

from maseval.benchmark.tau2.audit.auditing import audit
from maseval.benchmark.tau2.audit.document import document
from maseval.benchmark.tau2.audit.finding import KINDS, SEVERITIES, Finding, Severity
from maseval.benchmark.tau2.audit.soundness import check_domain

__all__ = ["KINDS", "SEVERITIES", "Finding", "Severity", "audit", "check_domain", "document"]
