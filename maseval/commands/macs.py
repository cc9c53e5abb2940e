"""The commands of MACS as functions: ``maseval macs run`` is ``macs.run``."""

from maseval.core import lazy

__all__ = lazy.attach(__name__, __file__)
