"""Plots as SVG text, drawn without a library, for a page or a file, in light and dark."""

from maseval.stats.plots.cost_and_score import cost_and_score
from maseval.stats.plots.differences import difference_plot
from maseval.stats.plots.label_bars import label_bars
from maseval.stats.plots.pass_curves import pass_curves
from maseval.stats.plots.trial_map import trial_map

__all__ = ["cost_and_score", "difference_plot", "label_bars", "pass_curves", "trial_map"]
