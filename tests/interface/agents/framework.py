"""What the tests of every adapter need to know of a framework, as most of them do it."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import pytest

from maseval import AgentAdapter, ScriptedModelAdapter
from maseval.core.scripted import Reply
from maseval.core.user import LLMUser
from maseval.interface.agents.framework import Tools
from tests.interface.agents.served import COUNTED, NAME, ORDER, UNREADABLE
from tests.interface.libraries import needing

Definitions = list[dict[str, Any]]


class Framework:
    """Agents with a model behind HTTP; the defaults for all frameworks."""

    library: ClassVar[str]
    adapter: ClassVar[Callable[..., AgentAdapter]]
    as_tools: ClassVar[Callable[[Tools], list[Any]]]
    page: ClassVar[str]
    quiet: ClassVar[Sequence[pytest.MarkDecorator]] = ()
    """Warnings of the library that are none of ours."""
    at_limit: ClassVar[str | None] = None
    """What it says of an agent that reached its limit; None if it goes on."""
    results_at_limit: ClassVar[int] = 3
    unreadable: ClassVar[Sequence[object]] = UNREADABLE
    """The answers of which it is told that the provider failed, and not that something broke."""
    tells_filtered: ClassVar[bool] = False
    """Whether an answer that was filtered is a failure of its own kind."""
    kept_of_failure: ClassVar[Sequence[str]] = ("user", "assistant", "tool")
    """Whose messages of a turn are kept in which the model's second answer fails."""
    starts_afresh: ClassVar[bool] = True
    """Whether another adapter of the same agent has a conversation of its own."""
    counted: ClassVar[Sequence[str]] = tuple(COUNTED)
    """Which tokens it counts."""
    logs_turns: ClassVar[bool] = True
    """Whether the log has an entry for each turn, and not for each step."""
    user: ClassVar[type[LLMUser] | None] = None
    asking_tool: ClassVar[str] = "ask_user"
    variant: ClassVar[bool] = False
    """Whether this is another way to make agents of a framework that is here already."""
    page_calls: ClassVar[Sequence[Reply]] = (ORDER,)
    """What the model does in the example of the page before it speaks."""

    def __init__(self) -> None:
        self._made: list[Any] = []

    @classmethod
    def marks(cls) -> list[pytest.MarkDecorator]:
        return [pytest.mark.data, *cls.quiet, *needing(cls.library)]

    def make(
        self,
        url: str,
        tools: Tools = (),
        *,
        own_tools: Iterable[Any] = (),
        name: str = NAME,
        instructions: str = "Help.",
        limit: int | None = None,
        model: dict[str, Any] | None = None,
        adapter: dict[str, Any] | None = None,
        **options: Any,
    ) -> Any:
        """The adapter of an agent with functions and ``own_tools`` of the framework as tools.

        ``model`` and ``adapter`` are options of these two, the others are those of the agent.
        """
        client = self.model_at(url, name, **(model or {}))
        all_tools = [*type(self).as_tools(tools), *own_tools]
        of_adapter = adapter or {}
        if limit is not None:
            options |= self.limit_of_agent(limit)
            of_adapter = {**self.limit_of_adapter(limit), **of_adapter}
        agent = self.agent(client, all_tools, instructions, **options)
        return type(self).adapter(agent, "clerk", **of_adapter)

    def model_at(self, url: str, name: str = NAME, **options: Any) -> Any:
        """A model of the framework, which is closed in the end."""
        self._made.append(self.model(url, name, **{"timeout": 5.0, **options}))
        return self._made[-1]

    def model(self, url: str, name: str, **options: Any) -> Any:
        raise NotImplementedError

    def agent(self, model: Any, tools: list[Any], instructions: str, **options: Any) -> Any:
        raise NotImplementedError

    member_name: ClassVar[str] = "expert"
    """The name of an agent without an adapter that is called ``expert`` where it can be."""

    def member(self, url: str, tools: Tools) -> Any:
        """An agent that works for another one."""
        named = self.naming("expert")
        return self.agent(self.model_at(url), type(self).as_tools(tools), "Know.", **named)

    def naming(self, name: str) -> dict[str, Any]:
        """The options that give an agent its name."""
        return {"name": name}

    def led_by(self, url: str, member: Any) -> Any:
        """The adapter of an agent that lets the member work, by the tool ``ask``."""

        def ask(request: str) -> str:
            """Ask the expert."""
            return self.answer_of(member, request)

        return self.make(url, [ask])

    def answer_of(self, member: Any, request: str) -> str:
        raise NotImplementedError

    asking: ClassVar[Reply] = {"name": "ask", "arguments": {"request": "What now?"}}

    def limit_of_agent(self, limit: int) -> dict[str, Any]:
        """What makes an agent stop after so many questions to its model in a turn."""
        return {}

    def limit_of_adapter(self, limit: int) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        for model in self._made:
            self.close_model(model)

    def close_model(self, model: Any) -> None: ...

    @staticmethod
    def say(text: object) -> Reply:
        """What a model replies to speak to the user."""
        return text

    def told(self, definitions: Definitions) -> Definitions:
        """What becomes of the definitions of tools on their way to the model."""
        return definitions

    def offered(self, model: ScriptedModelAdapter) -> Definitions:
        """The agent's tools that were offered to the model."""
        return model.requests[-1]["tools"]

    def texts(self, messages: list[dict[str, Any]]) -> list[str]:
        """What is said in messages that a model was sent."""
        return [message["content"] for message in messages]

    def results(self, model: ScriptedModelAdapter) -> list[str]:
        """What the model read of the tools' results."""
        return self.texts([m for m in model.requests[-1]["messages"] if m["role"] == "tool"])

    def as_json(self, value: object) -> str:
        """How it writes a result that is not a text."""
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def asked(self, messages: list[dict[str, Any]]) -> list[str]:
        """What the user said, as a model was sent it."""
        return self.texts([message for message in messages if message["role"] == "user"])

    def keeps(self, instructions: str, system: list[dict[str, Any]]) -> bool:
        """Whether the messages before the user's first are as they should be."""
        return system == [{"role": "system", "content": instructions}]
