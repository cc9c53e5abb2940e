"""An earlier conversation as steps in an agent's memory, as the agent would have taken them.

A ``ToolCallingAgent`` answers the user by a call of ``final_answer``. A ``CodeAgent`` writes code
for all that it does.
"""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from maseval.core.messages import Message, ToolCall, arguments_of, text_of, tool_call
from maseval.interface import extras
from maseval.interface.agents.smolagents.memory import MultiStepAgent, TaskStep
from maseval.interface.agents.smolagents.tools import EXTRA

ANSWERING_TOOL = "final_answer"


def steps_of(messages: Iterable[Message], agent: MultiStepAgent) -> list[TaskStep]:
    """The steps of an earlier conversation, for the memory of ``agent``."""
    memory, steps = extras.load("smolagents.memory", extra=EXTRA), list[TaskStep]()
    writes_code = hasattr(agent, "code_block_tags")
    for spoken, results in _exchanges(messages):
        number = len(steps)
        if spoken["role"] != "assistant":
            steps.append(memory.TaskStep(task=text_of(spoken)))
        elif writes_code:
            steps.append(_action_step(number, _coded(agent, number, spoken, results)))
        else:
            steps.append(_action_step(number, _called(number, spoken, results)))
    return steps


def _exchanges(messages: Iterable[Message]) -> Iterator[tuple[Message, list[str]]]:
    """Each message with the results of the calls in it."""
    waiting: tuple[Message, list[str]] | None = None
    for message in messages:
        if message["role"] == "tool" and waiting is not None:
            waiting[1].append(text_of(message).strip())
            continue
        if waiting is not None:
            yield waiting
        waiting = message, []
    if waiting is not None:
        yield waiting


def _action_step(number: int, taken: dict[str, Any]) -> TaskStep:
    memory = extras.load("smolagents.memory", extra=EXTRA)
    now = time.time()
    timing = extras.load("smolagents.monitoring", extra=EXTRA).Timing(start_time=now, end_time=now)
    step: TaskStep = memory.ActionStep(step_number=number, timing=timing, **taken)
    return step


def _called(number: int, message: Message, results: Sequence[str]) -> dict[str, Any]:
    calls = message.get("tool_calls")
    if calls:
        return {
            "model_output": text_of(message) or None,
            "tool_calls": [_remembered(call) for call in calls],
            "observations": "\n".join(results),
        }
    answer = text_of(message)
    call = _remembered(tool_call(ANSWERING_TOOL, {"answer": answer}, id=f"call_{number}"))
    return {"tool_calls": [call], "observations": answer, **_final(answer)}


def _coded(
    agent: MultiStepAgent, number: int, message: Message, results: Sequence[str]
) -> dict[str, Any]:
    calls, text = message.get("tool_calls"), text_of(message)
    code = "\n".join(map(_print, calls)) if calls else f"{ANSWERING_TOOL}({text!r})"
    logs = "".join(f"{result}\n" for result in results)
    output = None if calls else text
    memory = extras.load("smolagents.memory", extra=EXTRA)
    return {
        "model_output": _written(agent, text if calls else "", code),
        "tool_calls": [memory.ToolCall("python_interpreter", code, f"call_{number}")],
        "code_action": code,
        "observations": f"Execution logs:\n{logs}Last output from code snippet:\n{output}",
        **({} if calls else _final(text)),
    }


def _final(answer: str) -> dict[str, Any]:
    return {"action_output": answer, "is_final_answer": True}


def _remembered(call: ToolCall) -> object:
    function, memory = call["function"], extras.load("smolagents.memory", extra=EXTRA)
    return memory.ToolCall(function["name"], arguments_of(function["arguments"]), call["id"])


def _print(call: ToolCall) -> str:
    function = call["function"]
    arguments = arguments_of(function["arguments"])
    given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    if not all(name.isidentifier() for name in arguments):
        given = f"**{arguments!r}"
    return f"print({function['name']}({given}))"


def _written(agent: Any, thought: str, code: str) -> str:
    """What the model would have written: its thought, and the code in the tags of the agent."""
    if getattr(agent, "_use_structured_outputs_internally", False):
        return json.dumps({"thought": thought, "code": code})
    opening, closing = agent.code_block_tags
    if opening.startswith("```"):  # a pattern
        opening = "```python"
    return f"{thought}\n{opening}\n{code}\n{closing.strip()}".lstrip()
