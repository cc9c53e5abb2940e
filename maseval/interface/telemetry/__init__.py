"""What happened in a run, for tools that collect traces; nothing is imported until it is used."""

from maseval.core import lazy

__all__ = lazy.attach(__name__, __file__)
