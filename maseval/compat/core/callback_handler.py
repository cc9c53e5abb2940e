"""``CallbackHandler``: ``maseval.core.callbacks.base``."""

from maseval.core.callbacks.base import CallbackHandler

__all__ = ["CallbackHandler"]
