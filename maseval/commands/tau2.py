"""The commands of tau2 as functions: ``maseval score`` is ``tau2.score``."""

from maseval.core import lazy

__all__ = lazy.attach(__name__, __file__)
