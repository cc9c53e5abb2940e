"""Statistics of runs: confidence intervals, paired tests, comparisons and plots."""

from maseval.core.outcome import Outcome
from maseval.stats.bootstrap import bootstrap_nested, bootstrap_tasks
from maseval.stats.comparison import (
    Comparison,
    ComparisonTable,
    Difference,
    Flip,
    Pair,
    compare,
    compare_all,
    holm,
)
from maseval.stats.comparison import ComparisonTable as Table  # its earlier name
from maseval.stats.compatibility import Compatibility, IncomparableRunsError, compatibility
from maseval.stats.estimation import Estimate, estimate
from maseval.stats.intervals import Interval, mean_interval, wilson
from maseval.stats.planning import Requirement, SamplePlan, requirement
from maseval.stats.planning import SamplePlan as Plan  # its earlier name
from maseval.stats.plots import (
    cost_and_score,
    difference_plot,
    label_bars,
    pass_curves,
    trial_map,
)
from maseval.stats.sign_flip import FlipTest, sign_flip_test
from maseval.stats.summary import GroupSummary, Summary, summarise
from maseval.stats.trials import outcomes_of, pass_at_k, pass_hat_k

__all__ = [
    "Comparison",
    "ComparisonTable",
    "Compatibility",
    "Difference",
    "Estimate",
    "Flip",
    "FlipTest",
    "GroupSummary",
    "IncomparableRunsError",
    "Interval",
    "Outcome",
    "Pair",
    "Plan",
    "Requirement",
    "SamplePlan",
    "Summary",
    "Table",
    "bootstrap_nested",
    "bootstrap_tasks",
    "compare",
    "compare_all",
    "compatibility",
    "cost_and_score",
    "difference_plot",
    "estimate",
    "holm",
    "label_bars",
    "mean_interval",
    "outcomes_of",
    "pass_at_k",
    "pass_curves",
    "pass_hat_k",
    "requirement",
    "sign_flip_test",
    "summarise",
    "trial_map",
    "wilson",
]
