"""Faults to test agents against: a provider that misbehaves.

Nothing else in maseval imports this.
"""

from maseval.testing.faults import FAULTS, ChaosServer, Fault, Played, faults_named
from maseval.testing.provider_server import (
    AnthropicProtocol,
    GoogleProtocol,
    OpenAIProtocol,
    ProviderServer,
    Reply,
    Request,
    ResponsesProtocol,
    serving,
)

__all__ = [
    "FAULTS",
    "AnthropicProtocol",
    "ChaosServer",
    "Fault",
    "GoogleProtocol",
    "OpenAIProtocol",
    "Played",
    "ProviderServer",
    "Reply",
    "Request",
    "ResponsesProtocol",
    "faults_named",
    "serving",
]
