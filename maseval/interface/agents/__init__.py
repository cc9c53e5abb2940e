"""Adapters to agent frameworks, one file for each, named after it.

Every name can be listed and imported without any of the frameworks, which are needed only at use.
Each framework's file also has ``as_tools``, which turns functions into its own tools. All of them
share ``framework`` and ``tools``.
"""

from maseval.core import lazy

__all__ = lazy.attach(__name__, __file__)
