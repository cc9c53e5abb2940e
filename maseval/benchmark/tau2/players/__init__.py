"""Agents and a user that need no model."""

from maseval.benchmark.tau2.players.benchmark import PlayerTau2Benchmark

__all__ = ["PlayerTau2Benchmark"]
