"""Is the benchmark itself right? Findings about tasks, policies and reference solutions."""

from maseval.benchmark.tau2.trust.audit.auditing import audit
from maseval.benchmark.tau2.trust.audit.document import document
from maseval.benchmark.tau2.trust.audit.finding import KINDS, SEVERITIES, Finding, Severity

__all__ = ["KINDS", "SEVERITIES", "Finding", "Severity", "audit", "document"]
