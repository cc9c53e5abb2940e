"""Can the number be trusted? Rewards recomputed, records checked, the outcome certified.

The public door of ``maseval.benchmark.tau2.trust.certify``.
"""

from maseval.benchmark.tau2.trust.certify import *  # noqa: F403
from maseval.benchmark.tau2.trust.certify import __all__ as __all__
