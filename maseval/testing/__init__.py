"""Faults to test agents against: a provider that misbehaves.

Nothing else in maseval imports this.
"""

from maseval.testing.faults import FAULTS, ChaosServer, Fault, Played, faults_named
from maseval.testing.provider_server import (
    OpenAIProtocol,
    ProviderServer,
    Reply,
    Request,
    serving,
)

__all__ = [
    "FAULTS",
    "ChaosServer",
    "Fault",
    "OpenAIProtocol",
    "Played",
    "ProviderServer",
    "Reply",
    "Request",
    "faults_named",
    "serving",
]
