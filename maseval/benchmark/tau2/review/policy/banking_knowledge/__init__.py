"""The bank's policy as rules."""
