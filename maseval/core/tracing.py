"""Components report two things after a repetition: their traces and their configuration.

Subclasses extend the result with ``{**super().gather_traces(), ...}``; everything in it must be
JSON-serialisable, because it becomes part of the report.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeAlias

from maseval.core.storage.redaction import redact_text

JsonObject: TypeAlias = dict[str, Any]
"""JSON-friendly data whose keys only its writer knows: traces, settings, verdicts, task data."""


def now() -> str:
    """Return the local time in ISO 8601; every timestamp of the core comes from here."""
    return datetime.now().isoformat()


@contextmanager
def note_end(entry: Any) -> Iterator[None]:
    """Note in the entry of a log how long a call took, and the error that it ended with."""
    started = time.perf_counter()
    try:
        yield
    except BaseException as error:  # a deadline and Ctrl-C as well
        entry["status"] = "error"
        entry["error"] = redact_text(str(error))
        entry["error_type"] = type(error).__name__
        raise
    finally:
        entry["duration_seconds"] = time.perf_counter() - started


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
