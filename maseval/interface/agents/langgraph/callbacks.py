"""What a running graph reports through LangChain's callbacks: models, tokens and tool calls.

A graph in a graph is an agent of its own, if it has an adapter: what happens in its runs is
recorded there. To be recognised, a graph with an adapter carries a mark in its metadata.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from maseval.core.exceptions import AgentError, MASEvalError
from maseval.core.usage import TokenUsage
from maseval.interface import extras
from maseval.interface.agents.call_order import CallOrder
from maseval.interface.agents.framework import adapter_by_id
from maseval.interface.agents.langgraph.graph import (
    AIMessage,
    LangChainMessage,
    LLMResult,
    UsageMetadata,
)


class Heard:
    """Every model call of an agent, even if its answer never becomes a message.

    Tool calls run in the order in which they appear in the answer.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        """The names of the models, one entry per call."""
        self.answers: list[tuple[str, TokenUsage]] = []
        """The model and token usage of each answer that reports its usage."""
        self.following = False
        """Whether the agent is run by its adapter, and not by another graph."""
        self._ids: dict[str, TokenUsage] = {}  # of the messages that models answered
        self._runs: dict[object, _Run] = {}
        self._failures: dict[str | None, BaseException] = {}
        self._order = CallOrder()
        self._models: dict[object, tuple[Heard, str]] = {}
        self.conversation: list[LangChainMessage] = []
        """The messages of the runs that another graph made of this agent."""
        self._calls: dict[object, str | None] = {}

    def listener(self, *, asynchronous: bool) -> object:
        """A callback handler that records into this object."""
        return _handlers()[asynchronous](self)

    def begin(self) -> None:
        """Start a new turn."""
        self._failures.clear()
        self._ids.clear()
        self._runs.clear()

    def check(self) -> None:
        """Raise a failure that is not the agent's, if its graph took it for a tool's result."""
        for failure in self._failures.values():
            raise failure

    def count_made(self, messages: Sequence[LangChainMessage]) -> None:
        """Count what messages report that no model is known to have answered.

        A node may make one itself. If it repeats the tokens of an answer that is not among the
        messages, it is that answer in another form.
        """
        known = {message.id for message in messages}
        elsewhere = [usage for id, usage in self._ids.items() if id not in known]
        for message in messages:
            told = getattr(message, "usage_metadata", None)
            if not told or message.id is None or message.id in self._ids:
                continue
            usage = self._ids[message.id] = _usage(told)
            if usage in elsewhere:
                elsewhere.remove(usage)
            else:
                self._answered(_model_of(message), usage)

    def _answered(self, model: str, usage: TokenUsage) -> None:
        self.answers.append((model, usage))

    def _began(
        self, run_id: object, parent: object, marks: Iterable[str], messages: Iterable[object]
    ) -> None:
        """A graph or a node has begun to run; the first one is the agent itself."""
        above = self._runs.get(parent, _Run(marks=frozenset(marks)))
        run = _Run(above.owner, above.marks | set(marks), False, _ids_of(messages))
        for mark in run.marks - above.marks:
            member = _member(mark)
            if member is not None and member is not self:
                run = run._replace(owner=member, of_owner=True)
        self._runs[run_id] = run

    def _ended(self, run_id: object, messages: Sequence[LangChainMessage]) -> None:
        run = self._runs.get(run_id, _NO_RUN)
        if run.of_owner and run.owner is not None and not run.owner.following:
            new = [message for message in messages if message.id not in run.known]
            run.owner._ids |= self._ids
            run.owner.count_made(new)
            self._ids |= run.owner._ids
            run.owner.overheard(messages)

    def overheard(self, messages: Sequence[LangChainMessage]) -> None:
        """Keep the messages of a run that another graph made of this agent."""
        known = {message.id for message in self.conversation}
        self.conversation += [message for message in messages if message.id not in known]

    def _owner(self, parent: object) -> "Heard":
        return self._runs.get(parent, _NO_RUN).owner or self

    def _model_asked(self, run_id: object, parent: object, model: str) -> None:
        owner = self._owner(parent)
        self._models[run_id] = (owner, model)
        if owner is self or not owner.following:
            owner.asked.append(model)

    def _model_answered(self, run_id: object, messages: Iterable[AIMessage]) -> None:
        owner, model = self._models.pop(run_id, (self, ""))
        for message in messages:
            if message.usage_metadata:
                usage = _usage(message.usage_metadata)
                self._ids[message.id or ""] = usage
                if owner is self or not owner.following:
                    owner._answered(model, usage)
            self._order.announce([call["id"] for call in message.tool_calls])

    def _tool_began(self, run_id: object, parent: object, call_id: str | None) -> None:
        self._calls[run_id] = call_id
        if parent in self._runs:
            self._runs[run_id] = self._runs[parent]._replace(of_owner=False)

    def _tool_ended(self, run_id: object, error: BaseException | None = None) -> None:
        call_id = self._calls.pop(run_id, None)
        self._order.finish(call_id)
        self._failures.pop(call_id, None)  # the graph may have retried
        if isinstance(error, MASEvalError) and not isinstance(error, AgentError):
            self._failures[call_id] = error


class _Run(NamedTuple):
    """A run of a graph or a node: whose it is, and which marked graphs it is in."""

    owner: Heard | None = None
    marks: frozenset[str] | set[str] = frozenset()
    of_owner: bool = False
    known: frozenset[str | None] = frozenset()


_NO_RUN = _Run()
_MARK = "maseval_graph_"


def marked(graph: object, config: Mapping[str, object] | None) -> dict[str, object]:
    """A graph's configuration with a mark by which its runs are recognised."""
    metadata = (config or {}).get("metadata")
    kept = dict(metadata) if isinstance(metadata, Mapping) else {}
    return {**(config or {}), "metadata": {**kept, f"{_MARK}{id(graph)}": True}}


def _member(mark: str) -> Heard | None:
    adapter = adapter_by_id(int(mark.removeprefix(_MARK)))
    return getattr(adapter, "heard", None)


def _ids_of(messages: Iterable[object]) -> frozenset[str | None]:
    return frozenset(getattr(message, "id", None) for message in messages)


def _model_of(message: LangChainMessage) -> str:
    metadata = getattr(message, "response_metadata", None) or {}
    return str(metadata.get("model_name") or "")


def _usage(told: UsageMetadata) -> TokenUsage:
    asked, answered = told.get("input_token_details", {}), told.get("output_token_details", {})
    return TokenUsage.from_chat_response_usage(
        {
            **told,
            "cached_input_tokens": asked.get("cache_read"),
            "cache_creation_input_tokens": asked.get("cache_creation"),
            "reasoning_tokens": answered.get("reasoning"),
            "audio_tokens": (asked.get("audio") or 0) + (answered.get("audio") or 0),
        }
    )


def _messages_in(state: object) -> list[LangChainMessage]:
    found = state.get("messages") if isinstance(state, Mapping) else None
    return [one for one in found if hasattr(one, "type")] if isinstance(found, list) else []


@cache
def _handlers() -> tuple[Callable[[Heard], object], Callable[[Heard], object]]:
    """The classes of callback handlers for sync and for async runs."""
    handler = extras.load("langchain_core.callbacks", extra="langgraph").BaseCallbackHandler

    class Listener(handler):  # type: ignore[misc, valid-type]
        run_inline = True  # async runs then call it directly, without a thread

        def __init__(self, heard: Heard) -> None:
            super().__init__()
            self.heard = heard

        def on_chain_start(
            self,
            serialized: object,
            inputs: object,
            *,
            run_id: object,
            parent_run_id: object = None,
            metadata: dict[str, object] | None = None,
            **more: object,
        ) -> None:
            marks = [key for key in metadata or () if key.startswith(_MARK)]
            self.heard._began(run_id, parent_run_id, marks, _messages_in(inputs))

        def on_chain_end(self, outputs: object, *, run_id: object, **more: object) -> None:
            self.heard._ended(run_id, _messages_in(outputs))

        def on_chat_model_start(
            self,
            serialized: object,
            messages: object,
            *,
            run_id: object,
            parent_run_id: object = None,
            metadata: dict[str, object] | None = None,
            **more: object,
        ) -> None:
            model = str((metadata or {}).get("ls_model_name") or "")
            self.heard._model_asked(run_id, parent_run_id, model)

        def on_llm_end(self, response: LLMResult, *, run_id: object, **more: object) -> None:
            found = [choice for choices in response.generations for choice in choices]
            messages = [choice.message for choice in found if hasattr(choice, "message")]
            self.heard._model_answered(run_id, messages)

        def on_tool_start(
            self,
            serialized: object,
            input_str: object,
            *,
            run_id: object,
            parent_run_id: object = None,
            tool_call_id: str | None = None,
            **more: object,
        ) -> None:
            self.heard._tool_began(run_id, parent_run_id, tool_call_id)
            self.heard._order.wait(tool_call_id)

        def on_tool_end(self, output: object, *, run_id: object, **more: object) -> None:
            self.heard._tool_ended(run_id)

        def on_tool_error(self, error: BaseException, *, run_id: object, **more: object) -> None:
            self.heard._tool_ended(run_id, error)

    class AsyncListener(Listener):
        async def on_tool_start(  # type: ignore[override]
            self,
            serialized: object,
            input_str: object,
            *,
            run_id: object,
            parent_run_id: object = None,
            tool_call_id: str | None = None,
            **more: object,
        ) -> None:
            self.heard._tool_began(run_id, parent_run_id, tool_call_id)
            await self.heard._order.wait_async(tool_call_id)

    return Listener, AsyncListener
