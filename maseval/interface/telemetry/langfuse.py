"""Langfuse: traces by its OTLP endpoint, what it shows of them, and their verdicts as scores."""

import base64
import os
from collections.abc import Mapping, Sequence

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import kind_of, reward_of, simulation_key
from maseval.core.report import Report
from maseval.core.shapes import text
from maseval.interface.telemetry.langfuse_scores import LangfuseScores
from maseval.interface.telemetry.otlp import OTLPReceiver
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


class LangfuseReceiver(OTLPReceiver):
    """Langfuse's endpoint; ``session`` groups traces, by default the id of the run does.

    A trace that arrived without its scores is sent again: both have the same ids each time, and
    replace what is there.
    """

    def __init__(
        self, host: str | None = None, *, session: str | None = None, content: bool = False
    ) -> None:
        home, keys = langfuse_host(host), _keys()
        super().__init__(
            home + _ENDPOINT,
            {"Authorization": "Basic " + base64.b64encode(":".join(keys).encode()).decode()},
            content=content,
            attributes=lambda report: _shown(report, session),
        )
        self._scores = LangfuseScores(home, keys)

    def send(self, reports: Sequence[Report], /) -> None:
        """Export the traces of reports, and their verdicts as scores."""
        super().send(reports)
        self._scores.send(reports)

    def abort(self) -> None:
        super().abort()
        self._scores.abort()


def _keys() -> tuple[str, str]:
    public, secret = (os.environ.get(name) for name in (PUBLIC_KEY, SECRET_KEY))
    if not public or not secret:
        raise LangfuseKeysError(
            f"Langfuse needs {PUBLIC_KEY} and {SECRET_KEY} in the environment; the settings of a "
            "Langfuse project have both"
        )
    return public, secret


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
