"""Evaluate agent systems: their architecture, prompts, tools and coordination, not only models.

Write a benchmark by subclassing ``Benchmark``, or use one that is here (``maseval.benchmark``). The
public names are listed in ``__init__.pyi``; each is loaded when it is first used.
"""

import maseval.compat  # noqa: F401 - the former import paths
from maseval.core import lazy

__version__ = "0.7.0"

__all__ = lazy.attach(__name__, __file__)
