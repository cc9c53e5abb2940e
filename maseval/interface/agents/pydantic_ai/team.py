"""Agents that work for another one, as when a tool runs an agent: what each of them does."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from maseval.core.messages import MessageHistory
from maseval.core.usage import TokenUsage
from maseval.interface.agents.framework import at_work, leader
from maseval.interface.agents.pydantic_ai.agent import (
    AgentRun,
    ModelMessage,
    PydanticAgent,
    token_usage,
)
from maseval.interface.agents.pydantic_ai.messages import add_messages

Iterate = Callable[..., AbstractAsyncContextManager[AgentRun]]


class Work:
    """What an agent did for others."""

    def __init__(self) -> None:
        self.usage: list[TokenUsage] = []
        self.messages: list[Any] = []

    def add(self, messages: Sequence[ModelMessage]) -> list[TokenUsage]:
        """Add a run; returns the tokens of its answers."""
        run = MessageHistory()
        add_messages(run, messages)
        used = [token_usage(one.usage) for one in messages if one.kind == "response"]
        self.messages += run
        self.usage += used
        return used


def listen(agent: PydanticAgent) -> None:
    """Let an agent tell its adapter of each of its runs, all of which go through ``iter``."""
    own = agent.iter
    if not hasattr(own, "heard_by_maseval"):
        agent.iter = _heard(agent, own)


def _heard(agent: PydanticAgent, own: Iterate) -> Iterate:
    @asynccontextmanager
    async def iterate(*args: Any, **kwargs: Any) -> AsyncIterator[AgentRun]:
        async with own(*args, **kwargs) as run:
            try:
                yield run
            finally:
                _note(agent, run, kwargs.get("usage"))

    iterate.heard_by_maseval = True  # type: ignore[attr-defined]
    return iterate


def _note(agent: PydanticAgent, run: AgentRun, shared: object) -> None:
    work: Work | None = getattr(at_work(agent), "work", None)
    if work is None:
        return
    used, leading = work.add(run.new_messages()), leader()
    # If the tool passes its own count to the agent, the framework adds the tokens to the leader's.
    if leading is not None and shared is not None and shared is getattr(leading, "count", None):
        leading.passed_on += used
