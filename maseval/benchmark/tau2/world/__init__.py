"""The world of a task: its databases and tools, how it begins, and where it should end."""

from maseval.benchmark.tau2.world.world import World

__all__ = ["World"]
