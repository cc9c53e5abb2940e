"""Why this verdict: what decided a simulation's reward, and what would have changed it.

The public door of ``maseval.benchmark.tau2.trust.explain``.
"""

from maseval.benchmark.tau2.trust.explain import *  # noqa: F403
from maseval.benchmark.tau2.trust.explain import __all__ as __all__
