"""The earlier home of :func:`serve_tools`, kept for code that imports it from here."""

from maseval.interface.agents.mcp import ServedTools, serve_tools

__all__ = ["ServedTools", "serve_tools"]
