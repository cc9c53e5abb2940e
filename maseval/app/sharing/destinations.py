"""Destinations of runs: ``otel``, ``langfuse``, ``mlflow``, ``wandb``, each with an address.

A small file beside a run's log notes what was sent where, and only ever grows. Nothing depends on
it but what is sent next; the log itself does not know of it.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maseval.core.exceptions import ConfigurationError
from maseval.core.storage.redaction import redact_text
from maseval.interface.telemetry.otlp import (
    LangfuseReceiver,
    OTLPReceiver,
    langfuse_host,
    traces_url,
)
from maseval.interface.trackers.tracked_run import TRACKERS, check_installed

OTEL, LANGFUSE = "otel", "langfuse"
NAMES = (OTEL, LANGFUSE, *TRACKERS)

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_ADDRESSES: dict[str, Callable[[], str]] = {
    OTEL: lambda: next(filter(None, map(os.environ.get, _ENDPOINTS)), "http://localhost:4318"),
    LANGFUSE: langfuse_host,
    "mlflow": lambda: os.environ.get("MLFLOW_TRACKING_URI", "its own folder"),
    "wandb": lambda: os.environ.get("WANDB_PROJECT", "maseval"),
}


@dataclass(frozen=True)
class Destination:
    """A service to send to; ``where`` is an endpoint, host, URI or project, None for the usual."""

    name: str
    where: str | None = None

    @classmethod
    def of(cls, text: str) -> "Destination":
        """Parse ``mlflow`` or ``mlflow=http://localhost:5000``."""
        name, given, where = text.partition("=")
        if name not in NAMES:
            raise ConfigurationError(
                f"runs cannot be sent to {redact_text(name)!r}; choose one of {', '.join(NAMES)}, "
                "with an address after = if it is not the usual one: mlflow=http://localhost:5000"
            )
        if given and not where:
            raise ConfigurationError(
                f"there is no address after {text!r}; give one, or {name} alone for the usual one"
            )
        return cls(name, where or None)

    @property
    def sends_traces(self) -> bool:
        """True if it takes each simulation as a trace, and not the run as a whole."""
        return self.name not in TRACKERS

    @property
    def address(self) -> str:
        """The address, without a password."""
        return redact_text(self.where or _ADDRESSES[self.name]())

    def __str__(self) -> str:
        return self.name if self.where is None else f"{self.name}={redact_text(self.where)}"

    def check(self) -> None:
        """Raise if nothing can be sent there: no library, no keys, no such address."""
        if self.sends_traces:
            self.receiver()
        else:
            check_installed(self.name)

    def receiver(self, session: str | None = None, *, content: bool = False) -> OTLPReceiver:
        """Return the receiver of traces there; ``session`` is the run's name."""
        if self.name == LANGFUSE:
            return LangfuseReceiver(self.where, session=session, content=content)
        named = {} if session is None else {"maseval.run": session}
        where = None if self.where is None else traces_url(self.where)
        return OTLPReceiver(where, content=content, attributes=lambda report: named)


def destinations_of(texts: Sequence[str]) -> list[Destination]:
    """Return the destinations that the texts name, each once; raise if one cannot be used."""
    found = dict.fromkeys(map(Destination.of, texts))
    for each in found:
        each.check()
    return list(found)


SENT = "sent.jsonl"


@dataclass(frozen=True)
class SentLog:
    path: Path
    destination: Destination

    def traces(self) -> set[str]:
        """Return the ids of the traces that have arrived."""
        return {trace for line in self._lines() for trace in line.get("traces", ())}

    def run(self) -> tuple[str, str] | None:
        """Return the id that a tracker gave to the run, and the digest of what it was last sent."""
        found = [line for line in self._lines() if "run" in line]
        return (str(found[-1]["run"]), str(found[-1].get("digest"))) if found else None

    def note_traces(self, traces: Sequence[str]) -> None:
        self._note({"traces": list(traces)})

    def note_run(self, run: str, digest: str) -> None:
        self._note({"run": run, "digest": digest})

    def _note(self, facts: dict[str, object]) -> None:
        line = json.dumps({**self._key, **facts}) + "\n"
        # If the note cannot be written, the same is sent once more, which changes nothing.
        with suppress(OSError), open(self.path, "a", encoding="utf-8") as file:
            file.write(line)

    @property
    def _key(self) -> dict[str, object]:
        return {"to": self.destination.name, "at": self.destination.address}

    def _lines(self) -> Iterator[dict[str, Any]]:
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return
        for line in text.splitlines():
            with suppress(ValueError):
                found = json.loads(line)
                if isinstance(found, dict) and self._key.items() <= found.items():
                    yield found
