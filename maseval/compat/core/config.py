"""``ConfigurableMixin``: ``maseval.core.tracing``."""

from maseval.core.tracing import ConfigurableMixin

__all__ = ["ConfigurableMixin"]
