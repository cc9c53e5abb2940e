"""smolagents: its agents as agents under evaluation, tools for them, and a user they can ask.

By default, smolagents forgets the conversation at every run, treats some failures as mistakes of
the agent, and merges the results of several tools into one text. The adapter therefore keeps the
agent's memory, follows the events of a run and inspects every step; it replaces nothing. What it
records belongs to the agent (``smolagents_record``).
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from maseval.core.clock import Clock, acting_as
from maseval.core.exceptions import AgentError, MASEvalError
from maseval.core.messages import MessageHistory
from maseval.core.provider_errors import (
    MalformedResponseError,
    ProviderConnectionError,
    ProviderError,
)
from maseval.core.storage.redaction import redact
from maseval.core.tracing import JsonObject
from maseval.core.usage import Usage
from maseval.interface import extras
from maseval.interface.agents.framework import (
    FrameworkAgentAdapter,
    adapter_of,
    causes,
    member_name,
    name_tool_results,
)
from maseval.interface.agents.smolagents_record import (
    TOKENS,
    AgentMemoryMessages,
    AgentRecord,
    begin_record,
    is_last_resort,
    latest_record,
    observe_steps,
    plain_text,
    record_in,
    steps_of,
)
from maseval.interface.agents.smolagents_tools import EXTRA, SmolAgentLLMUser, as_tools
from maseval.interface.inference.chat_completions import get, text_of
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

    The adapter's first run starts a new conversation, later ones continue it. An adapter that has
    not run shows the agent's latest runs, whoever made them. Several calls in one answer run one
    after another, in order, unless the agent sets ``max_tool_threads``. The steps of a managed
    agent belong to its own adapter, if it has one, and otherwise to its manager's.
    """

    module = extra = EXTRA
    logs_turns = False

    def _prepare(self) -> None:
        self._own: AgentRecord | None = None
        if hasattr(self.agent, "step_callbacks"):
            observe_steps(self.agent, _observe_step)
        else:  # not an agent, as ``run`` will tell
            self._own = AgentRecord(self.agent, self._clock)

    @property
    def _record(self) -> AgentRecord:
        record = self._own or self._find_record()
        if id(self.agent) not in _leaders and latest_record(self.agent) is record:
            record.catch_up(self.agent)
        return record

    def _find_record(self) -> AgentRecord:
        """Return what others recorded of the agent, in this repetition if there is one."""
        latest = latest_record(self.agent) if self._clock is None else None
        return latest or record_in(self.agent, self._clock)

    @property
    def messages(self) -> MessageHistory:
        """The conversation in OpenAI's form, as traces have it."""
        return self._record.messages

    @messages.setter
    def messages(self, messages: MessageHistory | None) -> None:
        if messages is not None:  # as the base class begins
            self._record.messages = messages

    @property
    def logs(self) -> list[JsonObject]:
        """The steps of the agent, and the errors of its runs."""
        return self._record.logs

    @logs.setter
    def logs(self, logs: list[JsonObject]) -> None:
        if logs:  # as the base class does not begin
            self._record.logs = logs

    def get_messages(self) -> MessageHistory:
        """Return the conversation as smolagents writes it for a model."""
        record, memory = self._record, get(self.agent, "memory")
        if memory is None:
            return MessageHistory()
        if record.steps is memory.steps or not (record.steps or memory.steps):
            return AgentMemoryMessages(self.agent.write_memory_to_messages(), record)
        steps = [memory.system_prompt, *record.steps]
        return AgentMemoryMessages([each for step in steps for each in step.to_messages()], record)

    def openai_messages(self) -> MessageHistory:
        return self.messages

    @property
    def usage_of(self) -> object:
        return self._record.worker or self._record

    def load_messages(self, messages: MessageHistory) -> None:
        """Continue a conversation, as if the agent had taken its steps."""
        named = list(name_tool_results(messages))
        self.agent.memory.steps = steps_of(named, self.agent)
        self._own = begin_record(self.agent, self._clock)
        self._own.worker = self
        self._own.load(self.agent, named)

    def _begin(self) -> bool:
        """Return True if the conversation begins only now."""
        if self._own is not None:
            self.agent.memory.steps = self._own.steps  # another adapter may have run the agent
            return False
        known = record_in(self.agent, self._clock)
        is_free = known.worker is None and not known.is_of_earlier_runs
        self._own = known if is_free else begin_record(self.agent, self._clock)
        self._own.worker = self
        return True

    def _run_framework(self, query: str) -> str:
        first = self._begin()
        with self._lead_team():
            events = self.agent.run(query, stream=True, reset=first)
            self._record.observe(self.agent)
            return self._follow(events)

    @contextmanager
    def _lead_team(self) -> Iterator[None]:
        """Observe every step of the agent and of the agents it manages."""
        team = _team_of(self.agent)
        before = {id(member): _leaders.get(id(member)) for member in team}
        for member in team:
            observe_steps(member, _observe_step)
            _leaders[id(member)] = self
            if getattr(member, "max_tool_threads", 1) is None:
                member.max_tool_threads = 1
        workers = [member for member in team[1:] if "run" not in vars(member)]
        for worker in workers:
            worker.run = _run_as_member(worker)
        try:
            yield
        finally:
            for worker in workers:
                del worker.run
            for member_id, leader in before.items():
                if leader is None:
                    del _leaders[member_id]
                else:
                    _leaders[member_id] = leader

    def _follow(self, events: Iterator[object]) -> str:
        output: object = None
        try:
            for event in events:
                match type(event).__name__:
                    case "ToolOutput":
                        self._record.results[get(event, "id")] = get(event, "observation")
                    case "FinalAnswerStep":
                        output = get(event, "output")
        except extras.load("smolagents.utils", extra=EXTRA).AgentGenerationError as error:
            if isinstance(error.__cause__, _UNREADABLE):
                raise self._failure(str(error), MalformedResponseError) from None
            raise
        return plain_text(output)

    def _observe(self, agent: Any, step: Any) -> None:
        """Record a step of the agent, or of one that works for it."""
        if is_last_resort(step):
            step.model_output = plain_text(step.action_output)  # smolagents would forget it
        if agent is self.agent:
            self._record.observe(agent, step)
        elif isinstance(adapter_of(agent, self._clock), SmolAgentAdapter):
            record_in(agent, self._clock).observe(agent, step)
        else:
            self._record.count(step)
            record_in(agent, self._clock).observe(agent, step)
        self._check(step)

    def _check(self, step: Any) -> None:
        """Raise failures that are not the agent's, after which smolagents would continue."""
        clock = Clock.here() or self._clock
        if clock is not None:
            clock.check_timeout()
        if is_last_resort(step) and isinstance(step.action_output, list):
            # This is how smolagents presents a failed request for a last answer.
            raise self._failure(text_of(step.action_output), ProviderConnectionError)
        for cause in causes(get(step, "error")):
            ours = isinstance(cause, MASEvalError) and not isinstance(cause, AgentError)
            if ours or type(cause).__name__ == "AgentGenerationError":  # in a managed agent
                raise cause

    def _failure(self, text: str, otherwise: type[ProviderError]) -> ProviderError:
        """Return the provider's failure, of which smolagents keeps only the text."""
        if found := _STATUS.search(text):
            return error_from_status(
                int(found[1]), text, provider=EXTRA, model_id=self._reported_model_id
            )
        return self._provider_error(otherwise, text)

    def _gather_usage(self) -> Usage:
        return sum(self._record.used) or Usage()

    def _resolve_model_id(self) -> str | None:
        model_id: str | None = get(get(self.agent, "model"), "model_id")
        return model_id

    def gather_traces(self) -> dict[str, Any]:
        taken = ("ActionStep", "PlanningStep")
        steps = [entry for entry in self.logs if entry.get("step_type") in taken]
        return {
            **super().gather_traces(),
            **self._members(),
            "total_steps": len(steps),
            "total_duration_seconds": sum(step["duration_seconds"] for step in steps),
            "steps_detail": [{k: step[k] for k in step if k in _IN_BRIEF} for step in steps],
        }

    def _members(self) -> dict[str, object]:
        """Return the messages of the agents that it manages and that have no adapter."""
        without = [one for one in _team_of(self.agent)[1:] if adapter_of(one, self._clock) is None]
        found = {str(one.name): record_in(one, self._clock).messages.to_list() for one in without}
        return {"members": found} if any(found.values()) else {}

    def gather_config(self) -> dict[str, Any]:
        return {**super().gather_config(), "smolagents_config": redact(_description(self.agent))}


# By the id of the member, and not by context: code of a ``CodeAgent`` runs in a bare thread.
_leaders: dict[int, SmolAgentAdapter] = {}


def _run_as_member(member: Any) -> Callable[..., Any]:
    own = member.run

    def run(*args: object, **kwargs: object) -> Any:
        with acting_as(member_name(member)):
            return own(*args, **kwargs)

    return run


def _observe_step(step: Any, agent: Any) -> None:
    """Record a step that an agent has taken: for an adapter that runs it, or on its own."""
    leader = _leaders.get(id(agent))
    if leader is not None:
        leader._observe(agent, step)
    else:
        record_in(agent, Clock.here()).observe(agent, step)


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
        "requirements": sorted(_requirements(agent)),
        "verbosity_level": int(agent.logger.level),
        **{name: getattr(agent, name) for name in _SETTINGS if hasattr(agent, name)},
    }
    as_json: dict[str, object] = json.loads(json.dumps(config, default=str))
    return as_json


def _requirements(agent: Any) -> set[str]:
    """Return the packages that the code of a team needs, as far as smolagents can find it."""
    found = {name.partition(".")[0] for name in getattr(agent, "additional_authorized_imports", ())}
    for tool in agent.tools.values():
        with suppress(Exception):  # a tool without source code, such as those of an environment
            found |= set(tool.to_dict()["requirements"])
    return found.union(*map(_requirements, agent.managed_agents.values()))
