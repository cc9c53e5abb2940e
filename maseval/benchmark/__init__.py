"""The benchmarks that come with maseval, each a package of its own."""

from maseval.core import lazy

__all__ = lazy.attach(__name__, __file__)
