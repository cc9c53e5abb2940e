"""Run folders: every finished simulation is saved immediately, and a run can always be resumed."""

from maseval.core import lazy

__all__ = lazy.attach(__name__, __file__)
