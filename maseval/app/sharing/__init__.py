"""Sharing runs: bundles, and sending runs to trackers."""
