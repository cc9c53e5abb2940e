"""The state of the world after each message of a recorded conversation."""

from maseval.benchmark.tau2.review.timeline.moments import Mismatch, Moment, RepeatedCall
from maseval.benchmark.tau2.review.timeline.timeline import (
    FoundRecord,
    RecordSearch,
    Timeline,
    timeline,
)

__all__ = [
    "FoundRecord",
    "Mismatch",
    "Moment",
    "RecordSearch",
    "RepeatedCall",
    "Timeline",
    "timeline",
]
