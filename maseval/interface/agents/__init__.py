"""Adapters to agent frameworks, one file for each.

Every name can be listed and imported without any of the frameworks; they are needed at use. Each
file also has ``as_tools``, which turns functions into the framework's own tools.
"""

from maseval.core import lazy

__getattr__, __dir__, __all__ = lazy.attach(__name__, __file__)
