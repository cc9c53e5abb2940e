"""Where runs can be sent: ``otel``, ``langfuse``, ``mlflow``, ``wandb``, each with an address."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from maseval.core.exceptions import ConfigurationError
from maseval.core.storage.redaction import redact_text
from maseval.interface.telemetry.langfuse import LangfuseReceiver, langfuse_host
from maseval.interface.telemetry.otlp import OTLPReceiver, traces_url
from maseval.interface.trackers.sending import TRACKERS, check_installed

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
    """One of them; ``where`` is an endpoint, a host, a URI or a project, None for the usual."""

    name: str
    where: str | None = None

    @classmethod
    def of(cls, text: str) -> "Destination":
        """What ``mlflow`` or ``mlflow=http://localhost:5000`` names."""
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
        """Whether it takes each simulation as a trace, and not the run as a whole."""
        return self.name not in TRACKERS

    @property
    def address(self) -> str:
        """Where that is, without a password."""
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
        """What takes traces there; ``session`` is the run's name."""
        if self.name == LANGFUSE:
            return LangfuseReceiver(self.where, session=session, content=content)
        named = {} if session is None else {"maseval.run": session}
        where = None if self.where is None else traces_url(self.where)
        return OTLPReceiver(where, content=content, attributes=lambda report: named)


def destinations_of(texts: Sequence[str]) -> list[Destination]:
    """What the texts name, each once; every one of them can be used."""
    found = dict.fromkeys(map(Destination.of, texts))
    for each in found:
        each.check()
    return list(found)
