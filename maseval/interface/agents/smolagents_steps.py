"""The steps of a smolagents agent: as log entries, as tool calls, and made from a conversation.

An earlier conversation is put into an agent's memory as the steps that the agent would have taken:
a ``ToolCallingAgent`` answers the user by a call of ``final_answer``, and a ``CodeAgent`` writes
code for all that it does.
"""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any

from maseval.core.messages import Message, ToolCall, arguments_of, tool_call
from maseval.core.messages import text_of as message_text
from maseval.core.storage.redaction import redact_text
from maseval.interface import extras
from maseval.interface.agents.framework import as_text
from maseval.interface.agents.smolagents_tools import EXTRA
from maseval.interface.inference.chat_completions import function_call, get, text_of

ANSWERING_TOOL = "final_answer"
TOKENS = ("input_tokens", "output_tokens", "total_tokens")


def memory_module() -> ModuleType:
    return extras.load("smolagents.memory", extra=EXTRA)


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
    entry: dict[str, object] = {"step_type": kind, "duration_seconds": step.timing.duration}
    entry |= {"start_time": step.timing.start_time, "end_time": step.timing.end_time}
    entry |= token_counts(step)
    asked, answered = get(step, "model_input_messages"), get(step, "model_output_message")
    entry["model_input_messages"] = None if asked is None else [_plain(each) for each in asked]
    entry["model_output_message"] = None if answered is None else _plain(answered)
    entry |= {"plan": step.plan} if kind == "PlanningStep" else _action_entry(step)
    return {key: value for key, value in entry.items() if value is not None}


def _plain(message: Any) -> object:
    """Return a message of smolagents as JSON values."""
    entry = {"role": message.role, "content": message.content}
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


def steps_of(messages: Iterable[Message], agent: object) -> list[Any]:
    """Return the steps of an earlier conversation, for the memory of ``agent``."""
    memory, steps = memory_module(), list[Any]()
    writes_code = hasattr(agent, "code_block_tags")
    for spoken, results in _exchanges(messages):
        number = len(steps)
        if spoken["role"] != "assistant":
            steps.append(memory.TaskStep(task=message_text(spoken)))
        elif writes_code:
            steps.append(_action_step(number, _code_fields(agent, number, spoken, results)))
        else:
            steps.append(_action_step(number, _call_fields(number, spoken, results)))
    return steps


def _exchanges(messages: Iterable[Message]) -> Iterator[tuple[Message, list[str]]]:
    """Yield each message with the results of the calls in it."""
    waiting: tuple[Message, list[str]] | None = None
    for message in messages:
        if message["role"] == "tool" and waiting is not None:
            waiting[1].append(message_text(message).strip())
            continue
        if waiting is not None:
            yield waiting
        waiting = message, []
    if waiting is not None:
        yield waiting


def _action_step(number: int, fields: dict[str, Any]) -> object:
    now = time.time()
    timing = extras.load("smolagents.monitoring", extra=EXTRA).Timing(start_time=now, end_time=now)
    return memory_module().ActionStep(step_number=number, timing=timing, **fields)


def _call_fields(number: int, message: Message, results: Sequence[str]) -> dict[str, Any]:
    calls = message.get("tool_calls")
    if calls:
        return {
            "model_output": message_text(message) or None,
            "tool_calls": [_memory_call(call) for call in calls],
            "observations": "\n".join(results),
        }
    answer = message_text(message)
    call = _memory_call(tool_call(ANSWERING_TOOL, {"answer": answer}, id=f"call_{number}"))
    return {"tool_calls": [call], "observations": answer, **_answer_fields(answer)}


def _code_fields(
    agent: object, number: int, message: Message, results: Sequence[str]
) -> dict[str, Any]:
    calls, text = message.get("tool_calls"), message_text(message)
    code = "\n".join(map(_print_statement, calls)) if calls else f"{ANSWERING_TOOL}({text!r})"
    logs = "".join(f"{result}\n" for result in results)
    output = None if calls else text
    return {
        "model_output": _model_output(agent, text if calls else "", code),
        "tool_calls": [memory_module().ToolCall("python_interpreter", code, f"call_{number}")],
        "code_action": code,
        "observations": f"Execution logs:\n{logs}Last output from code snippet:\n{output}",
        **({} if calls else _answer_fields(text)),
    }


def _answer_fields(answer: str) -> dict[str, Any]:
    return {"action_output": answer, "is_final_answer": True}


def _memory_call(call: ToolCall) -> object:
    function = call["function"]
    arguments = arguments_of(function["arguments"])
    return memory_module().ToolCall(function["name"], arguments, call["id"])


def _print_statement(call: ToolCall) -> str:
    function = call["function"]
    arguments = arguments_of(function["arguments"])
    given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    if not all(name.isidentifier() for name in arguments):
        given = f"**{arguments!r}"
    return f"print({function['name']}({given}))"


def _model_output(agent: Any, thought: str, code: str) -> str:
    """Return a model's answer: its thought, and the code in the tags of the agent."""
    if getattr(agent, "_use_structured_outputs_internally", False):
        return json.dumps({"thought": thought, "code": code})
    opening, closing = agent.code_block_tags
    if opening.startswith("```"):  # a pattern
        opening = "```python"
    return f"{thought}\n{opening}\n{code}\n{closing.strip()}".lstrip()
