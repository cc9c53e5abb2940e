"""SmolAgentAdapter: a smolagents agent as the agent under evaluation.

By default, smolagents forgets the conversation at every run, treats some failures as mistakes of
the agent, and merges the results of several tools into one text. The adapter therefore keeps the
agent's memory, follows the events of a run and inspects every step; it replaces nothing.
"""

import json
import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from maseval.core.agent import AgentObserver
from maseval.core.clock import Clock
from maseval.core.exceptions import AgentError, MASEvalError
from maseval.core.messages import MessageHistory
from maseval.core.provider_errors import (
    MalformedResponseError,
    ProviderConnectionError,
    ProviderError,
)
from maseval.core.storage.redaction import redact
from maseval.core.usage import CostCalculator, TokenUsage, Usage
from maseval.interface import extras
from maseval.interface.agents.earlier import named_results
from maseval.interface.agents.failures import causes
from maseval.interface.agents.framework import FrameworkAgentAdapter, adapter_of
from maseval.interface.agents.smolagents.earlier import ANSWERING_TOOL, steps_of
from maseval.interface.agents.smolagents.memory import AgentStep, MultiStepAgent
from maseval.interface.agents.smolagents.steps import (
    TOKENS,
    calls_of,
    is_last_resort,
    log_entry,
    plain,
)
from maseval.interface.agents.smolagents.team import description_of, team_of
from maseval.interface.agents.smolagents.tools import EXTRA
from maseval.interface.inference.chat_completions import get, text_of, usage_of
from maseval.interface.inference.http_errors import error_from_status

# What smolagents raises for an answer that is empty or not JSON.
_UNREADABLE = (IndexError, AttributeError, json.JSONDecodeError)
_STATUS = re.compile(r"(?:Error code|LLM output): (\d{3})\b")
_IN_BRIEF = {"step_type", "step_number", "status", "duration_seconds", *TOKENS}


class SmolAgentAdapter(FrameworkAgentAdapter):
    """A smolagents agent, such as a ``ToolCallingAgent`` or a ``CodeAgent``.

    The adapter's first run starts a new conversation, later ones continue it. Several calls in one
    answer run one after another, in order, unless the agent sets ``max_tool_threads``. The steps of
    a managed agent belong to its own adapter, if it has one, and otherwise to its manager's.
    """

    module = extra = EXTRA
    agent: MultiStepAgent

    def __init__(
        self,
        agent_instance: object,
        name: str,
        callbacks: Iterable[AgentObserver] | None = None,
        cost_calculator: CostCalculator | None = None,
        model_id: str | None = None,
    ) -> None:
        super().__init__(agent_instance, name, callbacks, cost_calculator, model_id)
        self.messages: MessageHistory = MessageHistory()
        self._used: list[TokenUsage] = []
        self._results: dict[str, str] = {}  # of the current step, by call id
        self._begun = self._running = False
        self._assignment: object = None  # the latest task that a manager gave

    def load_messages(self, messages: MessageHistory) -> None:
        """Continue a conversation, as if the agent had taken its steps."""
        named = list(named_results(messages))
        self.agent.memory.steps = steps_of(named, self.agent)
        self.messages = MessageHistory()
        self._introduce()
        self.messages = MessageHistory([*self.messages, *named])
        self._begin()

    def _begin(self) -> bool:
        """Whether the conversation begins only now."""
        first, self._begun = not self._begun, True
        if first:
            self._accompany()
        return first

    def _run_framework(self, query: str) -> str:
        first = self._begin()
        events = self.agent.run(query, stream=True, reset=first)
        self._open(query)
        self._running = True
        try:
            answer = self._follow(events)
        finally:
            self._running = False
        self.messages.add_message("assistant", answer)
        return answer

    def _introduce(self) -> None:
        self.messages.add_message("system", self.agent.memory.system_prompt.system_prompt)

    def _open(self, task: str) -> None:
        if not self.messages:
            self._introduce()
        self.messages.add_message("user", task)
        self.logs.append({"step_type": "TaskStep", "task": task})

    def _follow(self, events: Iterator[object]) -> str:
        output: object = None
        try:
            for event in events:
                match type(event).__name__:
                    case "ToolOutput":
                        self._results[get(event, "id")] = get(event, "observation")
                    case "FinalAnswerStep":
                        output = get(event, "output")
        except extras.load("smolagents.utils", extra=EXTRA).AgentGenerationError as error:
            if isinstance(error.__cause__, _UNREADABLE):
                raise self._failure(str(error), MalformedResponseError) from None
            raise
        return plain(output)

    def _accompany(self) -> None:
        """Register for every step of the agent and of the agents it manages."""
        step = extras.load("smolagents.memory", extra=EXTRA).MemoryStep
        self.agent.step_callbacks.register(step, self._record)
        for member in team_of(self.agent):
            member.step_callbacks.register(step, partial(self._attend, member))
            if getattr(member, "max_tool_threads", 1) is None:
                member.max_tool_threads = 1

    def _attend(self, member: MultiStepAgent, step: AgentStep) -> None:
        if not self._running:  # another adapter may use the same agent
            return
        own = self if member is self.agent else adapter_of(member)
        if isinstance(own, SmolAgentAdapter) and own is not self:
            own._overhear(step)
        else:
            self._count(step)
        self._check(step)

    def _overhear(self, step: AgentStep) -> None:
        """Record a step that the agent takes for its manager."""
        assigned = [each for each in self.agent.memory.steps if type(each).__name__ == "TaskStep"]
        if assigned and assigned[-1] is not self._assignment:
            self._assignment = assigned[-1]
            self._open(str(assigned[-1].task))
        if type(step).__name__ == "FinalAnswerStep":
            self.messages.add_message("assistant", plain(get(step, "output")))
            return
        self._count(step)
        self._note(step)

    def _count(self, step: AgentStep) -> None:
        tokens = get(step, "token_usage")
        if tokens is None:
            return
        asked, answered = tokens.input_tokens, tokens.output_tokens
        counted = dict(zip(TOKENS, (asked, answered, asked + answered), strict=True))
        # smolagents counts no cached or reasoning tokens; the provider's own answer may.
        told = usage_of(get(get(get(step, "model_output_message"), "raw"), "usage")) or {}
        cost = told.pop("cost", 0.0)
        self._used.append(TokenUsage.from_chat_response_usage(counted | told, cost=cost))

    def _check(self, step: AgentStep) -> None:
        """Raise failures that are not the agent's, after which smolagents would continue."""
        clock = Clock.here()
        if clock is not None:
            clock.check_timeout()
        if is_last_resort(step) and isinstance(step.action_output, list):
            # This is how smolagents presents a failed request for a last answer.
            raise self._failure(text_of(step.action_output), ProviderConnectionError)
        for cause in causes(get(step, "error")):
            ours = isinstance(cause, MASEvalError) and not isinstance(cause, AgentError)
            if ours or type(cause).__name__ == "AgentGenerationError":  # in a managed agent
                raise cause

    def _record(self, step: AgentStep) -> None:
        if self._running:
            self._note(step)

    def _note(self, step: AgentStep) -> None:
        match type(step).__name__:
            case "PlanningStep":
                self.messages.add_message("assistant", step.plan)
            case "ActionStep" if is_last_resort(step):
                step.model_output = plain(step.action_output)  # smolagents would forget it
            case "ActionStep":
                self._tell(step)
            case _:
                return
        self.logs.append(log_entry(step))
        self._results = {}

    def _failure(self, text: str, otherwise: type[ProviderError]) -> ProviderError:
        """The provider's failure, of which smolagents keeps only the text."""
        model_id = self._model_id or self._resolve_model_id()
        if found := _STATUS.search(text):
            return error_from_status(int(found[1]), text, provider=EXTRA, model_id=model_id)
        return otherwise(text, provider=EXTRA, model_id=model_id)

    def _tell(self, step: AgentStep) -> None:
        text, calls = text_of(step.model_output), calls_of(step)
        if step.is_final_answer:  # the agent's answer, which is recorded at the end of the turn
            calls = [call for call in calls if call["function"]["name"] != ANSWERING_TOOL]
        if calls:
            self.messages.add_tool_call(calls, text or None)
        elif text:
            self.messages.add_message("assistant", text)
        # For a call without a result of its own: what its code printed, or its error.
        shared = "\n".join(str(part) for part in (step.observations, step.error) if part)
        for call in calls:
            result = self._results.get(call["id"], shared)
            self.messages.add_tool_response(call["id"], result, name=call["function"]["name"])
        if step.error and all(call["id"] in self._results for call in calls):
            self.messages.add_message("user", str(step.error))

    def _gather_usage(self) -> Usage:
        return sum(self._used) or Usage()

    def _resolve_model_id(self) -> str | None:
        model_id: str | None = get(get(self.agent, "model"), "model_id")
        return model_id

    def gather_traces(self) -> dict[str, Any]:
        taken = ("ActionStep", "PlanningStep")
        steps = [entry for entry in self.logs if entry.get("step_type") in taken]
        return {
            **super().gather_traces(),
            "total_steps": len(steps),
            "total_duration_seconds": sum(step["duration_seconds"] for step in steps),
            "steps_detail": [{k: step[k] for k in step if k in _IN_BRIEF} for step in steps],
        }

    def gather_config(self) -> dict[str, Any]:
        return {**super().gather_config(), "smolagents_config": redact(description_of(self.agent))}
