"""LangGraphAgentAdapter: a compiled graph whose state has ``messages`` as an agent."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from maseval.core.agent import AgentObserver, ConversationNotLoadedError
from maseval.core.event_loop import run_async
from maseval.core.exceptions import ConfigurationError
from maseval.core.messages import MessageHistory
from maseval.core.storage.redaction import redact
from maseval.core.tracing import now
from maseval.core.usage import TOKEN_FIELDS, CostCalculator, Usage
from maseval.interface import extras
from maseval.interface.agents.earlier import named_results
from maseval.interface.agents.framework import FrameworkAgentAdapter
from maseval.interface.agents.langgraph.callbacks import Heard, marked
from maseval.interface.agents.langgraph.graph import (
    CompiledGraph,
    LangChainMessage,
    RunnableConfig,
    State,
    StateSnapshot,
)
from maseval.interface.agents.langgraph.messages import converted, text_of
from maseval.interface.agents.langgraph.tools import langchain

_LIMITS = {"GraphRecursionError", "ModelCallLimitExceededError", "ToolCallLimitExceededError"}


class LangGraphAgentAdapter(FrameworkAgentAdapter):
    """A compiled graph as an agent; ``config`` is LangGraph's, used in every turn.

    A graph with a checkpointer keeps the conversation itself, in the thread that ``config`` names
    or in the adapter's own. Any other graph is sent the earlier messages again. What a graph within
    this one does belongs to its own adapter, if it has one.
    """

    module = "langgraph"
    extra = "langgraph"
    agent: CompiledGraph

    def __init__(
        self,
        agent_instance: object,
        name: str,
        callbacks: Iterable[AgentObserver] | None = None,
        config: Mapping[str, object] | None = None,
        cost_calculator: CostCalculator | None = None,
        model_id: str | None = None,
    ) -> None:
        super().__init__(agent_instance, name, callbacks, cost_calculator, model_id)
        self.config = config
        self._own_thread = uuid4().hex
        self.heard = Heard()
        """What was heard of the agent's models."""
        if hasattr(agent_instance, "config"):
            agent_instance.config = marked(agent_instance, agent_instance.config)
        self._state: State = {}
        self._conversation: list[LangChainMessage] = []
        self._memory: list[LangChainMessage] = []
        """What the graph is sent with a question: the turns that succeeded, or, if it keeps those
        itself, the conversation that it takes over."""
        self._questions: dict[str, object] = {}
        """The questions of a graph that interrupted itself."""

    def _run_framework(self, query: str) -> str | None:
        began, started, heard = now(), time.perf_counter(), len(self.heard.answers)
        sent: LangChainMessage = langchain("messages").HumanMessage(query, id=uuid4().hex)
        self._state = {}
        self.heard.begin()
        self.heard.following, before = True, self._conversation
        try:
            self._follow(self._turn(sent))
            self.heard.check()
        finally:
            self.heard.following = False
            if self._state:
                self._conversation = self._whole(_messages(self._state), sent)
                self.heard.count_made(_new(self._conversation, sent, before))
                self._memory = [] if self._has_checkpointer else self._memory
        entry = {
            "timestamp": began,
            "query": query,
            "query_length": len(query),
            "duration_seconds": time.perf_counter() - started,
            "status": "success",
            "state_keys": list(self._state),
            "message_count": len(self._conversation),
        }
        if used := sum(usage for _, usage in self.heard.answers[heard:]):
            entry |= {name: getattr(used, name) for name in TOKEN_FIELDS[:3]}
        if self._has_checkpointer:
            entry |= self._checkpoint()
        else:
            self._memory = self._conversation
        self.logs.append(entry)
        return self._answer(sent)

    def load_messages(self, messages: MessageHistory) -> None:
        """Continue a conversation; a thread that has one already is not given another."""
        if self._has_checkpointer:
            self._begin_thread()
        named = list(named_results(messages))
        made: list[LangChainMessage] = langchain("messages").convert_to_messages(named)
        for each in made:
            each.id = each.id or uuid4().hex
        self._conversation = self._memory = made

    def _begin_thread(self) -> None:
        self._own_thread, self._questions = uuid4().hex, {}
        if self._names_thread and self._snapshot().values.get("messages"):
            raise ConversationNotLoadedError(
                f"the thread that the graph of agent {self.name!r} keeps its conversation in has "
                "messages already; name another thread_id in its config, or none"
            )

    def _turn(self, sent: LangChainMessage) -> object:
        if self._questions:
            types = extras.load("langgraph.types", extra=self.extra)
            return types.Command(resume=dict.fromkeys(self._questions, sent.content))
        return {"messages": [*self._memory, sent]}

    def _answer(self, sent: LangChainMessage) -> str | None:
        if self._questions:
            return "\n\n".join(_told(question) for question in self._questions.values())
        last = self._conversation[-1] if self._conversation else sent
        return None if last.id == sent.id else text_of(last.content)

    def _follow(self, turn: object) -> None:
        """Run the graph and keep its latest state, so that a failed turn can be read too."""
        if _is_async(self.agent):
            return run_async(self._follow_async(turn))
        asked = len(self.heard.asked)
        try:
            config = self._run_config(listening="sync")
            for state in self.agent.stream(turn, config, stream_mode="values"):
                self._state = state
        except NotImplementedError:
            # Middleware cannot be checked beforehand. Nothing runs twice: no model was called yet.
            if len(self.heard.asked) > asked:
                raise
            run_async(self._follow_async(turn))

    async def _follow_async(self, turn: object) -> None:
        config = self._run_config(listening="async")
        async for state in self.agent.astream(turn, config, stream_mode="values"):
            self._state = state

    def _run_config(self, listening: str | None = None) -> RunnableConfig:
        ours: RunnableConfig = {}
        if listening:
            ours["callbacks"] = [self.heard.listener(asynchronous=listening == "async")]
        if self._has_checkpointer and not self._names_thread:
            ours["configurable"] = {"thread_id": self._own_thread}
        merged: RunnableConfig = langchain("runnables.config").merge_configs(self.config, ours)
        return merged

    @property
    def _has_checkpointer(self) -> bool:
        return getattr(self.agent, "checkpointer", None) not in (None, True, False)

    @property
    def _names_thread(self) -> bool:
        configs = (getattr(self.agent, "config", None) or {}, self.config or {})
        return any(_names_thread(config) for config in configs)

    def _checkpoint(self) -> dict[str, object]:
        snapshot = self._snapshot()
        self._questions = {question.id: question.value for question in snapshot.interrupts}
        metadata = snapshot.metadata or {}
        return {
            "checkpoint_metadata": {key: metadata.get(key) for key in ("source", "step")},
            "checkpoint_created_at": snapshot.created_at,
        }

    def _snapshot(self) -> StateSnapshot:
        config = self._run_config()
        if _is_async(self.agent):
            return run_async(self.agent.aget_state(config))
        return self.agent.get_state(config)

    def _whole(
        self, messages: list[LangChainMessage], sent: LangChainMessage
    ) -> list[LangChainMessage]:
        """The whole conversation, even if the state holds only what the last node returned."""
        channel = getattr(self.agent, "channels", {}).get("messages")
        replaces = type(channel).__name__ == "LastValue"
        if replaces and not self._has_checkpointer and sent.id not in {m.id for m in messages}:
            return [*self._memory, sent, *messages]
        return messages

    def get_messages(self) -> MessageHistory:
        said = [*self._conversation, *self.heard.conversation]
        return MessageHistory([converted(message) for message in said])

    def _gave_up(self, error: Exception) -> bool:
        return any(base.__name__ in _LIMITS for base in type(error).__mro__)

    def _resolve_model_id(self) -> str | None:
        """The model that was called, if it was only one."""
        models = set(self.heard.asked)
        return (models.pop() or None) if len(models) == 1 else None

    def _gather_usage(self) -> Usage:
        answers = self.heard.answers
        usage: Usage = sum(used for _, used in answers) or Usage()
        calculator = self._resolve_cost_calculator()
        if self._model_id or calculator is None or len(set(self.heard.asked)) < 2:
            return usage
        costs = [calculator.calculate_cost(used, model) for model, used in answers]
        known = [cost for cost in costs if cost is not None]
        return replace(usage, cost=sum(known)) if len(known) == len(costs) else usage

    def gather_config(self) -> dict[str, Any]:
        graph = self.agent.get_graph()
        return {
            **super().gather_config(),
            "langgraph_config": {
                "has_checkpointer": self._has_checkpointer,
                "config": None if self.config is None else _stored(self.config),
                "graph_info": {"num_nodes": len(graph.nodes), "num_edges": len(graph.edges)},
            },
        }


def _messages(state: State) -> list[LangChainMessage]:
    if "messages" not in state:
        raise ConfigurationError(
            f"the graph's state has {', '.join(map(repr, state))} but no 'messages'; use a graph "
            "that takes and returns messages, such as one with langgraph.graph.MessagesState"
        )
    messages: list[LangChainMessage] = langchain("messages").convert_to_messages(
        state["messages"] or []
    )
    return messages


def _new(
    conversation: list[LangChainMessage],
    sent: LangChainMessage,
    before: list[LangChainMessage],
) -> list[LangChainMessage]:
    """The messages of this turn; an answer to a graph's own question is not among them."""
    places = [place for place, message in enumerate(conversation) if message.id == sent.id]
    if places:
        return conversation[places[0] + 1 :]
    known = {message.id for message in before}
    return [message for message in conversation if known and message.id not in known]


def _is_async(graph: object) -> bool:
    """Whether some part of the graph can only run in an event loop."""
    return any(_lacks_sync(part) for part in _parts(graph))


def _lacks_sync(part: object) -> bool:
    has_async = getattr(part, "afunc", None) or getattr(part, "coroutine", None)
    return bool(has_async) and getattr(part, "func", None) is None


def _parts(graph: object) -> Iterator[object]:
    for node in getattr(graph, "nodes", {}).values():
        bound = getattr(node, "bound", None)
        yield bound
        yield from getattr(bound, "tools_by_name", {}).values()
        yield from _parts(bound)
    for branches in getattr(getattr(graph, "builder", None), "branches", {}).values():
        yield from (branch.path for branch in branches.values())


def _told(question: object) -> str:
    if isinstance(question, str):
        return question
    return json.dumps(question, ensure_ascii=False, default=str)


def _names_thread(config: Mapping[str, object]) -> bool:
    configurable = config.get("configurable")
    return isinstance(configurable, Mapping) and "thread_id" in configurable


def _stored(config: Mapping[str, object]) -> Mapping[str, object]:
    """A configuration for the report: without its thread, and with objects as type names."""
    reduced = {**config, "configurable": {"has_thread_id": _names_thread(config)}}
    as_json: dict[str, object] = json.loads(json.dumps(reduced, default=lambda o: type(o).__name__))
    return redact(as_json)
