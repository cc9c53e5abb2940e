"""Adapters to language models, one file for each library.

Every name can be listed and imported without any of the libraries, which are needed only at use.
"""

from maseval.core import lazy

__all__ = lazy.attach(__name__, __file__)
