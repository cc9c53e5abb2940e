"""The record of a smolagents agent: what it said, did and used, in one conversation.

The agent's memory is not enough for that: smolagents empties it at every run, and merges the
results of several tools into one text.
"""

import json
from datetime import datetime
from typing import Any

from maseval.core.messages import Message, MessageHistory, ToolCall
from maseval.core.storage.redaction import redact_text
from maseval.core.tracing import JsonObject
from maseval.core.usage import TokenUsage
from maseval.interface.agents.framework import as_text
from maseval.interface.inference.chat_completions import function_call, get, text_of, usage_of

EXTRA = "smolagents"
ANSWERING_TOOL = "final_answer"
TOKENS = ("input_tokens", "output_tokens", "total_tokens")


class AgentRecord:
    """The messages in OpenAI's form, the steps and the tokens of an agent."""

    def __init__(self, agent: Any) -> None:
        self.messages = MessageHistory()
        self.logs: list[JsonObject] = []
        self.used: list[TokenUsage] = []
        self.steps: list[Any] = []
        """The list in the agent's memory, which gets another one when the memory is emptied."""
        self.results: dict[str, str] = {}
        """The results of the current step's tools, by call id."""
        self._task: object = None
        self._introduce(agent)

    def _introduce(self, agent: Any) -> None:
        """Begin with the system prompt, which an agent writes anew at each run."""
        prompt = get(get(get(agent, "memory"), "system_prompt"), "system_prompt")
        if prompt is not None and len(self.messages) < 2:
            self.messages.clear()
            self.messages.add_message("system", prompt)

    def catch_up(self, agent: Any) -> bool:
        """Add the steps in the agent's memory that nobody has recorded yet; False for none."""
        steps: list[Any] = get(get(agent, "memory"), "steps") or []
        unknown = [step for step in steps if mark(step)]
        for step in unknown:
            self.steps = steps
            if _is_task(step):
                self._open_turn(agent, step)
                continue
            self._add(step)
            if get(step, "is_final_answer") or is_last_resort(step):
                # A ``ToolCallingAgent`` keeps its answer only as the result of the call.
                answer = step.observations if step.action_output is None else step.action_output
                self.messages.add_message("assistant", plain_text(answer))
        return bool(unknown)

    def observe(self, agent: Any, step: Any = None) -> None:
        """Add a step that was just taken, and the task before it if that is new."""
        self.steps = agent.memory.steps
        task = next(filter(_is_task, reversed(self.steps)), None)
        if task is not None and task is not self._task:
            self._open_turn(agent, task, _start(step))
        if type(step).__name__ == "FinalAnswerStep":
            self.messages.add_message("assistant", plain_text(get(step, "output")))
        elif step is not None:
            self._add(step)

    def _open_turn(self, agent: Any, task: Any, time: str | None = None) -> None:
        self._task = task
        mark(task)
        self._introduce(agent)
        self.messages.add_message("user", str(task.task), timestamp=time)
        self.logs.append({"step_type": "TaskStep", "task": str(task.task)})

    def _add(self, step: Any) -> None:
        if counts := token_counts(step):
            # smolagents counts no cached or reasoning tokens; the provider's own answer may.
            raw = get(get(step, "model_output_message"), "raw")
            told: dict[str, Any] = {**counts, **(usage_of(get(raw, "usage")) or {})}
            cost = told.pop("cost", 0.0)
            self.used.append(TokenUsage.from_chat_response_usage(told, cost=cost))
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
        "role": str(get(get(message, "role"), "value") or get(message, "role") or "assistant"),
        "content": get(message, "content"),
    }
    for key in ("tool_calls", "tool_call_id", "name"):
        if value := get(message, key):
            entry[key] = value
    return entry


# On a step, which has no hash, and stays in the memory of its agent.
_RECORDED = "recorded_by_maseval"


def mark(step: object) -> bool:
    """Mark a step as recorded; return False if it was."""
    is_new = _RECORDED not in vars(step)
    setattr(step, _RECORDED, True)
    return is_new


def _start(step: object) -> str | None:
    """Return when a step began, as records have it; None, for now, if that is not known."""
    began = get(get(step, "timing"), "start_time")
    return None if began is None else datetime.fromtimestamp(began).isoformat()


def _is_task(step: object) -> bool:
    return type(step).__name__ == "TaskStep"


def is_last_resort(step: Any) -> bool:
    """Return True for the answer requested when the step limit was reached."""
    return type(get(step, "error")).__name__ == "AgentMaxStepsError"


def plain_text(value: object) -> str:
    """Return a value as plain text, also if it is of smolagents' own text type."""
    return "" if value is None else str(as_text(value))


def calls_of(step: Any) -> list[ToolCall]:
    """Return the calls of a step: the model's tool calls, in order, or the code it wrote."""
    sent = get(step.model_output_message, "tool_calls")
    if sent:
        return [function_call(c.id, c.function.name, c.function.arguments) for c in sent]
    calls = step.tool_calls or ()
    return [function_call(call.id, call.name, {"code": call.arguments}) for call in calls]


def token_counts(step: Any) -> dict[str, int]:
    """Return the tokens of a step that asked a model; nothing for any other."""
    tokens = get(step, "token_usage")
    if tokens is None:
        return {}
    asked, answered = tokens.input_tokens, tokens.output_tokens
    return dict(zip(TOKENS, (asked, answered, asked + answered), strict=True))


def log_entry(step: Any) -> dict[str, object]:
    """Return a step for the log, with what its model read and wrote."""
    kind = type(step).__name__
    entry: dict[str, object] = {
        "step_type": kind,
        "duration_seconds": step.timing.duration,
        "start_time": step.timing.start_time,
        "end_time": step.timing.end_time,
        **token_counts(step),
    }
    asked, answered = get(step, "model_input_messages"), get(step, "model_output_message")
    entry["model_input_messages"] = (
        None if asked is None else [_plain(message) for message in asked]
    )
    entry["model_output_message"] = None if answered is None else _plain(answered)
    entry |= {"plan": step.plan} if kind == "PlanningStep" else _action_entry(step)
    return {key: value for key, value in entry.items() if value is not None}


def _plain(message: Any) -> object:
    entry = {"role": get(message, "role"), "content": get(message, "content")}
    if calls := get(message, "tool_calls"):
        entry["tool_calls"] = [
            function_call(c.id, c.function.name, c.function.arguments) for c in calls
        ]
    return json.loads(as_text(entry))


def _action_entry(step: Any) -> dict[str, object]:
    parts = (step.model_output, step.observations, step.action_output, step.model_output_message)
    failed = step.error is not None or all(part is None for part in parts)
    return {
        "step_number": step.step_number,
        "status": "error" if failed else "success",
        "error": redact_text(str(step.error)) if step.error else None,
        "error_type": type(step.error).__name__ if step.error else None,
        "tool_calls": [{"id": call["id"], **call["function"]} for call in calls_of(step)] or None,
        "model_output": text_of(step.model_output) or None,
        "code_action": step.code_action,
        "observations": step.observations,
        "observations_images_count": len(step.observations_images or ()) or None,
        "action_output": None if step.action_output is None else plain_text(step.action_output),
        "is_final_answer": step.is_final_answer,
    }
