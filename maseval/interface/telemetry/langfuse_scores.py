"""Verdicts as Langfuse's scores, which its tables and charts are made of: ``passed``, ``reward``.

Langfuse takes them one at a time at ``/api/public/scores``. The id of a score follows from its
trace, and one of the same id takes its place.
"""

import os
import threading
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from maseval.core.outcome import kind_of, reward_of
from maseval.core.report import Report
from maseval.core.shapes import excerpt
from maseval.interface.telemetry.otlp import clean_text
from maseval.interface.telemetry.sender import DeliveryError
from maseval.interface.telemetry.simulation import trace_of

PATH = "/api/public/scores"
_TIMEOUT = 10.0
# What a service answers that may take the same a little later.
_BUSY = (429, 502, 503, 504)
_PAUSES = (1.0, 2.0, 4.0)
# A private authority is named to OpenTelemetry's exporter in these.
_AUTHORITIES = ("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE")


def scores_of(report: Report) -> Iterator[dict[str, object]]:
    """The scores of a trace: whether it passed, if that is known, and its reward, if it has one."""
    trace, kind, reward = f"{trace_of(report):032x}", kind_of(report), reward_of(report)
    values = {
        "passed": ("BOOLEAN", None if kind == "unjudged" else int(kind == "pass")),
        "reward": ("NUMERIC", reward),
    }
    for name, (form, value) in values.items():
        if value is not None:
            score = {"id": f"{trace}-{name}", "traceId": trace, "name": name}
            yield {**score, "value": value, "dataType": form}


class LangfuseScores:
    """Where a Langfuse project takes scores."""

    def __init__(self, host: str, keys: tuple[str, str]) -> None:
        self._url, self._keys = host + PATH, keys
        self._session: Any = None
        self._over = threading.Event()

    def send(self, reports: Sequence[Report]) -> None:
        """Send the scores of reports; raises ``DeliveryError``."""
        if self._session is None:
            self._session = import_module("requests").Session()
        for report in reports:
            for score in scores_of(report):
                self._post(score)

    def abort(self) -> None:
        """Let a ``send`` that is under way end soon."""
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
