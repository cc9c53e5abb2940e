"""The parts of CAMEL that maseval uses or replaces: models, tools, a token counter.

Here are also the tracers of its societies, which let several agents work.

CAMEL reports too little of a request that failed: after the last 429 it raises an error of its own
that does not carry the provider's, and it meets an answer that it cannot read with whatever its
parser raises. CAMEL takes any ``ModelManager`` as an agent's models, so ours sees the requests.
"""

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from maseval.core.clock import Clock
from maseval.core.exceptions import AgentError, MASEvalError
from maseval.core.messages import Message
from maseval.core.tracing import ConfigurableMixin, JsonObject, TraceableMixin, now
from maseval.interface import extras
from maseval.interface.agents.framework import (
    Tool,
    Tools,
    as_text,
    describe_tools,
    provider_failure,
    through,
)


def camel_module(part: str) -> ModuleType:
    """Import a module of CAMEL: ``models`` is ``camel.models``."""
    return extras.load(f"camel.{part}", extra="camel", package="camel-ai")


def observe_models(models: Any, observer: Any) -> Any:
    """Return the same models; an adapter observes each request and checks its answer.

    Nothing else is replaced: models, strategy and settings stay those of the ``ModelManager``.
    """
    return _observed_models_class(camel_module("models").ModelManager)(models, observer)


@cache
def _observed_models_class(base: type) -> Callable[..., Any]:
    class ObservedModels(base):  # type: ignore[misc]
        def __init__(self, models: Any, observer: Any) -> None:
            # Not initialised as a manager of its own: all of its state is that of the models
            # observed.
            self.observed, self.observer = models, observer

        def __getattr__(self, name: str) -> object:
            return getattr(self.observed, name)

        def run(self, *args: object, **kwargs: object) -> object:
            with self.observer.observe_request():
                answer = self.observed.run(*args, **kwargs)
            return self.observer.check_answer(answer)

        async def arun(self, *args: object, **kwargs: object) -> object:
            with self.observer.observe_request():
                answer = await self.observed.arun(*args, **kwargs)
            return self.observer.check_answer(answer)

    return ObservedModels


def as_tools(tools: Tools) -> list[Any]:
    """Return functions, such as ``environment.tools``, as ``FunctionTool`` with full schemas."""
    make = _tool_class(camel_module("toolkits").FunctionTool)
    return [make(tool) for tool in describe_tools(tools)]


class Escape(BaseException):
    """Carries an error out of a tool: CAMEL turns any ``Exception`` into text for the model."""

    def __init__(self, error: MASEvalError) -> None:
        self.error = error


@cache
def _tool_class(base: type) -> Callable[[Tool], object]:
    class CamelFunctionTool(base):  # type: ignore[misc]
        def __init__(self, tool: Tool) -> None:
            super().__init__(_without_signature(tool), tool.definition)

        def __call__(self, /, *args: object, **arguments: object) -> object:
            """Call the function; ``self`` by position only, since an argument may be so named."""
            result: object = self.func(*args, **arguments)
            return result

        @staticmethod
        def validate_openai_tool_schema(openai_tool_schema: object) -> None:
            """Do nothing: CAMEL would check the schema at every request, and warn each time."""

    return CamelFunctionTool


def _without_signature(tool: Tool) -> Callable[..., str]:
    """Return the tool's function without its signature, by which CAMEL would convert arguments."""

    def call(*args: object, **arguments: object) -> str:
        try:
            return as_text(tool.function(*args, **arguments))
        except AgentError:  # for the agent to read and correct
            raise
        except MASEvalError as error:
            raise Escape(error) from error

    call.__name__ = tool.name
    return call


def token_counter() -> Any:
    """Return a counter that estimates four characters per token, to pass to a CAMEL model.

    Without one, CAMEL downloads a tokenizer when an agent is created, which needs the internet.
    """
    return _counter_class(camel_module("utils").BaseTokenCounter)()


@cache
def _counter_class(base: type) -> Callable[[], object]:
    class CharacterCounter(base):  # type: ignore[misc]
        def count_tokens_from_messages(self, messages: list[Message]) -> int:
            return sum(len(self.encode(str(message))) for message in messages)

        def encode(self, text: str) -> list[int]:
            # Only the number of tokens is asked for.
            return [0] * (len(text) // 4)

        def decode(self, token_ids: list[int]) -> str:
            return ""

    return CharacterCounter


_PREVIEW = 500
_DONE = "CAMEL_TASK_DONE"  # what CAMEL's prompts tell the user's side to say at the end


class CamelRolePlayingTracer(TraceableMixin, ConfigurableMixin):
    """Traces the steps of a ``RolePlaying``: what each side said, and who ended it.

    The messages and tokens of the agents are those of their adapters; a tracer adds what no single
    agent knows. It is reported once it is registered: ``benchmark.register("other", "team", it)``.
    """

    def __init__(self, role_playing: Any, name: str = "role_playing") -> None:
        self.role_playing = role_playing
        self.name = name
        self._steps: list[JsonObject] = []
        self._termination_reason: str | None = None

    def record_step(self, assistant_response: Any, user_response: Any) -> None:
        """Add the two responses that one step of the society returned."""
        sides = {"assistant": assistant_response, "user": user_response}
        entry: JsonObject = {"step_number": len(self._steps) + 1, "timestamp": now()}
        for side, response in sides.items():
            entry[f"{side}_content"] = _preview(content_of(response))
            entry[f"{side}_terminated"] = ended = _has_ended(side, response)
            if ended and self._termination_reason is None:
                self._termination_reason = f"{side}_terminated"
        self._steps.append(entry)

    def gather_traces(self) -> JsonObject:
        return {
            **super().gather_traces(),
            "name": self.name,
            "trace_type": "role_playing_orchestration",
            "step_count": len(self._steps),
            "termination_reason": self._termination_reason,
            "step_logs": list(self._steps),
        }

    def gather_config(self) -> JsonObject:
        society = self.role_playing
        return {
            **super().gather_config(),
            "name": self.name,
            "task_prompt": _preview(getattr(society, "task_prompt", None)),
            "assistant_role": _role_of(getattr(society, "assistant_agent", None)),
            "user_role": _role_of(getattr(society, "user_agent", None)),
        }


class _AssignmentLog:
    """Notes the assignments that a workforce reports to its callbacks, and ignores the rest."""

    def __init__(self) -> None:
        self.dependencies: dict[str, list[str]] = {}
        self.workers: dict[str, str] = {}

    def log_task_assigned(self, event: Any) -> None:
        self.workers[event.task_id] = event.worker_id
        self.dependencies[event.task_id] = list(event.dependencies or ())

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("log_"):
            raise AttributeError(name)
        return lambda *_: None


class CamelWorkforceTracer(TraceableMixin, ConfigurableMixin):
    """Traces a ``Workforce``: its subtasks, who was given them, and which are finished.

    Make it before the workforce works: CAMEL forgets who had a task, and what it depended on, as
    soon as the task is finished.
    """

    def __init__(self, workforce: Any, name: str = "workforce") -> None:
        self.workforce = workforce
        self.name = name
        self._assigned = _AssignmentLog()
        observers = getattr(workforce, "_callbacks", None)
        # It is private to CAMEL, whose next version may have something else there.
        if isinstance(observers, list):
            observers.append(self._assigned)

    def gather_traces(self) -> JsonObject:
        # CAMEL has no public way to ask for most of it.
        current = getattr(self.workforce, "_task_dependencies", None) or {}
        dependencies = {**self._assigned.dependencies, **current}
        workers = getattr(self.workforce, "_assignees", None) or {}
        completed = getattr(self.workforce, "_completed_tasks", None) or ()
        return {
            **super().gather_traces(),
            "name": self.name,
            "trace_type": "workforce_orchestration",
            "task_decomposition": {task: list(before) for task, before in dependencies.items()},
            "worker_assignments": {**self._assigned.workers, **workers},
            "completed_tasks": [_describe_task(task) for task in completed],
            "pending_tasks_count": len(getattr(self.workforce, "_pending_tasks", None) or ()),
        }

    def gather_config(self) -> JsonObject:
        mode = getattr(self.workforce, "mode", None)
        children = getattr(self.workforce, "_children", None) or ()
        return {
            **super().gather_config(),
            "name": self.name,
            "mode": None if mode is None else str(getattr(mode, "value", mode)),
            "workers": [
                {
                    "type": type(child).__name__,
                    "node_id": getattr(child, "node_id", None),
                    "description": _preview(getattr(child, "description", None)),
                }
                for child in children
            ],
        }


def camel_role_playing_execution_loop(
    role_playing: Any,
    task: object,
    max_steps: int = 10,
    tracer: CamelRolePlayingTracer | None = None,
) -> str | None:
    """Let a ``RolePlaying`` work until a side ends it, and return the assistant's last words.

    For an ``execution_loop`` of your own. The society is told its task by its ``task_prompt``, and
    not by ``task``, which is that of the benchmark. A user who says ``CAMEL_TASK_DONE`` ends it;
    what the assistant replies to that is no longer its answer. A provider's failure is raised as
    such.
    """
    message = role_playing.init_chat() if hasattr(role_playing, "init_chat") else None
    answer: str | None = None
    for _ in range(max_steps):
        assistant, user = _take_step(role_playing, message)
        if tracer is not None:
            tracer.record_step(assistant, user)
        is_over, said = _has_ended("user", user), content_of(assistant)
        if said is not None and not (is_over and answer):
            answer, message = said, assistant.msgs[0] if assistant.msgs else assistant.msg
        if is_over or _has_ended("assistant", assistant):
            break
    return answer


def _has_ended(side: str, response: Any) -> bool:
    is_done = side == "user" and _DONE in (content_of(response) or "")
    return is_done or bool(response.terminated)


def _take_step(role_playing: Any, message: object) -> Any:
    clock = Clock.here()
    if clock is not None:
        clock.check_timeout()
    try:
        return role_playing.step() if message is None else role_playing.step(message)
    except Escape as escape:
        raise escape.error from None
    except Exception as error:
        failure = provider_failure(error, provider=through("camel"), model_id=None)
        if failure is None:
            raise
        raise failure from None  # the library's message may quote the key


def content_of(response: Any) -> str | None:
    """Return the text of a response's first message, if it has one."""
    message = response.msgs[0] if response.msgs else getattr(response, "msg", None)
    return None if message is None else str(message.content)


def _preview(text: object) -> str | None:
    return None if text is None else str(text)[:_PREVIEW]


def _role_of(agent: Any) -> str | None:
    role = getattr(agent, "role_name", None)
    return None if role is None else str(role)


def _describe_task(task: Any) -> JsonObject:
    return {
        "id": str(task.id),
        "content": _preview(task.content),
        "state": str(getattr(task.state, "value", task.state)),
        "result": _preview(task.result),
        "worker": task.assigned_worker_id,
    }
