"""Runs as tables with typed columns, for pandas, polars, DuckDB, Arrow or a file."""

from maseval.frames.frame import TABLES, Column, Frame, TableForm
from maseval.frames.tables import (
    checks,
    messages,
    policy,
    remarks,
    runs,
    scores,
    simulations,
    sound,
    tool_calls,
    user_faults,
)

__all__ = [
    "TABLES",
    "Column",
    "Frame",
    "TableForm",
    "checks",
    "messages",
    "policy",
    "remarks",
    "runs",
    "scores",
    "simulations",
    "sound",
    "tool_calls",
    "user_faults",
]
