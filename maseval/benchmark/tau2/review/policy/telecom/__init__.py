"""The carrier's policy as rules."""
