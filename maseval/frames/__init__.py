"""Runs as tables with typed columns, for pandas, polars, DuckDB, Arrow or a file."""

from maseval.frames.columns import TABLES, Column, TableForm
from maseval.frames.frame import Frame
from maseval.frames.tables import (
    checks,
    findings,
    messages,
    remarks,
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
    "checks",
    "findings",
    "messages",
    "remarks",
    "runs",
    "scores",
    "simulations",
    "tool_calls",
]
