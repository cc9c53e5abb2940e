"""Faults to test agents against: a provider that misbehaves.

Nothing else in maseval imports this.
"""

from maseval.testing.faults import FAULTS, ChaosServer, Fault
from maseval.testing.provider_server import OpenAIProtocol, ProviderServer, Reply, Request, serving

__all__ = [
    "FAULTS",
    "ChaosServer",
    "Fault",
    "OpenAIProtocol",
    "ProviderServer",
    "Reply",
    "Request",
    "serving",
]
