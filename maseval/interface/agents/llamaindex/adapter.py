"""LlamaIndexAgentAdapter: agents, workflows of agents, chat engines and query engines."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from maseval.core.agent import AgentObserver, ConversationNotLoadedError
from maseval.core.event_loop import run_async
from maseval.core.messages import MessageHistory
from maseval.core.storage.redaction import redact
from maseval.core.usage import CostCalculator, TokenUsage, Usage
from maseval.interface.agents.earlier import named_results
from maseval.interface.agents.framework import FrameworkAgentAdapter, adapter_of, without
from maseval.interface.agents.llamaindex.messages import (
    Transcript,
    answer_text,
    chat_messages,
    message_of,
    tokens_of,
    tokens_of_output,
)
from maseval.interface.agents.llamaindex.run import in_order, overheard
from maseval.interface.agents.llamaindex.workflow import (
    EXTRA,
    MODULE,
    PACKAGE,
    ChatMessage,
    Context,
    Handler,
    Memory,
    ModelResponse,
    library,
)

_log = logging.getLogger(__name__)


class LlamaIndexAgentAdapter(FrameworkAgentAdapter):
    """An agent or workflow of LlamaIndex, or an engine with ``chat`` or ``query``.

    ``max_iterations`` limits how often an agent may call its model in one turn (LlamaIndex: 20).
    ``memory`` is one of LlamaIndex's; the default is the one that its agents create themselves.
    What an agent of a workflow does belongs to its own adapter, if it has one.
    """

    module: ClassVar[str] = MODULE
    extra: ClassVar[str] = EXTRA
    package: ClassVar[str | None] = PACKAGE

    def __init__(
        self,
        agent_instance: object,
        name: str,
        callbacks: Iterable[AgentObserver] | None = None,
        max_iterations: int | None = None,
        cost_calculator: CostCalculator | None = None,
        model_id: str | None = None,
        *,
        memory: Memory | None = None,
    ) -> None:
        super().__init__(agent_instance, name, callbacks, cost_calculator, model_id)
        self.max_iterations = max_iterations
        self.memory = memory
        self._given_memory = memory
        self._transcript = Transcript()
        self._context: Context | None = None
        self._usage: list[TokenUsage] = []
        self._speaker: LlamaIndexAgentAdapter | None = None
        """The adapter of the agent of a workflow whose turn it is."""

    @property
    def loads_messages(self) -> bool:
        """An engine keeps its conversation itself, or none."""
        return not any(hasattr(self.agent, name) for name in ("run_sync", "chat", "query"))

    def load_messages(self, messages: MessageHistory) -> None:
        """Continue a conversation; a memory that has one already is not given another."""
        if not self.loads_messages:
            return super().load_messages(messages)
        memory, named = self._given_memory or self._new_memory(), list(named_results(messages))
        run_async(self._remember(memory, chat_messages(named)))
        self.memory, self._context = memory, None
        self._transcript = Transcript(named)

    async def _remember(self, memory: Memory, messages: Sequence[ChatMessage]) -> None:
        if await memory.aget_all():
            raise ConversationNotLoadedError(
                f"the memory of agent {self.name!r} has messages already; give each adapter a "
                "memory of its own, or none"
            )
        await memory.aput_messages(messages)

    def _new_memory(self) -> Memory:
        memories = library("llama_index.core.memory")
        made: Memory = memories.ChatMemoryBuffer.from_defaults(llm=self._llm)
        return made

    def _run_framework(self, query: str) -> str:
        self._transcript.add_message("user", query)
        with self._logged(query), overheard() as answers:
            try:
                return self._answer(query)
            finally:
                self._count(answers)

    def _answer(self, query: str) -> str:
        agent = self.agent
        if hasattr(agent, "run_sync"):
            text = answer_text(agent.run_sync(input=query))
        elif hasattr(agent, "chat"):
            text = answer_text(agent.chat(query))
        elif hasattr(agent, "query"):
            text = answer_text(agent.query(query))
        else:
            text = run_async(self._converse(query))
        self._transcript.close(text)
        return text

    async def _converse(self, query: str) -> str:
        context, self._context = self._context or _new_context(self.agent), None
        limit = {} if self.max_iterations is None else {"max_iterations": self.max_iterations}
        if self.memory is None:
            self.memory = self._new_memory()
        with in_order():
            handler: Handler = self.agent.run(
                user_msg=query, memory=self.memory, ctx=context, **limit
            )
            try:
                self._speaker = None
                async for event in handler.stream_events():
                    self._transcript.record(event)
                    self._pass_on(event)
                result = await handler
            except BaseException:
                await handler.cancel_run()
                raise
        await self._keep(context)
        return answer_text(result)

    def _pass_on(self, event: object) -> None:
        """Tell the adapter of an agent of a workflow what the agent does."""
        before = self._speaker
        if name := getattr(event, "current_agent_name", None):
            found = adapter_of(self._members.get(name))
            self._speaker = found if isinstance(found, LlamaIndexAgentAdapter) else None
        if self._speaker is not None and self._speaker is not self:
            self._speaker._overhear(event, first=self._speaker is not before)
            if (used := tokens_of_output(event)) is not None:
                self._speaker._usage.append(used)
                self.passed_on.append(used)

    def _overhear(self, event: object, *, first: bool) -> None:
        """Record an event of a workflow that this agent is a part of."""
        if first and (asked := getattr(event, "input", None)):
            questions = [one for one in asked if one.role.value == "user"]
            for question in questions[-1:]:
                self._transcript.add_message("user", question.content or "")
        self._transcript.record(event)

    async def _keep(self, context: Context) -> None:
        """Keep what the agents share, such as whose turn it is, but not what is of this turn."""
        # A context is copied for its next run, which loses a memory with tool calls; so the memory
        # is passed to every run.
        await context.store.set("memory", None)
        # A stopped agent leaves calls without results, which no model would accept.
        for agent in self._members.values() or [self.agent]:
            for notes in ("scratchpad_key", "reasoning_key"):
                if key := getattr(agent, notes, None):
                    await context.store.set(key, [])
        self._context = context

    def _count(self, answers: list[ModelResponse]) -> None:
        # Models that chat by completing a text report one answer twice.
        different = {id(answer.raw): answer.raw for answer in answers}
        told = [tokens for raw in different.values() if (tokens := tokens_of(raw)) is not None]
        self._usage += told
        if answers and not told:
            _log.warning(
                "the model of agent %r does not report its tokens; for a streaming OpenAI model "
                'set additional_kwargs={"stream_options": {"include_usage": True}}',
                self.name,
            )

    def _gave_up(self, error: Exception) -> bool:
        errors = library("llama_index.core.workflow.errors")
        if isinstance(error, errors.WorkflowTimeoutError):
            return True
        return isinstance(error, errors.WorkflowRuntimeError) and "Max iterations" in str(error)

    def get_messages(self) -> MessageHistory:
        memory = getattr(self.agent, "memory", None)
        kept = memory.get_all() if memory is not None and hasattr(memory, "get_all") else None
        if kept := kept or getattr(self.agent, "chat_history", None):
            return MessageHistory([message_of(message) for message in kept])
        return self._transcript

    def _gather_usage(self) -> Usage:
        total = sum(self._usage) or Usage()
        return without(total, self.passed_on) if isinstance(total, TokenUsage) else total

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


def _new_context(agent: object) -> Context:
    context: Context = library("llama_index.core.workflow").Context(agent)
    return context


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
