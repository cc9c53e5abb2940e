"""One repetition by hand: its hooks one at a time, for a notebook, a debugger or a unit test."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, wraps
from typing import TypeVar

from maseval.core.agent import AgentAdapter
from maseval.core.engine.participants import Agents, Cast, SetUp
from maseval.core.engine.repetition import Repetition, RunSetting, executed, judged
from maseval.core.environment import Environment
from maseval.core.evaluator import Evaluator
from maseval.core.exceptions import ConfigurationError
from maseval.core.registry import ComponentRegistry
from maseval.core.report import Report, TaskExecutionStatus
from maseval.core.task import Task
from maseval.core.tracing import JsonObject
from maseval.core.user import User

R = TypeVar("R")


def _inside(step: Callable[["Walkthrough"], R]) -> Callable[["Walkthrough"], R]:
    """Take a step inside the repetition, where components can be registered."""

    @wraps(step)
    def taken(self: "Walkthrough", /) -> R:
        with self.context.active():
            return step(self)

    return taken


class Walkthrough:
    """One repetition of a task, step by step; what a step raises is raised as it is.

    ``environment``, ``user``, ``agents`` and ``evaluators`` are made by their hooks when they are
    first read, together with those they need; assign one to replace it. ``execute``,
    ``collect_traces`` and ``evaluate`` follow. There is no deadline.
    """

    def __init__(self, repetition: Repetition) -> None:
        self._repetition = replace(repetition, timeout=None)
        self._repetition.begin()
        self.context = self._repetition.context
        self.task = repetition.task

    @cached_property
    def _hooks(self) -> SetUp:
        return self._repetition.set_up()

    @cached_property
    @_inside
    def environment(self) -> Environment:
        """What ``setup_environment`` returns."""
        return self._hooks.environment()

    @cached_property
    @_inside
    def user(self) -> User | None:
        """What ``setup_user`` returns."""
        return self._hooks.user(self.environment)

    @cached_property
    @_inside
    def _made(self) -> Agents:
        return self._hooks.agents(self.environment, self.user)

    @cached_property
    def agents_to_run(self) -> Sequence[AgentAdapter]:
        """The agents to be invoked, in order: the first part of what ``setup_agents`` returns."""
        return self._made[0]

    @cached_property
    def agents(self) -> dict[str, AgentAdapter]:
        """All agents by name: the second part of what ``setup_agents`` returns."""
        return self._made[1]

    @cached_property
    @_inside
    def evaluators(self) -> Sequence[Evaluator]:
        """What ``setup_evaluators`` returns."""
        return self._hooks.evaluators(self.environment, self.agents_to_run, self.user)

    @property
    def _cast(self) -> Cast:
        return Cast(self.environment, self.user, self.agents_to_run, self.agents, self.evaluators)

    @cached_property
    def _registry(self) -> ComponentRegistry:
        """The components of the repetition, with all participants among them."""
        self._cast.register(self.context.registry, self._hooks.seeds)
        return self.context.registry

    @_inside
    def execute(self) -> object:
        """Run the execution loop, each time anew; returns the final answer."""
        self.final_answer = executed(self._hooks.benchmark, self.task, self._cast)
        return self.final_answer

    @cached_property
    def final_answer(self) -> object:
        """The answer of the last ``execute()``, which is called if it was not."""
        return self.execute()

    @_inside
    def collect_traces(self) -> JsonObject:
        """The traces of all components as they are now."""
        return self._registry.collect_traces()

    @_inside
    def collect_configs(self) -> JsonObject:
        """The configuration of all components."""
        return self._registry.collect_configs()

    @_inside
    def collect_usage(self) -> JsonObject:
        """The usage of all components so far; also added to the benchmark's totals."""
        return self._registry.collect_usage()

    @_inside
    def evaluate(self) -> list[JsonObject]:
        """The evaluators' results on the final answer and the traces."""
        answer, cast, traces = self.final_answer, self._cast, self.collect_traces()
        hooks = self._hooks.benchmark
        return judged(hooks, cast.evaluators, cast.agents_by_name, answer, traces)


_JUDGED = (TaskExecutionStatus.SUCCESS.value, TaskExecutionStatus.EVALUATION_FAILED.value)
_NEEDED = ("task_id", "repeat_idx", "traces", "final_answer")


def rescored(
    reports: Iterable[Report],
    setting: RunSetting,
    tasks: Iterable[Task],
    agent_data_of: Callable[[Task], JsonObject],
) -> list[Report]:
    """The reports with new evaluations; those that never reached evaluation are unchanged."""
    known, given = {str(task.id): task for task in tasks}, list(reports)
    for report in given:
        if report["status"] in _JUDGED:
            _check(report, known)
    return [
        _again(report, setting, known[report["task_id"]], agent_data_of)
        if report["status"] in _JUDGED
        else report
        for report in given
    ]


def _again(
    report: Report,
    setting: RunSetting,
    task: Task,
    agent_data_of: Callable[[Task], JsonObject],
) -> Report:
    repetition = Repetition.of(setting, task, report["repeat_idx"], agent_data_of(task))
    return repetition.rescored(report)


def _check(report: Report, tasks: Mapping[str, Task]) -> None:
    missing = [key for key in _NEEDED if key not in report]
    if missing:
        raise ConfigurationError(
            f"report of task {report.get('task_id')!r} cannot be scored: it lacks "
            f"{', '.join(missing)}; have whole reports written, include_traces=True"
        )
    if report["task_id"] not in tasks:
        raise ConfigurationError(
            f"report of task {report['task_id']!r} cannot be scored: the task is not among the "
            f"{len(tasks)} given; pass the tasks of that run as tasks="
        )
