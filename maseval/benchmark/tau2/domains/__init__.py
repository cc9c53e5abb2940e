"""The worlds of tau2, and how to add one: ``DOMAINS`` are those that come with maseval."""

from maseval.core import lazy

__all__ = lazy.attach(__name__, __file__)
