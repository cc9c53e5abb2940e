"""Steps of a ``ChatAgent`` that a society takes, such as role playing or a workforce."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Protocol, cast

from maseval.interface.agents.camel.chat_agent import ChatAgent, StepResponse
from maseval.interface.agents.camel.tools import Escape
from maseval.interface.agents.framework import at_work

_MARK = "heard_by_maseval"


class Witness(Protocol):
    """An adapter that records a step which it did not take."""

    def witness(self, query: str) -> AbstractContextManager[Callable[[StepResponse], None]]: ...


def listen(agent: ChatAgent) -> None:
    """Let an agent tell its adapter of the steps that others let it take."""
    if hasattr(agent.step, _MARK):
        return
    own, own_async = agent.step, agent.astep

    @wraps(own)
    def step(input_message: object, *args: object, **kwargs: object) -> StepResponse:
        witness = _witness_of(agent)
        if witness is None:
            return own(input_message, *args, **kwargs)
        with witness.witness(_text(input_message)) as note:
            try:
                response = own(input_message, *args, **kwargs)
            except Escape as escape:
                raise escape.error from None
            note(response)
            return response

    @wraps(own_async)
    async def astep(input_message: object, *args: object, **kwargs: object) -> StepResponse:
        witness = _witness_of(agent)
        if witness is None:
            return await own_async(input_message, *args, **kwargs)
        with witness.witness(_text(input_message)) as note:
            try:
                response = await own_async(input_message, *args, **kwargs)
            except Escape as escape:
                raise escape.error from None
            note(response)
            return response

    setattr(step, _MARK, True)
    agent.step, agent.astep = step, astep


def _witness_of(agent: ChatAgent) -> Witness | None:
    adapter = at_work(agent)
    return cast(Witness, adapter) if hasattr(adapter, "witness") else None


def _text(message: object) -> str:
    return message if isinstance(message, str) else str(getattr(message, "content", message))
