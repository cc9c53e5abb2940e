"""Statistics of runs: confidence intervals, paired tests, comparisons and plots."""

from maseval.core import lazy

__all__ = lazy.attach(__name__, __file__)
