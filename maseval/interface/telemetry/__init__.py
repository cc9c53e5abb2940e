"""Traces of runs for tools that collect them; nothing is imported until it is used."""

from maseval.core import lazy

__all__ = lazy.attach(__name__, __file__)
