"""Components report two things after a repetition: their traces and their configuration.

Subclasses extend the result with ``{**super().gather_traces(), ...}``; everything in it must be
JSON-serialisable, because it becomes part of the report.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
"""JSON-friendly data whose keys only its writer knows: traces, settings, verdicts, task data."""


def now() -> str:
    """Return the local time in ISO 8601; every timestamp of the core comes from here."""
    return datetime.now().isoformat()


def call_counts(logs: Sequence[Mapping[str, Any]], success: str = "success") -> JsonObject:
    """Count the calls in a log by their ``status``, with the log itself, for traces."""
    successes = sum(entry["status"] == success for entry in logs)
    return {
        "total_calls": len(logs),
        "successful_calls": successes,
        "failed_calls": len(logs) - successes,
        "logs": list(logs),
    }


class TraceableMixin:
    """A component that reports what happened to it."""

    def gather_traces(self) -> JsonObject:
        """Return what happened, as JSON-friendly data."""
        return {"type": type(self).__name__, "gathered_at": now()}


class ConfigurableMixin:
    """A component that reports its configuration."""

    def gather_config(self) -> JsonObject:
        """Return the settings, as JSON-friendly data."""
        return {"type": type(self).__name__, "gathered_at": now()}
