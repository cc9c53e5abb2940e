"""Langfuse: takes traces at its OTLP endpoint, with the keys of a project."""

import base64
import os
from collections.abc import Mapping

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import RecordedReport
from maseval.core.report import Report
from maseval.interface.telemetry.otlp import OTLPReceiver
from maseval.interface.telemetry.span import Value, drop_unknown

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
