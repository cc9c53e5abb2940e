"""Traces of a benchmark's repetitions, sent while it runs."""

import logging
from collections.abc import Callable, Sequence

from maseval.core.benchmark import Benchmark
from maseval.core.callbacks import BenchmarkCallback
from maseval.core.report import Report
from maseval.interface.telemetry.otlp import LangfuseReceiver, OTLPReceiver
from maseval.interface.telemetry.sender import END_SECONDS, Delivery, Sender

logger = logging.getLogger(__name__)


class _TraceCallback(BenchmarkCallback):
    """Sends a trace for each finished repetition; the run never waits for it."""

    name: str

    def __init__(self, make: Callable[[], OTLPReceiver]) -> None:
        self.delivery = Delivery()
        make()  # a wrong address and a missing library are reported before the run
        self._make = make
        self._sender: Sender[Report] | None = None

    def on_task_repeat_end(self, benchmark: Benchmark, report: Report) -> None:
        if self._sender is None:
            self._sender = Sender(self._make())
        self._sender.put(report)

    def on_run_end(self, benchmark: Benchmark, results: Sequence[Report]) -> None:
        if self._sender is None:
            return
        self.delivery, self._sender = self._sender.finish(END_SECONDS), None
        if self.delivery.unsent:
            logger.warning("%s: %s", self.name, self.delivery)


class OpenTelemetryCallback(_TraceCallback):
    """Sends a trace for each finished repetition to an OTLP endpoint.

    The run never waits for it. At its end at most ``END_SECONDS`` are spent on what is still to be
    sent; if something was not, a warning is logged, and ``delivery`` has the numbers. The trace of
    a repetition always has the same ids, so that sending it again adds nothing.

    Args:
        endpoint: The base URL of an OTLP/HTTP receiver; by default ``OTEL_EXPORTER_OTLP_ENDPOINT``,
            or ``http://localhost:4318``.
        content: Also send what was said, and what tools were given and returned.
    """

    name = "OpenTelemetry"

    def __init__(self, endpoint: str | None = None, *, content: bool = False) -> None:
        super().__init__(lambda: OTLPReceiver(endpoint, content=content))


class LangfuseCallback(_TraceCallback):
    """Sends a trace for each finished repetition; see ``OpenTelemetryCallback``.

    Args:
        host: Its URL; by default ``LANGFUSE_HOST``, or Langfuse's cloud. The keys are
            ``LANGFUSE_PUBLIC_KEY`` and ``LANGFUSE_SECRET_KEY``.
        session: What all traces are grouped under; by default the id of the run.
        content: Also send what was said, and what tools were given and returned.
    """

    name = "Langfuse"

    def __init__(
        self, host: str | None = None, *, session: str | None = None, content: bool = False
    ) -> None:
        super().__init__(lambda: LangfuseReceiver(host, session=session, content=content))
