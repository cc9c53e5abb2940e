"""LangGraph: a compiled graph whose state has ``messages`` as the agent under evaluation."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any
from uuid import uuid4

from maseval.core.agent import AgentObserver
from maseval.core.event_loop import run_async
from maseval.core.exceptions import AgentError, ConfigurationError
from maseval.core.messages import Content, Message, MessageHistory
from maseval.core.usage import CostCalculator, Usage
from maseval.interface import extras
from maseval.interface.agents.framework import (
    AskedLLMUser,
    FrameworkAgentAdapter,
    Tools,
    as_text,
    describe_tools,
    work_of,
)
from maseval.interface.agents.langgraph_callbacks import (
    LangChainMessage,
    ModelCallLog,
    key_of,
    langchain,
    mark_graph,
)
from maseval.interface.inference.chat_completions import function_call, get

__all__ = ["LangGraphAgentAdapter", "LangGraphLLMUser", "as_tools"]

State = Mapping[str, object]
"""The values that a graph keeps while it runs."""

RunnableConfig = dict[str, object]
Messages = list[LangChainMessage]

_ROLES = {"human": "user", "ai": "assistant", "function": "tool"}


class LangGraphAgentAdapter(FrameworkAgentAdapter):
    """A compiled graph as an agent; ``config`` is LangGraph's, used in every turn.

    A graph with a checkpointer keeps the conversation itself, in the thread that ``config`` names
    or in the adapter's own. Any other graph is sent the earlier messages again. The messages and
    usage of a graph within this one belong to its own adapter, if it has one.
    """

    module = extra = "langgraph"
    models_package = "langchain_core.language_models"
    limit_errors = (
        "GraphRecursionError",
        "ModelCallLimitExceededError",
        "ToolCallLimitExceededError",
    )

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
        self.calls = ModelCallLog(name, agent_instance)
        """The calls of the agent's models."""
        # In the graph's own configuration, which holds when another graph runs it.
        if hasattr(agent_instance, "config"):
            agent_instance.config = mark_graph(agent_instance, agent_instance.config)
        self._state: State = {}
        self._conversation: Messages = []
        self._memory: Messages = []
        """Sent to the graph with a question, unless it keeps them itself: the earlier turns that
        succeeded."""
        self._questions: dict[str, object] = {}
        """The questions of a graph that interrupted itself."""

    def _run_framework(self, query: str) -> str | None:
        sent: LangChainMessage = langchain("messages").HumanMessage(query, id=uuid4().hex)
        self._state = {}
        self.calls.begin_turn()
        self.calls.in_own_turn, before = True, self._conversation
        try:
            self._follow(self._turn(sent))
            self.calls.raise_failure()
        finally:
            self.calls.in_own_turn = False
            if self._state:
                self._conversation = self._whole(_messages(self._state), sent)
                self.calls.count_made(_new(self._conversation, sent, before))
        self.turn_details = {
            "state_keys": list(self._state),
            "message_count": len(self._conversation),
        }
        if self._has_checkpointer:
            self.turn_details |= self._checkpoint()
        else:
            self._memory = self._conversation
        return self._answer(sent)

    def _turn(self, sent: LangChainMessage) -> object:
        if self._questions:
            types = extras.load("langgraph.types", extra=self.extra)
            # There is one reply of the customer, however many questions the graph has asked.
            return types.Command(resume=dict.fromkeys(self._questions, sent.content))
        return {"messages": [*self._memory, sent]}

    def _answer(self, sent: LangChainMessage) -> str | None:
        if self._questions:
            return "\n\n".join(as_text(question) for question in self._questions.values())
        last = self._conversation[-1] if self._conversation else sent
        # Where nothing follows the customer's words, the graph gave no answer.
        return None if last.id == sent.id else _text_of(last.content)

    def _follow(self, turn: object) -> None:
        """Run the graph and keep its latest state, so that a failed turn can be read too."""
        if _is_async(self.agent):
            return run_async(self._follow_async(turn))
        asked = len(self.calls.asked)
        try:
            config = self._run_config(listening="sync")
            for state in self.agent.stream(turn, config, stream_mode="values"):
                self._keep_state(state)
        except NotImplementedError:
            # Middleware cannot be checked beforehand. Nothing runs twice: no model was called yet.
            if len(self.calls.asked) > asked:
                raise
            run_async(self._follow_async(turn))

    async def _follow_async(self, turn: object) -> None:
        config = self._run_config(listening="async")
        async for state in self.agent.astream(turn, config, stream_mode="values"):
            self._keep_state(state)

    def _keep_state(self, state: State) -> None:
        self._state = state
        so_far = state.get("messages") if isinstance(state, Mapping) else None
        self.note_times(len(so_far) if isinstance(so_far, list) else 0)

    def _run_config(self, listening: str | None = None) -> RunnableConfig:
        ours: RunnableConfig = {}
        if listening:
            ours["callbacks"] = [self.calls.callback_handler(is_async=listening == "async")]
        if self._has_checkpointer and self._thread_id is None:
            ours["configurable"] = {"thread_id": self._own_thread}
        merged: RunnableConfig = langchain("runnables.config").merge_configs(self.config, ours)
        return merged

    @property
    def _has_checkpointer(self) -> bool:
        # True and False tell a graph within another one whether to use that of the outer graph.
        return getattr(self.agent, "checkpointer", None) not in (None, True, False)

    @property
    def _thread_id(self) -> object:
        configs = (self.config or {}, getattr(self.agent, "config", None) or {})
        return next(filter(None, map(_thread_id, configs)), None)

    def _checkpoint(self) -> dict[str, object]:
        config = self._run_config()
        snapshot: Any = (
            run_async(self.agent.aget_state(config))
            if _is_async(self.agent)
            else self.agent.get_state(config)
        )
        self._questions = {question.id: question.value for question in snapshot.interrupts}
        metadata = snapshot.metadata or {}
        return {
            "checkpoint_metadata": {key: metadata.get(key) for key in ("source", "step")},
            "checkpoint_created_at": snapshot.created_at,
        }

    def _whole(self, messages: Messages, sent: LangChainMessage) -> Messages:
        """Return the whole conversation, even if the state holds only the last node's messages."""
        channel = getattr(self.agent, "channels", {}).get("messages")
        replaces = type(channel).__name__ == "LastValue"
        if replaces and not self._has_checkpointer and sent.id not in {m.id for m in messages}:
            return [*self._memory, sent, *messages]
        return messages

    def get_messages(self) -> MessageHistory:
        own = [_openai_message(message) for message in self._conversation]
        return MessageHistory([*own, *self._delegated(self.calls)])

    def _delegated(self, calls: ModelCallLog) -> list[Message]:
        """Return the messages of runs that others made, with times.

        A question is as old as the answer to it, and a tool's result as the call.
        """
        made, time = list[Message](), ""
        known = [self.calls.times.get(key_of(message)) for message in calls.conversation]
        for place, message in enumerate(calls.conversation):
            if message.type == "human":
                time = next(filter(None, known[place:]), time)
            time = known[place] or time
            made.append({**_openai_message(message), **({"timestamp": time} if time else {})})  # type: ignore[typeddict-item]
        return made if calls is self.calls else [*self._instructions(calls, made), *made]

    def gather_traces(self) -> dict[str, Any]:
        spoken = {name: self._delegated(log) for name, log in self.calls.members.items()}
        return {**super().gather_traces(), **self._team_traces(spoken)}

    def team(self) -> dict[str, dict[str, Any]]:
        logs = {self.name: self.calls, **self.calls.members}
        return {name: work_of(_used(log), log.seconds) for name, log in logs.items()}

    def openai_messages(self) -> MessageHistory:
        """Return the conversation with times, after what the model is told beside it."""
        said = super().openai_messages()
        return MessageHistory([*self._instructions(self.calls, said), *said])

    def _instructions(self, calls: ModelCallLog, said: Sequence[Message]) -> list[Message]:
        if calls.instructions is None or any(message["role"] == "system" for message in said):
            return []
        told = _openai_message(calls.instructions)
        return [{**told, "timestamp": said[0]["timestamp"]} if said else told]

    def _resolve_model_id(self) -> str | None:
        """Return the model that was called, if it was only one."""
        models = {
            model for log in (self.calls, *self.calls.members.values()) for model in log.asked
        }
        return (models.pop() or None) if len(models) == 1 else None

    def _gather_usage(self) -> Usage:
        logs = [self.calls, *self.calls.members.values()]
        answers = [answer for log in logs for answer in log.answers]
        usage: Usage = sum(used for _, used in answers) or Usage()
        calculator, asked = self._resolve_cost_calculator(), {m for log in logs for m in log.asked}
        # The base class prices the sum for one model; only several need a price for each answer.
        if self._model_id or calculator is None or len(asked) < 2:
            return usage
        costs = [calculator.calculate_cost(used, model) for model, used in answers]
        known = [cost for cost in costs if cost is not None]
        # A sum that lacks the cost of an answer would be taken for the cost of all.
        return replace(usage, cost=sum(known)) if len(known) == len(costs) else usage

    def _settings(self) -> dict[str, Any]:
        graph = self.agent.get_graph()
        return {
            "has_checkpointer": self._has_checkpointer,
            "config": None if self.config is None else _stored_config(self.config),
            "graph_info": {"num_nodes": len(graph.nodes), "num_edges": len(graph.edges)},
        }


def _used(calls: ModelCallLog) -> Usage:
    return sum(used for _, used in calls.answers) or Usage()


def _messages(state: State) -> Messages:
    if "messages" not in state:
        raise ConfigurationError(
            f"the graph's state has {', '.join(map(repr, state))} but no 'messages'; use a graph "
            "that takes and returns messages, such as one with langgraph.graph.MessagesState"
        )
    messages: Messages = langchain("messages").convert_to_messages(state["messages"] or [])
    return messages


def _new(conversation: Messages, sent: LangChainMessage, before: Messages) -> Messages:
    """Return the messages of this turn, without an answer to the graph's own question."""
    places = [place for place, message in enumerate(conversation) if message.id == sent.id]
    if places:
        return conversation[places[0] + 1 :]
    known = {key_of(message) for message in before}
    return [message for message in conversation if key_of(message) not in known]


def _is_async(graph: object) -> bool:
    """Return True if some part of the graph can only run in an event loop."""
    return any(
        (getattr(part, "afunc", None) or getattr(part, "coroutine", None))
        and getattr(part, "func", None) is None
        for part in _parts(graph)
    )


def _parts(graph: object) -> Iterator[object]:
    for node in getattr(graph, "nodes", {}).values():
        bound = getattr(node, "bound", None)
        yield bound
        yield from getattr(bound, "tools_by_name", {}).values()
        yield from _parts(bound)
    for branches in getattr(getattr(graph, "builder", None), "branches", {}).values():
        yield from (branch.path for branch in branches.values())


def _thread_id(config: Mapping[str, object]) -> object:
    configurable = config.get("configurable")
    return configurable.get("thread_id") if isinstance(configurable, Mapping) else None


def _stored_config(config: Mapping[str, object]) -> Mapping[str, object]:
    """Return a configuration for the report: no thread id, and objects as type names."""
    reduced = {**config, "configurable": {"has_thread_id": _thread_id(config) is not None}}
    as_json: dict[str, object] = json.loads(json.dumps(reduced, default=lambda o: type(o).__name__))
    return as_json


def _openai_message(message: LangChainMessage) -> Message:
    """Convert a message; calls that are not valid JSON are kept as the model wrote them."""
    role = _ROLES.get(message.type, message.type)
    if message.type == "chat":
        role = get(message, "role")
    entry: Message = {"role": role, "content": _content(message)}
    calls = [*getattr(message, "tool_calls", ()), *getattr(message, "invalid_tool_calls", ())]
    if calls:
        entry["tool_calls"] = [
            function_call(call["id"], call["name"], call["args"]) for call in calls
        ]
    if role == "tool":
        entry["tool_call_id"] = getattr(message, "tool_call_id", "")
    if message.name:
        entry["name"] = message.name
    return entry


def _text_of(content: str | list[str | dict[str, object]]) -> str:
    if isinstance(content, str):
        return content
    parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    return "".join(str(part.get("text") or "") for part in parts if part.get("type") == "text")


def _content(message: LangChainMessage) -> Content:
    content = message.content
    # The other parts of an answer are the provider's own form of thoughts and tool calls.
    if isinstance(content, str) or message.type == "ai":
        return _text_of(content)
    parts: list[dict[str, object]] = [
        {"type": "text", "text": p} if isinstance(p, str) else dict(p) for p in content
    ]
    return parts if any(part.get("type") != "text" for part in parts) else _text_of(content)


def as_tools(tools: Tools) -> list[Any]:
    """Return functions, such as ``environment.tools``, as LangChain tools with full schemas."""
    make = _tool_class(langchain("tools").BaseTool)
    return [
        make(
            name=tool.name,
            description=tool.description,
            args_schema=tool.parameters,
            function=tool.function,
        )
        for tool in describe_tools(tools)
    ]


@cache
def _tool_class(base: type) -> Callable[..., object]:
    class LangChainFunctionTool(base):  # type: ignore[misc]
        """Passes arguments to the function as they come, whatever their names and types."""

        function: Callable[..., object]

        def run(self, tool_input: object, *args: object, **kwargs: object) -> object:
            # As one argument, so that no name the model sends can meet a parameter of LangChain's.
            result: object = super().run({"arguments": tool_input}, *args, **kwargs)
            return result

        async def arun(self, tool_input: object, *args: object, **kwargs: object) -> object:
            result: object = await super().arun({"arguments": tool_input}, *args, **kwargs)
            return result

        def _run(self, arguments: dict[str, Any]) -> object:
            try:
                return self.function(**arguments)
            except AgentError as error:  # the agent's own mistake, which it may correct
                return f"Error: {error}"

    return LangChainFunctionTool


class LangGraphLLMUser(AskedLLMUser):
    """A simulated user that an agent can ask through a LangChain tool."""

    as_tools = staticmethod(as_tools)
