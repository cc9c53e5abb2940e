"""Conversations and results in public formats: ATIF and Every Eval Ever."""
