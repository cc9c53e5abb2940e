"""Who failed: rule-based labels for failed simulations, and what they add up to.

The public door of ``maseval.benchmark.tau2.trust.labels``.
"""

from maseval.benchmark.tau2.trust.labels import *  # noqa: F403
from maseval.benchmark.tau2.trust.labels import __all__ as __all__
