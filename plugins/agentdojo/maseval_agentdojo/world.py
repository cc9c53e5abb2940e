"""The world of a case: the agent's tools, what it did with them, and the library's verdict.

The library runs its own ``run_task_with_pipeline``, around the agent, and later around the record
of what it did: how often a silent agent is asked again, which calls count and what is compared with
what is never decided here.
"""

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from maseval import Environment
from maseval_agentdojo.library import (
    BasePipelineElement,
    Function,
    FunctionCall,
    FunctionsRuntime,
    ToolsExecutor,
    fresh_world,
    get_text_content_as_str,
    suite_of,
    text_content_block_from_string,
)

Arguments = Mapping[str, Any]


def world_of(case: Arguments) -> Any:
    """Return the world of a case as the agent finds it."""
    return fresh_world(case["version"], case["suite"], case["injections"])


class Verdict(NamedTuple):
    """``attacked`` is None without an attack, where the library says True."""

    useful: bool
    attacked: bool | None


class Attempt:
    """One time that the agent is asked: calls in a world, and an answer."""

    def __init__(self, runtime: FunctionsRuntime, world: Any) -> None:
        self.runtime, self.world = runtime, world
        self.messages: list[dict[str, Any]] = []
        self.calls: list[dict[str, Any]] = []
        self.answer: str | None = None

    def call(self, name: str, arguments: Arguments) -> tuple[str, str | None]:
        """Return what a tool answers, and its error; the library executes the call."""
        entry = {"name": name, "arguments": dict(arguments)}
        asked = _assistant(None, [entry])
        *_, messages, _ = ToolsExecutor().query("", self.runtime, self.world, [asked])
        answer = messages[-1]
        self.messages += [asked, answer]
        self.calls.append({**entry, "executed": True, "error": answer["error"]})
        return get_text_content_as_str(answer["content"]), answer["error"]

    def leave(self, name: str, arguments: Arguments) -> None:
        """Note a call that the agent wanted when it had no round left; the library counts it."""
        self.calls.append({"name": name, "arguments": dict(arguments), "executed": False})

    def record(self) -> dict[str, Any]:
        return {"calls": self.calls, "answer": self.answer}


def _assistant(text: str | None, calls: list[dict[str, Any]]) -> dict[str, Any]:
    content = None if text is None else [text_content_block_from_string(text)]
    made = [FunctionCall(function=each["name"], args=dict(each["arguments"])) for each in calls]
    return {"role": "assistant", "content": content, "tool_calls": made}


class _Asked(BasePipelineElement):
    """What the library asks: ``play`` makes one attempt, and sets its answer."""

    name = "maseval"

    def __init__(self, play: Callable[[Attempt], None]) -> None:
        self.play = play

    def query(
        self, query: str, runtime: Any, env: Any = None, messages: Any = (), extra_args: Any = None
    ) -> Any:
        attempt = Attempt(runtime, env)
        self.play(attempt)
        left = [each for each in attempt.calls if not each["executed"]]
        said = [*messages, *attempt.messages, _assistant(attempt.answer, left)]
        return query, runtime, env, said, extra_args or {}


def judge(case: Arguments, world: Any, play: Callable[[Attempt], None]) -> Verdict:
    """Let the library run a case in a world, and return its verdict."""
    suite = suite_of(case["version"], case["suite"])
    user, goal = suite.get_user_task_by_id(case["user_task"]), None
    if case["injection_task"] is not None:
        goal = suite.get_injection_task_by_id(case["injection_task"])
    with warnings.catch_warnings():  # of an agent that said nothing, which the record shows
        warnings.simplefilter("ignore", UserWarning)
        useful, attacked = suite.run_task_with_pipeline(
            _Asked(play), user, goal, dict(case["injections"]), environment=world
        )
    if case["is_dos"]:
        attacked = not useful
    return Verdict(bool(useful), bool(attacked) if goal is not None else None)


class Tool:
    """One of the library's functions, as an agent calls it: an error is an answer."""

    def __init__(self, world: "World", function: Function) -> None:
        self.world, self.name = world, function.name
        self.__name__, self.__doc__ = function.name, function.full_docstring
        self.definition = {
            "type": "function",
            "function": {
                "name": function.name,
                "description": function.description,
                "parameters": function.parameters.model_json_schema(),
            },
        }

    def __call__(self, **arguments: Any) -> str:
        text, error = self.world.call(self.name, arguments)
        return text if error is None else error


class World(Environment):
    """A world with its injections; ``attempts`` are made in it one after the other."""

    case: dict[str, Any]

    def setup_state(self, task_data: dict[str, Any]) -> Any:
        self.case, self.attempts = task_data, list[Attempt]()
        self.verdict: Verdict | None = None
        self.suite = suite_of(task_data["version"], task_data["suite"])
        return world_of(task_data)

    def create_tools(self) -> dict[str, Any]:
        return {each.name: Tool(self, each) for each in self.suite.tools}

    def call(self, name: str, arguments: Arguments) -> tuple[str, str | None]:
        """Return what a tool answers and its error, also of a tool that is not there."""
        return self.attempts[-1].call(name, arguments)

    def play(self, turn: Callable[[], str | None]) -> str | None:
        """Let an agent take its turn as often as the library asks for it; return its answer."""

        def once(attempt: Attempt) -> None:
            self.attempts.append(attempt)
            attempt.answer = turn()

        self.verdict = judge(self.case, self.state, once)
        return self.attempts[-1].answer

    def gather_traces(self) -> dict[str, Any]:
        return {
            **super().gather_traces(),
            "case": self.case,
            "attempts": [each.record() for each in self.attempts],
            "verdict": self.verdict and [*self.verdict],
        }


class RecordError(ValueError):
    """What was recorded does not lead to what was seen."""


def judge_again(case: Arguments, attempts: list[dict[str, Any]]) -> Verdict:
    """Repeat recorded attempts in a fresh world; return the library's verdict on them."""
    left = iter(attempts)

    def repeat(attempt: Attempt) -> None:
        recorded = next(left, None)
        if recorded is None:
            raise RecordError("the record ends before the agent has answered")
        for each in recorded["calls"]:
            if not each["executed"]:
                attempt.leave(each["name"], each["arguments"])
                continue
            _, error = attempt.call(each["name"], each["arguments"])
            if error != each["error"]:
                raise RecordError(f"{each['name']} answered {each['error']!r}, and now {error!r}")
        attempt.answer = recorded["answer"]

    return judge(case, world_of(case), repeat)
