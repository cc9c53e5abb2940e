"""Langfuse, by its OTLP endpoint: what it shows of a trace, and how it knows who sends."""

import base64
import os
from collections.abc import Mapping

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import kind_of, reward_of, simulation_key
from maseval.core.report import Report
from maseval.core.shapes import text
from maseval.interface.telemetry.otlp import Clean, OTLPReceiver, clean_text
from maseval.interface.telemetry.span import Value, known

PUBLIC_KEY, SECRET_KEY = "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"
_HOSTS = ("LANGFUSE_HOST", "LANGFUSE_BASE_URL")
_CLOUD = "https://cloud.langfuse.com"
_ENDPOINT = "/api/public/otel"


class LangfuseKeysError(ConfigurationError):
    """Langfuse's keys are not set."""


def langfuse_host(host: str | None = None) -> str:
    """Langfuse's URL: what is given, what a variable says, or its cloud."""
    return (host or next(filter(None, map(os.environ.get, _HOSTS)), _CLOUD)).rstrip("/")


def langfuse_receiver(
    host: str | None = None,
    *,
    session: str | None = None,
    content: bool = False,
    clean: Clean | None = None,
) -> OTLPReceiver:
    """Where Langfuse takes traces, which ``session`` groups; by default the id of the run."""
    return OTLPReceiver(
        langfuse_host(host) + _ENDPOINT,
        {"Authorization": _authorization()},
        content=content,
        attributes=lambda report: _shown(report, session),
        clean=clean or clean_text(),
    )


def _authorization() -> str:
    keys = [os.environ.get(name) for name in (PUBLIC_KEY, SECRET_KEY)]
    if not all(keys):
        raise LangfuseKeysError(
            f"Langfuse needs {PUBLIC_KEY} and {SECRET_KEY} in the environment; the settings of a "
            "Langfuse project have both"
        )
    return "Basic " + base64.b64encode(":".join(filter(None, keys)).encode()).decode()


def _shown(report: Report, session: str | None) -> Mapping[str, Value]:
    domain, task, trial = simulation_key(report)
    return known(
        {
            "langfuse.trace.name": " ".join(filter(None, (domain, task))),
            "langfuse.session.id": session or text(report.get("run_id") or ""),
            "langfuse.trace.tags": (kind_of(report),),
            "langfuse.trace.metadata.domain": domain or None,
            "langfuse.trace.metadata.task_id": task,
            "langfuse.trace.metadata.trial": trial,
            "langfuse.trace.metadata.outcome": kind_of(report),
            "langfuse.trace.metadata.reward": reward_of(report),
        }
    )
