"""Agents that work for another one, by a handoff or as its tool: what each of them does.

The SDK tells an agent's own hooks of every answer of its model, whoever runs the agent. An agent
with an adapter has hooks that pass this on to the adapter it has in the current repetition.
"""

from collections.abc import Callable, Coroutine, Sequence
from functools import cache
from typing import Any

from maseval.core.messages import MessageHistory
from maseval.core.usage import TokenUsage
from maseval.interface.agents.framework import at_work, leader
from maseval.interface.agents.openai_agents.messages import add_inputs
from maseval.interface.agents.openai_agents.sdk import (
    InputItem,
    ModelAnswer,
    SdkAgent,
    sdk_module,
    tokens_of,
)


class Work:
    """What an agent did for others."""

    def __init__(self) -> None:
        self.usage: list[TokenUsage] = []
        self._finished: list[MessageHistory] = []
        self._system: str | None = None
        self._asked: list[InputItem] = []
        self._current = MessageHistory()

    @property
    def messages(self) -> list[Any]:
        """The messages of all its runs, as it saw them."""
        return [message for run in (*self._finished, self._current) for message in run]

    def begin(self) -> None:
        """A new run begins."""
        if self._current:
            self._finished.append(self._current)
        self._current = MessageHistory()

    def ask(self, system: str | None, asked: Sequence[InputItem]) -> None:
        """The model is asked."""
        self._system, self._asked = system, list(asked)

    def answer(self, answer: ModelAnswer) -> None:
        """The model has answered: this is the run so far."""
        self.usage.append(tokens_of(answer.usage))
        self._current = MessageHistory()
        if self._system:
            self._current.add_message("system", self._system)
        add_inputs(self._current, [*self._asked, *answer.to_input_items()])


def listen(agent: SdkAgent) -> None:
    """Give an agent hooks that tell its adapter of its work; its own hooks still work."""
    kind = _hooks_class()
    if not isinstance(agent.hooks, kind):
        agent.hooks = kind(agent.hooks)


def _work_of(agent: object) -> Work | None:
    """The record of an agent's work for others; None if it works for itself."""
    work: Work | None = getattr(at_work(agent), "work", None)
    return work


@cache
def _hooks_class() -> type[Any]:
    base = sdk_module().AgentHooks

    class Hooks(base):  # type: ignore[misc, valid-type]
        def __init__(self, own: Any) -> None:
            self.own = own

        async def on_start(self, context: Any, agent: Any) -> None:
            if (work := _work_of(agent)) is not None:
                work.begin()
            await self._forward("on_start", context, agent)

        async def on_llm_start(
            self, context: Any, agent: Any, system_prompt: str | None, input_items: Any
        ) -> None:
            if (work := _work_of(agent)) is not None:
                work.ask(system_prompt, input_items)
            await self._forward("on_llm_start", context, agent, system_prompt, input_items)

        async def on_llm_end(self, context: Any, agent: Any, response: ModelAnswer) -> None:
            if (work := _work_of(agent)) is not None:
                work.answer(response)
                if (leading := leader()) is not None:
                    leading.passed_on.append(work.usage[-1])
            await self._forward("on_llm_end", context, agent, response)

        async def _forward(self, name: str, *args: Any) -> None:
            if self.own is not None:
                await getattr(self.own, name)(*args)

    for name in ("on_end", "on_handoff", "on_tool_start", "on_tool_end"):
        setattr(Hooks, name, _forwarding(name))
    return Hooks


def _forwarding(name: str) -> Callable[..., Coroutine[Any, Any, None]]:
    async def forward(self: Any, *args: Any, **kwargs: Any) -> None:
        if self.own is not None:
            await getattr(self.own, name)(*args, **kwargs)

    return forward
