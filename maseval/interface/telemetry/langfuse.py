"""Langfuse: traces by its OTLP endpoint, and verdicts as the scores ``passed`` and ``reward``.

Langfuse takes scores one at a time at ``/api/public/scores``. The id of a score follows from its
trace, and one of the same id takes its place.
"""

import base64
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import RecordedReport
from maseval.core.report import Report
from maseval.core.words import excerpt
from maseval.interface.telemetry.otlp import OTLPReceiver, clean_text
from maseval.interface.telemetry.sender import DeliveryError
from maseval.interface.telemetry.simulation import trace_of
from maseval.interface.telemetry.span import Value, drop_unknown

PUBLIC_KEY, SECRET_KEY = "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"
_HOSTS = ("LANGFUSE_HOST", "LANGFUSE_BASE_URL")
_CLOUD = "https://cloud.langfuse.com"
_ENDPOINT = "/api/public/otel"


def langfuse_host(host: str | None = None) -> str:
    """Return Langfuse's URL: the one given, that of a variable, or its cloud."""
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
            attributes=lambda report: _trace_attributes(report, session),
        )
        self._scores = LangfuseScores(home, keys)

    def send(self, reports: Sequence[Report], /) -> None:
        super().send(reports)
        self._scores.send(reports)

    def abort(self) -> None:
        super().abort()
        self._scores.abort()


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


SCORES_PATH = "/api/public/scores"
_TIMEOUT = 10.0
# What a service answers that may take the same a little later.
_BUSY = (429, 502, 503, 504)
_PAUSES = (1.0, 2.0, 4.0)
# A private authority is named to OpenTelemetry's exporter in these.
_AUTHORITIES = ("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE")


def scores_of(report: Report) -> Iterator[dict[str, object]]:
    """Yield the scores of a trace: ``passed`` if it has a verdict, ``reward`` if it has one."""
    trace, parsed = f"{trace_of(report):032x}", RecordedReport(report)
    passed = parsed.outcome.passed
    values = {
        "passed": ("BOOLEAN", None if passed is None else int(passed)),
        "reward": ("NUMERIC", parsed.reward),
    }
    for name, (form, value) in values.items():
        if value is not None:
            score = {"id": f"{trace}-{name}", "traceId": trace, "name": name}
            yield {**score, "value": value, "dataType": form}


class LangfuseScores:
    """The endpoint at which a Langfuse project takes scores."""

    def __init__(self, host: str, keys: tuple[str, str]) -> None:
        self._url, self._keys = host + SCORES_PATH, keys
        self._session: Any = None
        self._over = threading.Event()

    def send(self, reports: Sequence[Report]) -> None:
        """Send the scores of reports; raise ``DeliveryError`` if one is not taken."""
        if self._session is None:
            self._session = import_module("requests").Session()
        for report in reports:
            for score in scores_of(report):
                self._post(score)

    def abort(self) -> None:
        self._over.set()
        if self._session is not None:
            self._session.close()

    def _post(self, score: dict[str, object]) -> None:
        for pause in (*_PAUSES, None):
            if self._over.is_set():
                raise DeliveryError("sending was given up")
            answer = self._answer(score)
            if answer.status_code not in _BUSY or pause is None:
                break
            self._over.wait(pause)
        if not 200 <= answer.status_code < 300:
            words = excerpt(clean_text()(answer.text))
            raise DeliveryError(f"Langfuse took no score (status {answer.status_code}: {words})")

    def _answer(self, score: dict[str, object]) -> Any:
        authority = next(filter(None, map(os.environ.get, _AUTHORITIES)), None)
        try:
            return self._session.post(
                self._url,
                json=score,
                auth=self._keys,
                timeout=_TIMEOUT,
                allow_redirects=False,
                **({} if authority is None else {"verify": authority}),
            )
        except import_module("requests").RequestException as error:
            raise DeliveryError(f"Langfuse took no score ({type(error).__name__})") from error
