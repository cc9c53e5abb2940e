"""smolagents: its agents as agents under evaluation, tools for them, and a user they can ask.

By default, smolagents forgets the conversation at every run, treats some failures as mistakes of
the agent, and merges the results of several tools into one text. The adapter therefore keeps the
agent's memory, follows the events of a run and inspects every step; it replaces nothing.
"""

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from maseval.core.clock import Clock
from maseval.core.exceptions import AgentError, MASEvalError
from maseval.core.messages import MessageHistory
from maseval.core.provider_errors import (
    MalformedResponseError,
    ProviderConnectionError,
    ProviderError,
)
from maseval.core.storage.redaction import redact
from maseval.core.usage import TokenUsage, Usage
from maseval.interface import extras
from maseval.interface.agents.framework import (
    FrameworkAgentAdapter,
    adapter_of,
    causes,
    name_tool_results,
)
from maseval.interface.agents.smolagents_steps import (
    ANSWERING_TOOL,
    TOKENS,
    calls_of,
    is_last_resort,
    log_entry,
    memory_module,
    plain_text,
    steps_of,
    token_counts,
)
from maseval.interface.agents.smolagents_tools import EXTRA, SmolAgentLLMUser, as_tools
from maseval.interface.inference.chat_completions import get, text_of, usage_of
from maseval.interface.inference.http import error_from_status

__all__ = ["SmolAgentAdapter", "SmolAgentLLMUser", "as_tools"]

# The errors that smolagents raises for an answer that is empty or not JSON.
_UNREADABLE = (IndexError, AttributeError, json.JSONDecodeError)
_STATUS = re.compile(r"(?:Error code|LLM output): (\d{3})\b")
_SETTINGS = (
    *("name", "description", "prompt_templates", "max_steps", "planning_interval"),
    *("max_tool_threads", "authorized_imports", "executor_type", "max_print_outputs_length"),
)
_IN_BRIEF = {"step_type", "step_number", "status", "duration_seconds", *TOKENS}


class SmolAgentAdapter(FrameworkAgentAdapter):
    """A smolagents agent, such as a ``ToolCallingAgent`` or a ``CodeAgent``.

    The adapter's first run starts a new conversation, later ones continue it. Several calls in one
    answer run one after another, in order, unless the agent sets ``max_tool_threads``. The steps of
    a managed agent belong to its own adapter, if it has one, and otherwise to its manager's.
    """

    module = extra = EXTRA

    def _prepare(self) -> None:
        self.messages: MessageHistory = MessageHistory()
        self._used: list[TokenUsage] = []
        self._results: dict[str, str] = {}  # of the current step, by call id
        self._begun = self._running = False
        self._assignment: object = None  # the latest task that a manager gave

    def load_messages(self, messages: MessageHistory) -> None:
        """Continue a conversation, as if the agent had taken its steps."""
        named = list(name_tool_results(messages))
        self.agent.memory.steps = steps_of(named, self.agent)
        self.messages = MessageHistory()
        self._introduce()
        self.messages = MessageHistory([*self.messages, *named])
        self._begin()

    def _begin(self) -> bool:
        """Return True if the conversation begins only now."""
        first, self._begun = not self._begun, True
        if first:
            self._observe_team()
        return first

    def _run_framework(self, query: str) -> str:
        first = self._begin()
        events = self.agent.run(query, stream=True, reset=first)
        self._open_turn(query)
        self._running = True
        try:
            answer = self._follow(events)
        finally:
            self._running = False
        self.messages.add_message("assistant", answer)
        return answer

    def _introduce(self) -> None:
        self.messages.add_message("system", self.agent.memory.system_prompt.system_prompt)

    def _open_turn(self, task: str) -> None:
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
        return plain_text(output)

    def _observe_team(self) -> None:
        """Register for every step of the agent and of the agents it manages."""
        step = memory_module().MemoryStep
        self.agent.step_callbacks.register(step, self._record_own)
        for member in _team_of(self.agent):
            member.step_callbacks.register(step, partial(self._observe_step, member))
            if getattr(member, "max_tool_threads", 1) is None:
                member.max_tool_threads = 1

    def _observe_step(self, member: Any, step: Any) -> None:
        if not self._running:  # another adapter may use the same agent
            return
        own = self if member is self.agent else adapter_of(member)
        if isinstance(own, SmolAgentAdapter) and own is not self:
            own._record_for_manager(step)
        else:
            self._count(step)
        self._check(step)

    def _record_for_manager(self, step: Any) -> None:
        """Record a step that the agent takes for its manager."""
        assigned = [each for each in self.agent.memory.steps if type(each).__name__ == "TaskStep"]
        if assigned and assigned[-1] is not self._assignment:
            self._assignment = assigned[-1]
            self._open_turn(str(assigned[-1].task))
        if type(step).__name__ == "FinalAnswerStep":
            self.messages.add_message("assistant", plain_text(get(step, "output")))
            return
        self._count(step)
        self._record(step)

    def _count(self, step: Any) -> None:
        counts: dict[str, Any] = token_counts(step)
        if not counts:
            return
        # smolagents counts no cached or reasoning tokens; the provider's own answer may.
        counts |= usage_of(get(get(get(step, "model_output_message"), "raw"), "usage")) or {}
        cost = counts.pop("cost", 0.0)
        self._used.append(TokenUsage.from_chat_response_usage(counts, cost=cost))

    def _check(self, step: Any) -> None:
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

    def _record_own(self, step: Any) -> None:
        if self._running:
            self._record(step)

    def _record(self, step: Any) -> None:
        match type(step).__name__:
            case "PlanningStep":
                self.messages.add_message("assistant", step.plan)
            case "ActionStep" if is_last_resort(step):
                step.model_output = plain_text(step.action_output)  # smolagents would forget it
            case "ActionStep":
                self._add_messages(step)
            case _:
                return
        self.logs.append(log_entry(step))
        self._results = {}

    def _failure(self, text: str, otherwise: type[ProviderError]) -> ProviderError:
        """Return the provider's failure, of which smolagents keeps only the text."""
        if found := _STATUS.search(text):
            return error_from_status(
                int(found[1]), text, provider=EXTRA, model_id=self._reported_model_id
            )
        return self._provider_error(otherwise, text)

    def _add_messages(self, step: Any) -> None:
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
        return {**super().gather_config(), "smolagents_config": redact(_description(self.agent))}


def _team_of(agent: Any) -> list[Any]:
    """Return the agent and all agents it manages, at any depth, each once."""
    team = [agent]
    for member in team:  # which grows meanwhile
        found = member.managed_agents.values()
        team += [one for one in found if all(one is not known for known in team)]
    return team


def _description(agent: Any) -> dict[str, object]:
    """Do what ``agent.to_dict()`` does, which prints, and fails for tools without source code."""
    model = get(agent, "model")
    data = {"model_id": get(model, "model_id"), **(get(model, "kwargs") or {})}
    config = {
        "class": type(agent).__name__,
        "tools": list(agent.tools),
        "model": {
            "class": type(model).__name__,
            "data": {**data, "client_kwargs": get(model, "client_kwargs")},
        },
        "managed_agents": [_description(member) for member in agent.managed_agents.values()],
        **{name: getattr(agent, name) for name in _SETTINGS if hasattr(agent, name)},
    }
    as_json: dict[str, object] = json.loads(json.dumps(config, default=str))
    return as_json
