"""Observers of a run: the hooks, and those that come with the core."""

from maseval.core.callbacks.base import (
    AgentCallback,
    BenchmarkCallback,
    CallbackHandler,
    EnvironmentCallback,
)
from maseval.core.callbacks.message_tracing import (
    MessageTracingAgentCallback,
    MessageTracingCallback,
)
from maseval.core.callbacks.progress import (
    ProgressBarCallback,
    RichProgressBarCallback,
    TqdmProgressBarCallback,
    progress_callback,
)
from maseval.core.callbacks.result_logger import FileResultLogger, ResultLogger, read_reports
from maseval.core.storage.records import TornRecordWarning

__all__ = [
    "AgentCallback",
    "BenchmarkCallback",
    "CallbackHandler",
    "EnvironmentCallback",
    "FileResultLogger",
    "MessageTracingAgentCallback",
    "MessageTracingCallback",
    "ProgressBarCallback",
    "ResultLogger",
    "RichProgressBarCallback",
    "TornRecordWarning",
    "TqdmProgressBarCallback",
    "progress_callback",
    "read_reports",
]
