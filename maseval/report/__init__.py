"""The report as one HTML file that opens from disk: no server, no network, nothing to install."""

from maseval.core import lazy

__all__ = lazy.attach(__name__, __file__)
