"""The commands about judges as functions: ``maseval judge ask`` is ``judge.ask``."""

from maseval.core import lazy

__all__ = lazy.attach(__name__, __file__)
