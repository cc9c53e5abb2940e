"""LangChain's callbacks, through which a running graph reports its models, tokens and tool calls.

A graph in a graph is an agent of its own, if it has an adapter: what happens in its runs is
recorded there. To be recognised, a graph with an adapter carries a mark in its metadata.

A model that makes several calls in one answer gives them an order, and a recorded conversation
keeps it. LangGraph hands the calls to threads or tasks, which do not; ``CallOrder`` makes them
wait for one another.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

from maseval.core.clock import begin_to_act
from maseval.core.exceptions import AgentError, MASEvalError
from maseval.core.tracing import now
from maseval.core.usage import TokenUsage
from maseval.interface import extras
from maseval.interface.agents.framework import adapter_by_id

# How long, in seconds, a call waits for the one before it. That one may never start: the tool may
# not exist, or the framework may have answered itself. Better to lose the order than the run.
UNTIL_STARTED = 1.0
UNTIL_FINISHED = 60.0

_PAUSE = 0.002


def langchain(module: str) -> ModuleType:
    """Import a module of LangChain's core, on which LangGraph is built."""
    extras.load("langgraph", extra="langgraph")
    return extras.load(f"langchain_core.{module}", extra="langgraph", package="langchain-core")


LangChainMessage = Any
"""A message of LangChain, which is of no type that can be imported here."""


class ModelCallLog:
    """Every model call of an agent, even if its answer never becomes a message.

    Tool calls run in the order in which they appear in the answer.
    """

    def __init__(self, name: str = "", graph: object = None) -> None:
        self.name = name
        self._graph_name = getattr(graph, "name", None)
        self.asked: list[str] = []
        """The names of the models, one entry per call."""
        self.answers: list[tuple[str, TokenUsage]] = []
        """The model and token usage of each answer that reports its usage."""
        self.in_own_turn = False
        """True while the agent is run by its adapter, and not by another graph."""
        self.conversation: list[LangChainMessage] = []
        """The messages of the runs that another graph made of this agent."""
        self.times: dict[str | int, str] = {}
        """When the models answered that its callbacks heard of."""
        self.members: dict[str, ModelCallLog] = {}
        """The work of agents without an adapter that tools ran, by name."""
        self.instructions: LangChainMessage | None = None
        """What the model is told beside the messages of the graph's state."""
        self.seconds: list[float] = []
        """How long the models worked on each answer."""
        self.order = CallOrder()
        self._counted: dict[str | int, tuple[LangChainMessage, TokenUsage]] = {}
        """The messages with tokens, which are kept so that no other one has the same ``id()``."""
        self._runs: dict[object, _Run] = {}
        self._failures: dict[str | None, BaseException] = {}
        self._models: dict[object, tuple[ModelCallLog, str, float]] = {}
        self._tool_calls: dict[object, str | None] = {}

    def callback_handler(self, *, is_async: bool) -> object:
        return _handler_classes()[is_async](self)

    def begin_turn(self) -> None:
        self._failures.clear()
        self._counted.clear()
        self._runs.clear()

    def raise_failure(self) -> None:
        """Raise a failure that is not the agent's, if its graph took it for a tool's result."""
        for failure in self._failures.values():
            raise failure

    def count_made(self, messages: Sequence[LangChainMessage]) -> None:
        """Count the usage of messages that no model is known to have answered.

        A node may make one itself. If it repeats the tokens of an answer that is not among the
        messages, it is that answer in another form.
        """
        known = {key_of(message) for message in messages}
        elsewhere = [usage for key, (_, usage) in self._counted.items() if key not in known]
        for message in messages:
            told = getattr(message, "usage_metadata", None)
            if not told or key_of(message) in self._counted:
                continue
            usage = _token_usage(told)
            self._counted[key_of(message)] = message, usage
            if usage in elsewhere:
                elsewhere.remove(usage)
            else:
                metadata = getattr(message, "response_metadata", None) or {}
                self.answers.append((str(metadata.get("model_name") or ""), usage))

    # What LangChain tells its callbacks, under its own names.

    def on_chain_start(self, serialized: object, inputs: object, **more: Any) -> None:
        """Note that a graph or a node begins to run; the first one is the agent itself."""
        about, parent = more.get("metadata") or {}, more.get("parent_run_id")
        marks = frozenset(key for key in about if key.startswith(_MARK))
        # The outermost run begins with its own marks: they are not those of a graph within it.
        above = self._runs.get(parent, _Run(marks=marks))
        known = frozenset(message.id for message in _messages_in(inputs))
        run = _Run(above.owner, above.marks | marks, False, known, within=above.within)
        for mark in run.marks - above.marks:
            member = _log_of_graph(mark)
            if member is not None and member is not self:
                run = run._replace(owner=member, of_owner=True)
        if parent in self._tool_calls and run.owner is None:
            name = about.get("lc_agent_name") or "member"
            run = run._replace(member=name, within=name)
        self._runs[more["run_id"]] = run

    def on_chain_end(self, outputs: object, *, run_id: object, **more: object) -> None:
        """Note that a run has ended; that of a member belongs to the member's log."""
        run, messages = self._runs.get(run_id, _NO_RUN), _messages_in(outputs)
        if run.member and messages:
            self.members.setdefault(run.member, ModelCallLog()).keep_messages(messages)
        if run.of_owner and run.owner is not None and not run.owner.in_own_turn:
            new = [message for message in messages if message.id not in run.known]
            run.owner._counted |= self._counted
            run.owner.count_made(new)
            self._counted |= run.owner._counted
            run.owner.keep_messages(messages)

    def on_chat_model_start(self, serialized: object, messages: Any, **more: Any) -> None:
        model = str((more.get("metadata") or {}).get("ls_model_name") or "")
        run = self._runs.get(more.get("parent_run_id"), _NO_RUN)
        owner = run.owner or self
        if run.owner is None and run.within:
            owner = self.members.setdefault(run.within, ModelCallLog(run.within))
        self._models[more["run_id"]] = (owner, model, time.perf_counter())
        first = messages[0][0] if messages and messages[0] else None
        if getattr(first, "type", None) == "system":
            owner.instructions = first
        if owner is self or not owner.in_own_turn:
            owner.asked.append(model)

    def on_llm_end(self, response: Any, *, run_id: object, **more: object) -> None:
        owner, model, began = self._models.pop(run_id, (self, "", time.perf_counter()))
        if owner is self or not owner.in_own_turn:
            owner.seconds.append(time.perf_counter() - began)
        choices = [choice for several in response.generations for choice in several]
        for message in [choice.message for choice in choices if hasattr(choice, "message")]:
            self.times[key_of(message)] = owner.times[key_of(message)] = now()
            if message.usage_metadata:
                usage = _token_usage(message.usage_metadata)
                self._counted[key_of(message)] = message, usage
                if owner is self or not owner.in_own_turn:
                    owner.answers.append((model, usage))
            self.order.announce([call["id"] for call in message.tool_calls])

    def on_tool_start(self, serialized: object, input_str: object, **more: Any) -> None:
        self.order.wait(self.begin_tool(**more))

    def on_tool_end(self, output: object, *, run_id: object, **more: object) -> None:
        self._end_tool(run_id)

    def on_tool_error(self, error: BaseException, *, run_id: object, **more: object) -> None:
        self._end_tool(run_id, error)

    def keep_messages(self, messages: Sequence[LangChainMessage]) -> None:
        """Keep the messages of a run that another graph made of this agent."""
        known = {message.id for message in self.conversation}
        self.conversation += [message for message in messages if message.id not in known]

    def begin_tool(self, **more: Any) -> str | None:
        """Note a tool call and who makes it: a graph with an adapter, or one that has a name."""
        run_id, parent = more["run_id"], more.get("parent_run_id")
        call_id: str | None = more.get("tool_call_id")
        self._tool_calls[run_id] = call_id
        owner = None
        if parent in self._runs:
            self._runs[run_id] = self._runs[parent]._replace(of_owner=False)
            owner = self._runs[parent].owner
        within = (more.get("metadata") or {}).get("lc_agent_name")
        begin_to_act(
            owner.name if owner else self.name if within in (None, self._graph_name) else within
        )
        return call_id

    def _end_tool(self, run_id: object, error: BaseException | None = None) -> None:
        call_id = self._tool_calls.pop(run_id, None)
        self.order.finish(call_id)
        self._failures.pop(call_id, None)  # the graph may have retried
        if isinstance(error, MASEvalError) and not isinstance(error, AgentError):
            self._failures[call_id] = error


class _Run(NamedTuple):
    """A run of a graph or a node: whose it is, and which marked graphs it is in."""

    owner: ModelCallLog | None = None
    marks: frozenset[str] | set[str] = frozenset()
    of_owner: bool = False
    known: frozenset[str | None] = frozenset()
    member: str | None = None
    within: str | None = None


_NO_RUN = _Run()
_MARK = "maseval_graph_"


def mark_graph(graph: object, config: Mapping[str, object] | None) -> dict[str, object]:
    """Return a graph's configuration with a mark by which its runs are recognised."""
    metadata = (config or {}).get("metadata")
    kept = dict(metadata) if isinstance(metadata, Mapping) else {}
    return {**(config or {}), "metadata": {**kept, f"{_MARK}{id(graph)}": True}}


def _log_of_graph(mark: str) -> ModelCallLog | None:
    found = getattr(adapter_by_id(int(mark.removeprefix(_MARK))), "calls", None)
    return found if isinstance(found, ModelCallLog) else None


def key_of(message: LangChainMessage) -> str | int:
    """Return what a message is recognised by: its id, which only some states give to it."""
    return message.id or id(message)


def _token_usage(metadata: Mapping[str, Any]) -> TokenUsage:
    asked = metadata.get("input_token_details", {})
    answered = metadata.get("output_token_details", {})
    return TokenUsage.from_chat_response_usage(
        {
            **metadata,
            "cached_input_tokens": asked.get("cache_read"),
            "cache_creation_input_tokens": asked.get("cache_creation"),
            "reasoning_tokens": answered.get("reasoning"),
            "audio_tokens": (asked.get("audio") or 0) + (answered.get("audio") or 0),
        }
    )


def _messages_in(state: object) -> list[LangChainMessage]:
    found = state.get("messages") if isinstance(state, Mapping) else None
    if not isinstance(found, list):
        return []
    return [message for message in found if hasattr(message, "type")]


@cache
def _handler_classes() -> tuple[Callable[[ModelCallLog], object], Callable[[ModelCallLog], object]]:
    """Return the classes of callback handlers for sync and for async runs."""

    class CallLogHandler(langchain("callbacks").BaseCallbackHandler):  # type: ignore[misc]
        run_inline = True  # async runs then call it directly, without a thread

        def __init__(self, log: ModelCallLog) -> None:
            super().__init__()
            self.log = log

    for name in [name for name in vars(ModelCallLog) if name.startswith("on_")]:
        setattr(CallLogHandler, name, _forward(name))

    class AsyncCallLogHandler(CallLogHandler):
        async def on_tool_start(self, *args: object, **more: Any) -> None:
            await self.log.order.wait_async(self.log.begin_tool(**more))

    return CallLogHandler, AsyncCallLogHandler


def _forward(name: str) -> Callable[..., None]:
    def call(self: Any, *args: object, **more: object) -> None:
        getattr(self.log, name)(*args, **more)

    return call


class CallOrder:
    """Decides when a call may run; one object serves a whole conversation.

    ``announce`` the calls of an answer, then ``wait`` before each call and ``finish`` after it.
    """

    def __init__(self) -> None:
        self._before: dict[str, str] = {}
        self._came: dict[str, float] = {}
        self._ended: set[str] = set()

    def announce(self, call_ids: Sequence[str | None]) -> None:
        """Register the ids of one answer's calls, in order; duplicate ids impose no order."""
        known = [call_id for call_id in call_ids if call_id]
        for call_id in known:  # a model may reuse an id in a later answer
            self._before.pop(call_id, None)
            self._came.pop(call_id, None)
            self._ended.discard(call_id)
        if len(set(known)) == len(call_ids):
            self._before.update((later, earlier) for earlier, later in pairwise(known))

    def wait(self, call_id: str | None) -> None:
        """Return when it is this call's turn."""
        # Polled: the call before may run in a thread or in an event loop, and need not start at
        # all.
        while not self._is_due(call_id):
            time.sleep(_PAUSE)

    async def wait_async(self, call_id: str | None) -> None:
        """``wait`` without blocking the event loop."""
        while not self._is_due(call_id):
            await asyncio.sleep(_PAUSE)

    def finish(self, call_id: str | None) -> None:
        """Note that the call has returned or failed."""
        if call_id:
            self._ended.add(call_id)

    def _is_due(self, call_id: str | None) -> bool:
        if not call_id:
            return True
        came = self._came.setdefault(call_id, time.monotonic())
        earlier = self._before.get(call_id)
        if earlier is None or earlier in self._ended:
            return True
        patience = UNTIL_FINISHED if earlier in self._came else UNTIL_STARTED
        return time.monotonic() - came > patience
