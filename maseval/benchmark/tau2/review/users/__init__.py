"""The simulated user: where it did not play the part that the task gives it."""

from maseval.benchmark.tau2.review.users.checking import check_user, check_user_of_case
from maseval.benchmark.tau2.review.users.finding import FaultKind, UserFault, UserFaults

__all__ = ["FaultKind", "UserFault", "UserFaults", "check_user", "check_user_of_case"]
