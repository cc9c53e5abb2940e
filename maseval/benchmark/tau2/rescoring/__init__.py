"""Verdicts of recorded simulations, recomputed and compared with what their record says.

``record`` opens a results file, simulations or the reports of a run; ``rescore`` scores every
simulation again (``verdict``) and counts them among those that were planned; ``findings`` says what
is wrong with a record. ``releases`` scores one record under several releases of tau2-bench.
"""

from maseval.benchmark.tau2.rescoring.releases import (
    ReleaseTotals,
    ScoredUnder,
    VerdictChange,
    score_under,
)

__all__ = ["ReleaseTotals", "ScoredUnder", "VerdictChange", "score_under"]
