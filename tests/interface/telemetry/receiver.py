"""A real OTLP/HTTP receiver on this machine, which can also misbehave."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any

PROTOBUF = "application/x-protobuf"


@dataclass
class Receiver:
    """What was sent to it; ``answer`` is what it does: take, hang, or a status, type and body."""

    url: str = ""
    answer: tuple[int, str, bytes] | None = (200, PROTOBUF, b"")
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def spans(self) -> list[Any]:
        """All spans of all requests, parsed."""
        service = import_module("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
        parsed = [
            service.ExportTraceServiceRequest.FromString(body)
            for path, _, body in self.requests
            if path.endswith("/v1/traces")
        ]
        return [
            span
            for request in parsed
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


@contextmanager
def receiving(answer: tuple[int, str, bytes] | None = (200, PROTOBUF, b"")) -> Iterator[Receiver]:
    """A receiver that gives every request this answer; with None it never answers."""
    receiver = Receiver(answer=answer)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.requests.append((self.path, headers, body))
            if receiver.answer is None:
                receiver.released.wait()
                return
            status, kind, content = receiver.answer
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *parts: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


def attributes(span: Any) -> dict[str, Any]:
    """The attributes of a received span, or of an event of it."""
    return {each.key: _value(each.value) for each in span.attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, kind)


def tree(spans: list[Any]) -> list[Any]:
    """The names of all spans as nested lists ``[name, [children]]``, in order of time."""

    def below(parent: bytes) -> list[Any]:
        found = sorted(
            (each for each in spans if each.parent_span_id == parent),
            key=lambda each: each.start_time_unix_nano,
        )
        return [[each.name, below(each.span_id)] for each in found]

    return below(b"")
