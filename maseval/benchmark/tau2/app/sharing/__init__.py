"""Exports of tau2 runs."""
