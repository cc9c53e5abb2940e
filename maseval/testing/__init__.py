"""Faults to test agents and programs against: a misbehaving provider, kills and damaged files.

Nothing here is imported by the rest of the package.
"""

from maseval.testing.damage import DAMAGES, FORGERIES, Damage, KillRig, forge_run, results_in
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
    "DAMAGES",
    "FAULTS",
    "FORGERIES",
    "AnthropicProtocol",
    "ChaosServer",
    "Damage",
    "Fault",
    "GoogleProtocol",
    "KillRig",
    "OpenAIProtocol",
    "Played",
    "ProviderServer",
    "Reply",
    "Request",
    "ResponsesProtocol",
    "faults_named",
    "forge_run",
    "results_in",
    "serving",
]
