"""The record of a smolagents agent: what it said, did and used, whoever ran it.

It belongs to the agent, so that an adapter shows the runs that another adapter, a manager or plain
code made of the same agent. Within a repetition it holds the work of that repetition alone: what
an agent shared by several did before is counted there. The agent's memory is not enough for that:
smolagents empties it at every run, and merges the results of several tools into one text.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from weakref import WeakKeyDictionary, ref

from maseval.core.clock import Clock
from maseval.core.messages import Message, MessageHistory
from maseval.core.tracing import JsonObject
from maseval.core.usage import TokenUsage
from maseval.interface.agents.smolagents_steps import (
    ANSWERING_TOOL,
    calls_of,
    is_last_resort,
    log_entry,
    memory_module,
    plain_text,
    token_counts,
)
from maseval.interface.inference.chat_completions import get, text_of, usage_of

StepObserver = Callable[[Any, Any], None]
"""Called with a finished step and its agent."""


class AgentRecord:
    """The messages in OpenAI's form, the steps and the tokens of an agent."""

    def __init__(self, agent: Any, clock: Clock | None) -> None:
        self.clock = clock
        self.messages = MessageHistory()
        self.logs: list[JsonObject] = []
        self.used: list[TokenUsage] = []
        self.steps: list[Any] = []
        """The list in the agent's memory, which gets another one when the memory is emptied."""
        self.results: dict[str, str] = {}
        """The results of the current step's tools, by call id."""
        self.is_of_earlier_runs = False
        """True if some of it was found in the memory of an agent that nobody had observed."""
        self._worker: ref[Any] | None = None
        self._task: object = None
        self._introduce(agent)

    @property
    def worker(self) -> Any:
        """The adapter that writes this record, while there is one."""
        return None if self._worker is None else self._worker()

    @worker.setter
    def worker(self, adapter: object) -> None:
        self._worker = ref(adapter)

    def _introduce(self, agent: Any) -> None:
        """Begin with the system prompt, which an agent writes anew at each run."""
        prompt = get(get(get(agent, "memory"), "system_prompt"), "system_prompt")
        if prompt is not None and len(self.messages) < 2:
            self.messages = MessageHistory()
            self.messages.add_message("system", prompt)

    def load(self, agent: Any, messages: list[Message]) -> None:
        """Begin with a conversation that the agent's memory already holds."""
        self.steps = agent.memory.steps
        self._task = next(filter(_is_task, reversed(self.steps)), None)
        for step in self.steps:
            _mark(step)
        self.messages = MessageHistory([*self.messages, *messages])

    def catch_up(self, agent: Any) -> None:
        """Add the steps in the agent's memory that nobody has recorded yet."""
        steps: list[Any] = get(get(agent, "memory"), "steps") or []
        unknown = [step for step in steps if _RECORDED not in vars(step)]
        if not unknown:
            return
        self.steps, self.is_of_earlier_runs = steps, self.worker is None
        for step in unknown:
            _mark(step)
            if _is_task(step):
                self._open_turn(agent, step)
                continue
            self._add(step)
            if get(step, "is_final_answer") or is_last_resort(step):
                # A ``ToolCallingAgent`` keeps its answer only as the result of the call.
                answer = step.observations if step.action_output is None else step.action_output
                self.messages.add_message("assistant", plain_text(answer))

    def observe(self, agent: Any, step: Any = None) -> None:
        """Add a step that was just taken, and the task before it if that is new."""
        self.steps = agent.memory.steps
        task = next(filter(_is_task, reversed(self.steps)), None)
        if task is not None and task is not self._task:
            self._open_turn(agent, task, _start(step))
        if type(step).__name__ == "FinalAnswerStep":
            self.messages.add_message("assistant", plain_text(get(step, "output")))
        elif step is not None:
            _mark(step)
            self._add(step)

    def count(self, step: Any) -> None:
        """Count the tokens of a step, which may be that of another agent, unless somebody did."""
        counts: dict[str, Any] = token_counts(step)
        if not counts or _COUNTED in vars(step):
            return
        setattr(step, _COUNTED, True)
        # smolagents counts no cached or reasoning tokens; the provider's own answer may.
        counts |= usage_of(get(get(get(step, "model_output_message"), "raw"), "usage")) or {}
        cost = counts.pop("cost", 0.0)
        self.used.append(TokenUsage.from_chat_response_usage(counts, cost=cost))

    def _open_turn(self, agent: Any, task: Any, time: str | None = None) -> None:
        self._task = task
        _mark(task)
        self._introduce(agent)
        self.messages.add_message("user", str(task.task), timestamp=time)
        self.logs.append({"step_type": "TaskStep", "task": str(task.task)})

    def _add(self, step: Any) -> None:
        self.count(step)
        if type(step).__name__ == "PlanningStep":
            self.messages.add_message("assistant", step.plan)
        elif not is_last_resort(step):
            self._add_messages(step)
        self.logs.append(log_entry(step))
        self.results = {}

    def _add_messages(self, step: Any) -> None:
        text, calls = text_of(step.model_output), calls_of(step)
        if step.is_final_answer:  # the agent's answer, which is recorded at the end of the turn
            calls = [call for call in calls if call["function"]["name"] != ANSWERING_TOOL]
        if calls:
            # Of a step only its bounds are known, and what a call leads to comes after the call.
            self.messages.add_tool_call(calls, text or None, timestamp=_start(step))
        elif text:
            self.messages.add_message("assistant", text)
        # For a call without a result of its own: what its code printed, or its error.
        shared = "\n".join(str(part) for part in (step.observations, step.error) if part)
        for call in calls:
            result = self.results.get(call["id"], shared)
            self.messages.add_tool_response(call["id"], result, name=call["function"]["name"])
        if step.error and all(call["id"] in self.results for call in calls):
            self.messages.add_message("user", str(step.error))


class AgentMemoryMessages(MessageHistory):
    """The messages as smolagents writes them: lists of parts, calls and results with own roles.

    ``to_openai_format`` returns those of the record.
    """

    def __init__(self, written: list[Any], record: AgentRecord) -> None:
        super().__init__([_as_mapping(message) for message in written])
        self._record = record

    def to_openai_format(self) -> list[Message]:
        return self._record.messages.to_openai_format()


def _as_mapping(message: Any) -> Message:
    entry: Message = {
        "role": str(getattr(message.role, "value", message.role)),
        "content": message.content,
    }
    for key in ("tool_calls", "tool_call_id", "name"):
        if value := getattr(message, key, None):
            entry[key] = value
    return entry


# Marks on a step, which has no hash, and stays in the memory of its agent.
_RECORDED, _COUNTED = "recorded_by_maseval", "counted_by_maseval"


def _mark(step: object) -> None:
    setattr(step, _RECORDED, True)


def _start(step: object) -> str | None:
    """Return when a step began, as records have it; None, for now, if that is not known."""
    began = get(get(step, "timing"), "start_time")
    return None if began is None else datetime.fromtimestamp(began).isoformat()


def _is_task(step: object) -> bool:
    return type(step).__name__ == "TaskStep"


# None of these keeps an agent alive: a record has its steps, and a step does not know its agent.
_records: WeakKeyDictionary[Any, AgentRecord] = WeakKeyDictionary()
_observed: WeakKeyDictionary[Any, object] = WeakKeyDictionary()


def begin_record(agent: Any, clock: Clock | None) -> AgentRecord:
    """Make a new record the agent's latest one."""
    _records[agent] = AgentRecord(agent, clock)
    return _records[agent]


def record_in(agent: Any, clock: Clock | None) -> AgentRecord:
    """Return the agent's record in a repetition, which begins with the first call."""
    known = _records.get(agent)
    if known is None or known.clock is not clock:
        known = begin_record(agent, clock)
    return known


def latest_record(agent: Any) -> AgentRecord | None:
    """Return the record of the agent's latest runs, in whatever repetition they were."""
    try:
        return _records.get(agent)
    except TypeError:  # something that is no agent, and cannot be referred to weakly
        return None


def is_latest(record: AgentRecord, agent: Any) -> bool:
    """Return True if nobody has begun another record of the agent since."""
    return latest_record(agent) is record


def observe_steps(agent: Any, observer: StepObserver) -> None:
    """Let ``observer`` see every step that the agent takes from now on, once."""
    if agent in _observed:
        return
    _observed[agent] = None

    def observe(step: Any, agent: Any) -> None:
        # A copy of an agent has its callbacks, and may be given this one again.
        if _observed.get(agent) is not step:
            _observed[agent] = step
            observer(step, agent)

    agent.step_callbacks.register(memory_module().MemoryStep, observe)
