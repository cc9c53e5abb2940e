"""The commands of tau2 as functions: ``maseval tau2 score`` is ``tau2.score``."""

from importlib import import_module
from typing import Any

_HOMES = {
    "AgentBrief": "own_agents",
    "AgentModel": "own_agents",
    "audit": "auditing",
    "certify": "certifying",
    "explain": "explaining",
    "export": "exporting",
    "mcp": "serving_mcp",
    "run": "running",
    "score": "scoring",
    "show": "worlds",
    "tasks": "worlds",
    "verify": "certifying",
}

__all__ = [
    "AgentBrief",
    "AgentModel",
    "audit",
    "certify",
    "data",
    "explain",
    "export",
    "mcp",
    "run",
    "score",
    "show",
    "tasks",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name == "data":
        return import_module(f"{__name__}.data")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
