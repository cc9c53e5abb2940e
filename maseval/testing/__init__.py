"""Faults to test agents and programs against: a misbehaving provider, kills and damaged files.

Nothing here is imported by the rest of the package.
"""

from maseval.testing.chaos import ChaosServer, Played
from maseval.testing.faults import FAULTS, Fault, faults_named
from maseval.testing.protocols import AnthropicProtocol, GoogleProtocol, OpenAIProtocol
from maseval.testing.provider_server import ProviderServer, Reply, Request, serving

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
    "faults_named",
    "serving",
]
