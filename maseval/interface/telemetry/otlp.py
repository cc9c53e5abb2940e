"""Traces over OTLP/HTTP, by OpenTelemetry's own exporter (the ``opentelemetry-sdk`` package).

Langfuse takes them at an endpoint of its own, with the keys of a project. A run does not fail when
a receiver does.

Spans are made with the times that reports have, not with those of sending. The exporter honours
the variables ``OTEL_EXPORTER_OTLP_*``, and the resource ``OTEL_SERVICE_NAME`` and
``OTEL_RESOURCE_ATTRIBUTES``.
"""

import base64
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

from maseval.core.benchmark import Benchmark
from maseval.core.callbacks import BenchmarkCallback
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.outcome import RecordedReport
from maseval.core.report import Report
from maseval.core.storage.redaction import Secrets, redact_text, redact_value
from maseval.core.words import excerpt
from maseval.interface import extras
from maseval.interface.telemetry.simulation import (
    EVALUATION,
    SCHEMA_URL,
    Evaluation,
    Value,
    number_spans,
    simulation_span,
    trace_of,
    verdicts_of,
)

EXTRA = "otel"
PATH = "/v1/traces"
_PROTOBUF = "application/x-protobuf"
_EXPORTER = "opentelemetry.exporter.otlp.proto.http.trace_exporter"

BATCH = 50


class DeliveryError(MASEvalError):
    """A receiver did not take what it was sent; the text says why."""


class OTLPReceiver:
    """An OTLP endpoint; ``send`` takes reports.

    Args:
        endpoint: Its base URL, to which ``/v1/traces`` is added unless it is there; by default
            what the variables say, or ``http://localhost:4318``.
        headers: Sent with every request, beside those of the variables.
        content: Also send what was said, and what tools were given and returned.
        attributes: Added to the first span of every trace.
        evaluations: Sent as events of the first span, after the verdicts.
    """

    def __init__(
        self,
        endpoint: str | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        content: bool = False,
        attributes: Callable[[Report], Mapping[str, Value]] = lambda report: {},
        evaluations: Callable[[Report], Iterable[Evaluation]] = lambda report: (),
    ) -> None:
        self.endpoint = None if endpoint is None else traces_url(endpoint)
        self._headers = dict(headers or {})
        self._content, self._attributes = content, attributes
        self._evaluations = evaluations
        self._known = Secrets.of({})
        self._exporter: Any = None
        self._failure: object = None
        extras.load(_EXPORTER, extra=EXTRA, package="opentelemetry-exporter-otlp-proto-http")
        # Otherwise it prints what went wrong to a terminal, in the middle of other output.
        logging.getLogger("opentelemetry.exporter").addHandler(logging.NullHandler())

    def send(self, reports: Sequence[Report], /) -> None:
        """Export the traces of reports as one request."""
        if self._exporter is None:
            self._exporter = self._make_exporter()
        self._failure = None
        result = self._exporter.export(list(self._spans(reports)))
        if result.name != "SUCCESS":
            raise DeliveryError(self._clean(excerpt(self._failure)))

    def close(self) -> None:
        if self._exporter is not None:
            self._exporter.shutdown()
            self._exporter = None

    def _make_exporter(self) -> Any:
        """Make an exporter whose session keeps why a request fails; it only says that it did."""
        session = import_module("requests").Session()
        request = session.request

        def send(*args: object, **options: object) -> Any:
            try:
                response = request(*args, **options)
            except Exception as error:
                self._failure = _innermost(error)
                raise
            _check_answer(response)
            if response.status_code >= 400:
                self._failure = f"status {response.status_code}: {response.text}"
            return response

        session.request = send
        kind = import_module(_EXPORTER).OTLPSpanExporter
        return kind(endpoint=self.endpoint, headers=self._headers or None, session=session)

    def _spans(self, reports: Sequence[Report]) -> Iterator[object]:
        api = import_module("opentelemetry.trace")
        sdk = import_module("opentelemetry.sdk.trace")
        util = import_module("opentelemetry.sdk.util.instrumentation")
        resources = import_module("opentelemetry.sdk.resources")
        ours = {"service.name": "maseval", "service.version": version("maseval")}
        given = resources.OTELResourceDetector().detect()
        origin = {
            "resource": resources.Resource(ours).merge(given),
            "instrumentation_scope": util.InstrumentationScope(
                "maseval", version("maseval"), SCHEMA_URL
            ),
        }

        def context(trace: int, span: int) -> object:
            flags = api.TraceFlags(api.TraceFlags.SAMPLED)
            return api.SpanContext(trace, span, is_remote=False, trace_flags=flags)

        for report in reports:
            trace = trace_of(report)
            root = simulation_span(report, content=self._content)
            root.attributes |= self._attributes(report)
            results = [*verdicts_of(report), *self._evaluations(report)]
            events = [
                sdk.Event(
                    EVALUATION, self._clean_all(result.attributes(content=self._content)), root.end
                )
                for result in results
            ]
            for span, own, parent in number_spans(root, trace):
                code = api.StatusCode.UNSET if span.error is None else api.StatusCode.ERROR
                yield sdk.ReadableSpan(
                    name=self._clean(span.name),
                    context=context(trace, own),
                    parent=None if parent is None else context(trace, parent),
                    kind=api.SpanKind.CLIENT if span.client else api.SpanKind.INTERNAL,
                    attributes=self._clean_all(span.attributes),
                    events=events if span is root else (),
                    status=api.Status(code, span.error and self._clean(span.error)),
                    start_time=span.start,
                    end_time=span.end,
                    **origin,
                )

    def _clean(self, text: str) -> str:
        """Return a text without the secrets of the environment."""
        return redact_text(self._known.removed_from_text(text))

    def _clean_all(self, attributes: Mapping[str, Value]) -> dict[str, Value]:
        return {
            key: tuple(map(self._clean, value))
            if isinstance(value, tuple)
            else self._clean(value)
            if isinstance(value, str)
            else value
            for key, value in attributes.items()
        }


def traces_url(endpoint: str) -> str:
    """Return the URL at which an endpoint takes traces; raise for what is not an address."""
    parts = urlsplit(endpoint)
    is_address = parts.scheme in ("http", "https") and parts.netloc
    if not is_address or parts.query or parts.fragment:
        raise ConfigurationError(
            f"the OTLP endpoint is {redact_value(endpoint)!r}; give the URL of an OTLP/HTTP "
            "receiver without a query, such as http://localhost:4318; a key is given as a header: "
            "OTEL_EXPORTER_OTLP_HEADERS='Authorization=Bearer KEY'"
        )
    return endpoint if endpoint.endswith(PATH) else f"{endpoint.rstrip('/')}{PATH}"


def _check_answer(response: Any) -> None:
    """Raise for an answer that an OTLP endpoint does not give, though its status is a good one."""
    body = response.content  # read to its end in any case, so that the connection is free again
    if response.status_code >= 400:
        return
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip()
    is_known = not body or kind in ("application/json", _PROTOBUF)
    if response.status_code >= 300 or not is_known:
        raise DeliveryError(
            f"{redact_text(response.url)} does not answer like an OTLP endpoint "
            f"(status {response.status_code}, {kind or 'no type'})"
        )
    if kind == _PROTOBUF:
        service = import_module("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
        partial = service.ExportTraceServiceResponse.FromString(body).partial_success
        if partial.rejected_spans:
            raise DeliveryError(
                f"the endpoint refused {partial.rejected_spans} spans: {partial.error_message}"
            )


def _innermost(error: Exception) -> Exception:
    """Return the cause of an error of the HTTP library, which wraps others in words of its own."""
    inner = getattr(error, "reason", None) or next(iter(error.args), None)
    return _innermost(inner) if isinstance(inner, Exception) else error


PUBLIC_KEY, SECRET_KEY = "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"
_HOSTS = ("LANGFUSE_HOST", "LANGFUSE_BASE_URL")
_CLOUD = "https://cloud.langfuse.com"
_ENDPOINT = "/api/public/otel"


def langfuse_host(host: str | None = None) -> str:
    """Return Langfuse's URL: the one given, that of a variable, or its cloud."""
    return (host or next(filter(None, map(os.environ.get, _HOSTS)), _CLOUD)).rstrip("/")


def langfuse_receiver(
    host: str | None = None,
    *,
    session: str | None = None,
    content: bool = False,
    evaluations: Callable[[Report], Iterable[Evaluation]] = lambda report: (),
) -> OTLPReceiver:
    """Return Langfuse's endpoint; ``session`` groups traces, by default the id of the run does."""
    public, secret = (os.environ.get(name) for name in (PUBLIC_KEY, SECRET_KEY))
    if not public or not secret:
        raise ConfigurationError(
            f"Langfuse needs {PUBLIC_KEY} and {SECRET_KEY} in the environment; the settings of a "
            "Langfuse project have both"
        )
    keys = base64.b64encode(f"{public}:{secret}".encode()).decode()
    return OTLPReceiver(
        langfuse_host(host) + _ENDPOINT,
        {"Authorization": f"Basic {keys}"},
        content=content,
        attributes=lambda report: _trace_attributes(report, session),
        evaluations=evaluations,
    )


def _trace_attributes(given: Report, session: str | None) -> Mapping[str, Value]:
    report = RecordedReport(given)
    return {
        "langfuse.trace.name": " ".join(filter(None, report.key[:2])),
        "langfuse.session.id": session or report.run_id or "",
        "langfuse.trace.tags": (report.kind,),
    }


logger = logging.getLogger(__name__)


class OpenTelemetryCallback(BenchmarkCallback):
    """Sends a trace for each finished repetition to an OTLP endpoint, at the end of the run.

    If something was not sent, a warning is logged; ``sent`` counts what was. The trace of a
    repetition always has the same ids, so that sending it again adds nothing.

    Args:
        endpoint: The base URL of an OTLP/HTTP receiver; by default ``OTEL_EXPORTER_OTLP_ENDPOINT``,
            or ``http://localhost:4318``.
        content: Also send what was said, and what tools were given and returned.
    """

    def __init__(self, endpoint: str | None = None, *, content: bool = False) -> None:
        self._receiver = OTLPReceiver(endpoint, content=content)
        self.sent = 0

    def on_run_end(self, benchmark: Benchmark, results: Sequence[Report]) -> None:
        sent = 0
        try:
            while sent < len(results):
                batch = results[sent : sent + BATCH]
                self._receiver.send(batch)
                sent += len(batch)
        except Exception as error:  # whatever a foreign library raises, the run must not see it
            unsent = f"{len(results) - sent} of {len(results)} traces were not sent"
            logger.warning("OpenTelemetry: %s (%s)", unsent, error)
        finally:
            self._receiver.close()
        self.sent += sent
