"""The state of the world after each message of a recorded conversation.

The public door of ``maseval.benchmark.tau2.trust.timeline``.
"""

from maseval.benchmark.tau2.trust.timeline import *  # noqa: F403
from maseval.benchmark.tau2.trust.timeline import __all__ as __all__
