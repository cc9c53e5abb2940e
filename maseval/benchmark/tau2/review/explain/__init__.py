"""Explanations of verdicts: the reasons for a reward, and what would have changed it."""

from maseval.core import lazy

__all__ = lazy.attach(__name__, __file__)
