"""The shop's policy as rules."""
