"""Adapters to agent frameworks, one folder for each.

Every name can be listed and imported without any of the frameworks, which are needed only at use.
Each folder of a framework also has ``as_tools``, which turns functions into its own tools. What the
adapters share is beside the folders: ``framework``, ``tools``, ``failures`` and the rest.
"""

from maseval.core import lazy

__all__ = lazy.attach(__name__, __file__)
