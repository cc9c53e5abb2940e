"""Observers of a run: the hooks, and those that come with the core."""

from maseval.core.callbacks.base import AgentCallback as AgentCallback
from maseval.core.callbacks.base import BenchmarkCallback as BenchmarkCallback
from maseval.core.callbacks.base import CallbackHandler as CallbackHandler
from maseval.core.callbacks.base import EnvironmentCallback as EnvironmentCallback
from maseval.core.callbacks.message_tracing import (
    MessageTracingAgentCallback as MessageTracingAgentCallback,
)
from maseval.core.callbacks.message_tracing import MessageTracingCallback as MessageTracingCallback
from maseval.core.callbacks.progress import ProgressBarCallback as ProgressBarCallback
from maseval.core.callbacks.progress import RichProgressBarCallback as RichProgressBarCallback
from maseval.core.callbacks.progress import TqdmProgressBarCallback as TqdmProgressBarCallback
from maseval.core.callbacks.progress import progress_callback as progress_callback
from maseval.core.callbacks.result_logger import FileResultLogger as FileResultLogger
from maseval.core.callbacks.result_logger import ResultLogger as ResultLogger
from maseval.core.callbacks.result_logger import read_reports as read_reports
from maseval.core.storage.records import TornRecordWarning as TornRecordWarning
