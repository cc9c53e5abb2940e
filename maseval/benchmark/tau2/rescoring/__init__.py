"""The same conversations under several releases: which verdicts change, and why."""

from maseval.benchmark.tau2.rescoring.change import ReleaseTotals, VerdictChange
from maseval.benchmark.tau2.rescoring.reasons import Reason
from maseval.benchmark.tau2.rescoring.under import ScoredUnder, score_under

__all__ = ["Reason", "ReleaseTotals", "ScoredUnder", "VerdictChange", "score_under"]
