"""Scripted agents, a scripted user, and people: participants that need no model."""

from maseval.benchmark.tau2.players.benchmark import PlayerTau2Benchmark

__all__ = ["PlayerTau2Benchmark"]
