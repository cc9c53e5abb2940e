"""Experiment trackers, one file for each; none of their libraries is imported until it is used."""

from maseval.core import lazy

__all__ = lazy.attach(__name__, __file__)
