"""LlamaIndex: agents, workflows of agents, and engines that can chat or be queried."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from maseval.core.agent import AgentObserver
from maseval.core.event_loop import run_async
from maseval.core.messages import MessageHistory
from maseval.core.provider_errors import MalformedResponseError
from maseval.core.storage.redaction import redact
from maseval.core.usage import CostCalculator
from maseval.interface.agents.framework import (
    AskedLLMUser,
    FrameworkAgentAdapter,
    adapter_of,
)
from maseval.interface.agents.llamaindex_run import (
    EXTRA,
    MODULE,
    PACKAGE,
    Transcript,
    as_tools,
    collect_answers,
    is_output,
    library,
    observe_runs,
    openai_message,
    run_tools_in_order,
    tokens_of,
)

__all__ = ["LlamaIndexAgentAdapter", "LlamaIndexLLMUser", "as_tools"]

_log = logging.getLogger(__name__)


class LlamaIndexAgentAdapter(FrameworkAgentAdapter):
    """An agent or workflow of LlamaIndex, or an engine with ``chat`` or ``query``.

    ``max_iterations`` limits how often an agent may call its model in one turn (LlamaIndex: 20).
    ``memory`` is one of LlamaIndex's; the default is the one that its agents create themselves.
    The messages and usage of a workflow's agent belong to its own adapter, if it has one.
    """

    module, extra, package = MODULE, EXTRA, PACKAGE

    def __init__(
        self,
        agent_instance: object,
        name: str,
        callbacks: Iterable[AgentObserver] | None = None,
        max_iterations: int | None = None,
        cost_calculator: CostCalculator | None = None,
        model_id: str | None = None,
        *,
        memory: Any = None,
    ) -> None:
        super().__init__(agent_instance, name, callbacks, cost_calculator, model_id)
        self.max_iterations = max_iterations
        self.memory = memory
        self._transcript = Transcript()
        self._context: Any | None = None
        self._outputs: list[Any] = []  # the provider's answers that this turn's outputs carry
        is_engine = any(hasattr(agent_instance, name) for name in ("run_sync", "chat", "query"))
        if hasattr(agent_instance, "run") and not is_engine:
            observe_runs(LlamaIndexAgentAdapter)
        self._speaker: LlamaIndexAgentAdapter | None = None
        """The adapter of the agent of a workflow whose turn it is."""

    def _new_memory(self) -> Any:
        return library("memory").ChatMemoryBuffer.from_defaults(llm=self._llm)

    def _run_framework(self, query: str) -> str:
        self._transcript.add_message("user", query)
        self._outputs = []
        with collect_answers() as answers:
            try:
                text = self._answer(query)
            finally:
                self._count(answers)
            # A stream in which nothing can be read ends like one that has nothing in it.
            if not text and not answers:
                raise self._provider_error(MalformedResponseError, "nothing in the model's answer")
            return text

    def _answer(self, query: str) -> str:
        agent = self.agent
        if hasattr(agent, "run_sync"):
            result = agent.run_sync(input=query)
        elif hasattr(agent, "chat"):
            result = agent.chat(query)
        elif hasattr(agent, "query"):
            result = agent.query(query)
        else:
            result = run_async(self._converse(query))
        self._outputs = self._outputs or [getattr(result, "raw", None)]
        content = getattr(getattr(result, "response", None), "content", None)
        text = content if isinstance(content, str) else str(result)
        self._transcript.close(text)
        return text

    async def _converse(self, query: str) -> object:
        context = self._context or library("workflow").Context(self.agent)
        self._context = None
        limit = {} if self.max_iterations is None else {"max_iterations": self.max_iterations}
        if self.memory is None:
            self.memory = self._new_memory()
        with run_tools_in_order():
            handler = self.agent.run(user_msg=query, memory=self.memory, ctx=context, **limit)
            try:
                self._speaker = None
                async for event in handler.stream_events():
                    self._transcript.record(event)
                    self._delegate(event)
                    if is_output(event):
                        self._outputs.append(event.raw)
                result: object = await handler
            except BaseException:
                await handler.cancel_run()
                raise
        await self._keep(context)
        return result

    def _delegate(self, event: object) -> None:
        """Pass an event of a workflow's agent on to that agent's own adapter."""
        before = self._speaker
        if name := getattr(event, "current_agent_name", None):
            found = adapter_of(self._members.get(name))
            self._speaker = found if isinstance(found, LlamaIndexAgentAdapter) else None
        if self._speaker is not None and self._speaker is not self:
            self._speaker._record_delegated(event, first=self._speaker is not before)
            used = tokens_of(getattr(event, "raw", None)) if is_output(event) else None
            if used is not None:
                self._speaker.used.append(used)
                self.delegated_usage.append(used)

    def _record_delegated(self, event: object, *, first: bool) -> None:
        """Record an event of a workflow that this agent is a part of."""
        if first and (asked := getattr(event, "input", None)):
            questions = [one for one in asked if one.role.value == "user"]
            for question in questions[-1:]:
                self._transcript.add_message("user", question.content or "")
        self._transcript.record(event)

    async def _keep(self, context: Any) -> None:
        """Keep the state that agents share, such as whose turn it is, without that of this turn."""
        # A context is copied for its next run, which loses a memory with tool calls; so the memory
        # is passed to every run.
        await context.store.set("memory", None)
        # A stopped agent leaves calls without results, which no model would accept.
        for agent in self._members.values() or [self.agent]:
            for notes in ("scratchpad_key", "reasoning_key"):
                if key := getattr(agent, notes, None):
                    await context.store.set(key, [])
        self._context = context

    def _count(self, answers: list[Any]) -> None:
        # Models that chat by completing a text report one answer twice; others report none, as an
        # agent that asks its model in a way of its own.
        raws = [answer.raw for answer in answers] or self._outputs
        different = {id(raw): raw for raw in raws}
        used = [tokens for raw in different.values() if (tokens := tokens_of(raw)) is not None]
        self.used += used
        if answers and not used:
            _log.warning(
                "the model of agent %r does not report its tokens; for a streaming OpenAI model "
                'set additional_kwargs={"stream_options": {"include_usage": True}}',
                self.name,
            )

    def _gave_up(self, error: Exception) -> bool:
        errors = library("workflow.errors")
        if isinstance(error, errors.WorkflowTimeoutError):
            return True
        return isinstance(error, errors.WorkflowRuntimeError) and "Max iterations" in str(error)

    def get_messages(self) -> MessageHistory:
        memory = getattr(self.agent, "memory", None)
        kept = memory.get_all() if memory is not None and hasattr(memory, "get_all") else None
        if kept := kept or getattr(self.agent, "chat_history", None):
            return MessageHistory([openai_message(message) for message in kept])
        return MessageHistory([*self._transcript, *self.messages_for_others])

    @property
    def _members(self) -> dict[str, object]:
        members = getattr(self.agent, "agents", None)
        return dict(members) if isinstance(members, Mapping) else {}

    @property
    def _llm(self) -> object:
        root = self._members.get(getattr(self.agent, "root_agent", ""), self.agent)
        return getattr(root, "llm", None) or getattr(root, "_llm", None)

    def _resolve_model_id(self) -> str | None:
        model_name = getattr(getattr(self._llm, "metadata", None), "model_name", None)
        return None if model_name is None else str(model_name)

    def gather_config(self) -> dict[str, Any]:
        config = {**_description(self.agent), "workflow_config": self._workflow_config()}
        return {**super().gather_config(), "llamaindex_config": redact(config)}

    def _workflow_config(self) -> dict[str, object]:
        config = {
            "max_iterations": self.max_iterations,
            "early_stopping_method": getattr(self.agent, "early_stopping_method", None),
            "streaming": getattr(self.agent, "streaming", None),
            "timeout": getattr(self.agent, "_timeout", None),
        }
        if members := self._members:
            config["root_agent"] = self.agent.root_agent
            config["agents"] = [_description(member) for member in members.values()]
        return config


def _description(agent: object) -> dict[str, object]:
    llm = getattr(agent, "llm", None) or getattr(agent, "_llm", None)
    return {
        "agent_name": getattr(agent, "name", None),
        "agent_description": getattr(agent, "description", None),
        "system_prompt": getattr(agent, "system_prompt", None),
        "tools": [
            {"name": tool.metadata.name, "description": tool.metadata.description}
            for tool in getattr(agent, "tools", None) or ()
        ],
        "llm": None if llm is None else llm.metadata.model_dump(mode="json"),
    }


class LlamaIndexLLMUser(AskedLLMUser):
    """A simulated user that a LlamaIndex agent can ask through a tool."""

    as_tools = staticmethod(as_tools)
