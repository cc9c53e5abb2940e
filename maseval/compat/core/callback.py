"""The callbacks' base classes: ``maseval.core.callbacks.base``."""

from maseval.core.callbacks.base import AgentCallback, BenchmarkCallback, EnvironmentCallback

__all__ = ["AgentCallback", "BenchmarkCallback", "EnvironmentCallback"]
