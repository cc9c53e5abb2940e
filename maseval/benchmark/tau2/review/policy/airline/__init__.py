"""The airline's policy as rules."""
