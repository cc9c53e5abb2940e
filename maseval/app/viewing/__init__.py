"""Viewing runs in the browser."""
