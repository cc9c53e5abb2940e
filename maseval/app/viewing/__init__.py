"""Viewing runs in the browser, with libraries beyond the bare install."""
