"""Is a domain right? Its form, its files and tools, and every one of its tasks.

The public door of ``maseval.benchmark.tau2.trust.audit.soundness``.
"""

from maseval.benchmark.tau2.trust.audit.soundness import check_domain

__all__ = ["check_domain"]
