"""Faults to test agents and judges against: a provider, or a judge, that misbehaves.

Nothing else in maseval imports this.
"""

from maseval.testing.faults import FAULTS, ChaosServer, Fault
from maseval.testing.faulty_judge import JUDGE_FAULTS, FaultyJudge
from maseval.testing.judges import EVIDENCE_FAULTS, ScriptedJudge
from maseval.testing.provider_server import OpenAIProtocol, ProviderServer, Reply, Request, serving

__all__ = [
    "EVIDENCE_FAULTS",
    "FAULTS",
    "JUDGE_FAULTS",
    "ChaosServer",
    "Fault",
    "FaultyJudge",
    "OpenAIProtocol",
    "ProviderServer",
    "Reply",
    "Request",
    "ScriptedJudge",
    "serving",
]
