"""The same conversations under several releases: which verdicts change, and why."""

from maseval.benchmark.tau2.rescoring.reasons import Reason
from maseval.benchmark.tau2.rescoring.releases import (
    ReleaseTotals,
    ScoredUnder,
    VerdictChange,
    score_under,
)

__all__ = ["Reason", "ReleaseTotals", "ScoredUnder", "VerdictChange", "score_under"]
