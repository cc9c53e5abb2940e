"""Runs as tables with typed columns, for pandas, polars, DuckDB, Arrow or a file."""

from maseval.frames.frame import TABLES, Column, Frame, TableForm
from maseval.frames.tables import (
    agents,
    checks,
    findings,
    messages,
    reliability,
    runs,
    scores,
    simulations,
    tool_calls,
)

__all__ = [
    "TABLES",
    "Column",
    "Frame",
    "TableForm",
    "agents",
    "checks",
    "findings",
    "messages",
    "reliability",
    "runs",
    "scores",
    "simulations",
    "tool_calls",
]
