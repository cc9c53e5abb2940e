"""Comparing runs: compare and gate."""
