"""AgentDojo on maseval: do agents work well, and resist instructions hidden in what they read?"""

from typing import Any

__all__ = ["AgentDojo"]


def __getattr__(name: str) -> Any:
    if name != "AgentDojo":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from maseval_agentdojo.benchmark import AgentDojo  # loads the library, which help need not

    return AgentDojo
