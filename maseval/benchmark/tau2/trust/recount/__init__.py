"""What a record of simulations amounts to, whatever it says of itself: every verdict recomputed."""

from maseval.benchmark.tau2.trust.recount.causes import Cause
from maseval.benchmark.tau2.trust.recount.recount import Recount, recount
from maseval.benchmark.tau2.trust.recount.slots import PlannedTrial

__all__ = ["Cause", "PlannedTrial", "Recount", "recount"]
