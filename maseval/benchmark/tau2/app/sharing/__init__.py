"""Submitting tau2 results to the public leaderboard."""
