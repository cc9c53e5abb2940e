"""Plots as SVG text, drawn without a library, for a page or a file, in light and dark."""

from maseval.stats.plots.score_plots import (
    cost_and_score,
    difference_plot,
    effects_plot,
    pass_curves,
)
from maseval.stats.plots.trial_plots import label_bars, trial_map

__all__ = [
    "cost_and_score",
    "difference_plot",
    "effects_plot",
    "label_bars",
    "pass_curves",
    "trial_map",
]
