"""Traces over OTLP/HTTP, by OpenTelemetry's own exporter (the ``opentelemetry-sdk`` package).

Langfuse takes them at an endpoint of its own, with the keys of a project. The callbacks send each
repetition of a benchmark while it runs.

Spans are made with the times that reports have, not with those of sending. The exporter honours
the variables ``OTEL_EXPORTER_OTLP_*``, and the resource ``OTEL_SERVICE_NAME`` and
``OTEL_RESOURCE_ATTRIBUTES``.
"""

import base64
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

from maseval.core.benchmark import Benchmark
from maseval.core.callbacks import BenchmarkCallback
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import RecordedReport
from maseval.core.report import Report
from maseval.core.storage.redaction import Secrets, redact_text
from maseval.core.words import excerpt
from maseval.interface import extras
from maseval.interface.telemetry.sender import END_SECONDS, Delivery, DeliveryError, Sender
from maseval.interface.telemetry.simulation import SCHEMA_URL, simulation_span, trace_of
from maseval.interface.telemetry.span import NumberedSpan, Value, drop_unknown, number_spans

EXTRA = "otel"
PATH = "/v1/traces"
_EXPORTER = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
_LOGGER = "opentelemetry.exporter"
_SAMPLED = 1


class OTLPReceiver:
    """An OTLP endpoint; ``send`` takes reports.

    Args:
        endpoint: Its base URL, to which ``/v1/traces`` is added unless it is there; by default
            what the variables say, or ``http://localhost:4318``.
        headers: Sent with every request, beside those of the variables.
        content: Also send what was said, and what tools were given and returned.
        attributes: Added to the first span of every trace.
    """

    def __init__(
        self,
        endpoint: str | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        content: bool = False,
        attributes: Callable[[Report], Mapping[str, Value]] = lambda report: {},
    ) -> None:
        self.endpoint = None if endpoint is None else traces_url(endpoint)
        self._headers = dict(headers or {})
        self._content, self._attributes = content, attributes
        self._clean = clean_text()
        self._exporter: Any = None
        self._failure: Exception | None = None
        self._over = threading.Event()
        extras.load(_EXPORTER, extra=EXTRA, package="opentelemetry-exporter-otlp-proto-http")

    def send(self, reports: Sequence[Report], /) -> None:
        """Export the traces of reports as one request."""
        if self._over.is_set():
            raise DeliveryError("sending was given up")
        if self._exporter is None:
            self._exporter = self._make_exporter()
        self._failure = None
        with _LastWords() as words:
            result = self._exporter.export(list(self._spans(reports)))
        if result.name != "SUCCESS":
            raise DeliveryError(self._clean(excerpt(self._failure or words.text)))

    def abort(self) -> None:
        if not self._over.is_set() and self._exporter is not None:
            self._exporter.shutdown()
        self._over.set()

    def _make_exporter(self) -> Any:
        session = import_module("requests").Session()
        session.hooks["response"].append(_check_answer)
        session.request = self._remember_failure(session.request)
        kind = import_module(_EXPORTER).OTLPSpanExporter
        return kind(endpoint=self.endpoint, headers=self._headers or None, session=session)

    def _remember_failure(self, request: Callable[..., object]) -> Callable[..., object]:
        """Wrap a request so that its failure is kept; the exporter only says that it gave up."""

        def send(*args: object, **options: object) -> object:
            try:
                return request(*args, **options)
            except Exception as error:
                self._failure = _innermost(error)
                raise

        return send

    def _spans(self, reports: Sequence[Report]) -> Iterator[object]:
        sdk = import_module("opentelemetry.sdk.trace")
        scope = _scope()
        resource = _resource()
        for report in reports:
            trace = trace_of(report)
            root = simulation_span(report, content=self._content)
            root.attributes |= self._attributes(report)
            for each in number_spans(root, trace):
                yield sdk.ReadableSpan(
                    **self._span_fields(each, trace), resource=resource, instrumentation_scope=scope
                )

    def _span_fields(self, each: NumberedSpan, trace: int) -> dict[str, object]:
        api = import_module("opentelemetry.trace")
        sdk = import_module("opentelemetry.sdk.trace")
        span = each.span
        code = api.StatusCode.UNSET if span.error is None else api.StatusCode.ERROR
        return {
            "name": self._clean(span.name),
            "context": _context(trace, each.id),
            "parent": None if each.parent is None else _context(trace, each.parent),
            "kind": api.SpanKind.CLIENT if span.client else api.SpanKind.INTERNAL,
            "attributes": self._clean_all(span.attributes),
            "events": [
                sdk.Event(name, self._clean_all(attributes), span.end)
                for name, attributes in span.events.items()
            ],
            "status": api.Status(code, span.error and self._clean(span.error)),
            "start_time": span.start,
            "end_time": span.end,
        }

    def _clean_all(self, attributes: Mapping[str, Value]) -> dict[str, Value]:
        return {key: self._clean_value(value) for key, value in attributes.items()}

    def _clean_value(self, value: Value) -> Value:
        if isinstance(value, tuple):
            return tuple(map(self._clean, value))
        return self._clean(value) if isinstance(value, str) else value


def clean_text() -> Callable[[str], str]:
    """Return a function that removes the secrets of the environment from a text."""
    known = Secrets.of({})
    return lambda text: redact_text(known.removed_from_text(text))


def traces_url(endpoint: str) -> str:
    """Return the URL at which an endpoint takes traces; raise for what is not an address."""
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ConfigurationError(
            f"the OTLP endpoint is {redact_text(endpoint)!r}; give the URL of an OTLP/HTTP "
            "receiver, such as http://localhost:4318"
        )
    return endpoint if endpoint.endswith(PATH) else f"{endpoint.rstrip('/')}{PATH}"


def _context(trace: int, span: int) -> object:
    api = import_module("opentelemetry.trace")
    return api.SpanContext(trace, span, is_remote=False, trace_flags=api.TraceFlags(_SAMPLED))


def _scope() -> object:
    util = import_module("opentelemetry.sdk.util.instrumentation")
    return util.InstrumentationScope("maseval", version("maseval"), SCHEMA_URL)


def _resource() -> object:
    resources = import_module("opentelemetry.sdk.resources")
    ours = resources.Resource({"service.name": "maseval", "service.version": version("maseval")})
    return ours.merge(resources.OTELResourceDetector().detect())


def _check_answer(response: Any, **options: object) -> None:
    """Raise for an answer that an OTLP endpoint does not give, though its status is a good one."""
    body = response.content  # read to its end in any case, so that the connection is free again
    if response.status_code >= 400:
        return
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip()
    if response.status_code >= 300 or not _is_taken(body, kind):
        raise DeliveryError(
            f"{redact_text(response.url)} does not answer like an OTLP endpoint "
            f"(status {response.status_code}, {kind or 'no type'})"
        )


def _is_taken(body: bytes, kind: str) -> bool:
    if not body:
        return True
    if kind == "application/json":
        return isinstance(json.loads(body), dict)
    if kind != "application/x-protobuf":
        return False
    service = import_module("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    partial = service.ExportTraceServiceResponse.FromString(body).partial_success
    if partial.rejected_spans:
        raise DeliveryError(
            f"the endpoint refused {partial.rejected_spans} spans: {partial.error_message}"
        )
    return True


def _innermost(error: Exception) -> Exception:
    """Return the cause of an error of the HTTP library, which wraps others in words of its own."""
    inner = getattr(error, "reason", None) or next(iter(error.args), None)
    return _innermost(inner) if isinstance(inner, Exception) else error


class _LastWords(logging.Handler):
    """A log handler that keeps why an export failed: the exporter says so to its log alone.

    With a handler on it, the log does not print to a terminal by itself either.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.text: str | None = None
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:
            self.text = record.getMessage()

    def __enter__(self) -> "_LastWords":
        logging.getLogger(_LOGGER).addHandler(self)
        return self

    def __exit__(self, *error: object) -> None:
        logging.getLogger(_LOGGER).removeHandler(self)


PUBLIC_KEY, SECRET_KEY = "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"
_HOSTS = ("LANGFUSE_HOST", "LANGFUSE_BASE_URL")
_CLOUD = "https://cloud.langfuse.com"
_ENDPOINT = "/api/public/otel"


def langfuse_host(host: str | None = None) -> str:
    """Return Langfuse's URL: the one given, that of a variable, or its cloud."""
    return (host or next(filter(None, map(os.environ.get, _HOSTS)), _CLOUD)).rstrip("/")


class LangfuseReceiver(OTLPReceiver):
    """Langfuse's endpoint; ``session`` groups traces, by default the id of the run does."""

    def __init__(
        self, host: str | None = None, *, session: str | None = None, content: bool = False
    ) -> None:
        keys = base64.b64encode(":".join(_keys()).encode()).decode()
        super().__init__(
            langfuse_host(host) + _ENDPOINT,
            {"Authorization": f"Basic {keys}"},
            content=content,
            attributes=lambda report: _trace_attributes(report, session),
        )


def _keys() -> tuple[str, str]:
    public, secret = (os.environ.get(name) for name in (PUBLIC_KEY, SECRET_KEY))
    if not public or not secret:
        raise ConfigurationError(
            f"Langfuse needs {PUBLIC_KEY} and {SECRET_KEY} in the environment; the settings of a "
            "Langfuse project have both"
        )
    return public, secret


def _trace_attributes(given: Report, session: str | None) -> Mapping[str, Value]:
    report = RecordedReport(given)
    domain, task, trial = report.key
    return drop_unknown(
        {
            "langfuse.trace.name": " ".join(filter(None, (domain, task))),
            "langfuse.session.id": session or report.run_id or "",
            "langfuse.trace.tags": (report.kind,),
            "langfuse.trace.metadata.domain": domain or None,
            "langfuse.trace.metadata.task_id": task,
            "langfuse.trace.metadata.trial": trial,
            "langfuse.trace.metadata.outcome": report.kind,
            "langfuse.trace.metadata.reward": report.reward,
        }
    )


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
