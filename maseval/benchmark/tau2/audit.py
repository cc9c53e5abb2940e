"""Is the benchmark itself right? Findings about tasks, policies and reference solutions.

The public door of ``maseval.benchmark.tau2.trust.audit``.
"""

from maseval.benchmark.tau2.trust.audit import *  # noqa: F403
from maseval.benchmark.tau2.trust.audit import __all__ as __all__
