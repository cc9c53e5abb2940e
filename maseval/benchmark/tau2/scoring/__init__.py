"""A finished conversation in, a verdict out."""

from maseval.benchmark.tau2.formats.simulation import RewardInfo
from maseval.benchmark.tau2.scoring.score import EvaluationType, score_simulation

__all__ = ["EvaluationType", "RewardInfo", "score_simulation"]
