"""What a record of simulations amounts to, whatever it says of itself: every verdict recomputed."""

from maseval.benchmark.tau2.recount.causes import Cause
from maseval.benchmark.tau2.recount.recount import Recount, recount
from maseval.benchmark.tau2.recount.slots import PlannedTrial

__all__ = ["Cause", "PlannedTrial", "Recount", "recount"]
