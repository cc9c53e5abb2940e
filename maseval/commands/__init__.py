"""The commands as functions of the same names: ``maseval tau2 run`` is ``tau2.run``.

Each function takes what the command takes, prints nothing, and returns a typed result. The classes
are for packages that add a benchmark to the commands (``BenchmarkSupport``).
"""

from maseval.core import lazy

__all__ = lazy.attach(__name__, __file__)
