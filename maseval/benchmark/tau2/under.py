"""The same conversations under several releases: which verdicts change, and why.

The public door of ``maseval.benchmark.tau2.trust.under``.
"""

from maseval.benchmark.tau2.trust.under import *  # noqa: F403
from maseval.benchmark.tau2.trust.under import __all__ as __all__
