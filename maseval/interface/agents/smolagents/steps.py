"""A step of smolagents as messages and as a log entry."""

from maseval.core.messages import FunctionCall, ToolCall
from maseval.core.storage.redaction import redact_text
from maseval.interface.agents.smolagents.memory import AgentStep
from maseval.interface.agents.tools import as_text
from maseval.interface.inference.chat_completions import as_json, get, text_of

TOKENS = ("input_tokens", "output_tokens", "total_tokens")


def is_last_resort(step: AgentStep) -> bool:
    """Whether it is the answer requested when the step limit was reached."""
    return type(get(step, "error")).__name__ == "AgentMaxStepsError"


def plain(value: object) -> str:
    """A value as plain text, also if it is of smolagents' own text type."""
    return "" if value is None else str(as_text(value))


def calls_of(step: AgentStep) -> list[ToolCall]:
    """The calls of a step: the model's tool calls, in order, or the code it wrote."""
    sent = get(step.model_output_message, "tool_calls")
    if sent:
        return [_call(call.id, call.function.name, call.function.arguments) for call in sent]
    return [_call(call.id, call.name, {"code": call.arguments}) for call in step.tool_calls or ()]


def _call(id: str, name: str, arguments: object) -> ToolCall:
    function: FunctionCall = {"name": name, "arguments": as_json(arguments)}
    return {"id": id, "type": "function", "function": function}


def log_entry(step: AgentStep) -> dict[str, object]:
    """A step for the log, without what the model was sent: that is in the messages."""
    tokens, kind = step.token_usage, type(step).__name__
    entry: dict[str, object] = {"step_type": kind, "duration_seconds": step.timing.duration}
    entry |= {"start_time": step.timing.start_time, "end_time": step.timing.end_time}
    if tokens is not None:
        asked, answered = tokens.input_tokens, tokens.output_tokens
        entry |= zip(TOKENS, (asked, answered, asked + answered), strict=True)
    entry |= {"plan": step.plan} if kind == "PlanningStep" else _action(step)
    return {key: value for key, value in entry.items() if value is not None}


def _action(step: AgentStep) -> dict[str, object]:
    said = (step.model_output, step.observations, step.action_output, step.model_output_message)
    failed = step.error is not None or all(part is None for part in said)
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
        "action_output": None if step.action_output is None else plain(step.action_output),
        "is_final_answer": step.is_final_answer,
    }
