"""Repetitions outside a run: one taken step by step, and finished ones evaluated again."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, wraps
from typing import TypeVar

from maseval.core.agent import AgentAdapter
from maseval.core.engine.participants import Agents, Participants, SetupHooks
from maseval.core.engine.repetition import Repetition, RunSetting, evaluate, execute
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
    def take_step(self: "Walkthrough", /) -> R:
        with self.context.active():
            return step(self)

    return take_step


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
    def _hooks(self) -> SetupHooks:
        return self._repetition.setup_hooks()

    @cached_property
    @_inside
    def environment(self) -> Environment:
        """The environment that ``setup_environment`` returns."""
        return self._hooks.environment()

    @cached_property
    @_inside
    def user(self) -> User | None:
        """The user that ``setup_user`` returns, if any."""
        return self._hooks.user(self.environment)

    @cached_property
    @_inside
    def _all_agents(self) -> Agents:
        return self._hooks.agents(self.environment, self.user)

    @cached_property
    def agents_to_run(self) -> Sequence[AgentAdapter]:
        """The agents to be invoked, in order: the first part of what ``setup_agents`` returns."""
        return self._all_agents[0]

    @cached_property
    def agents(self) -> dict[str, AgentAdapter]:
        """All agents by name: the second part of what ``setup_agents`` returns."""
        return self._all_agents[1]

    @cached_property
    @_inside
    def evaluators(self) -> Sequence[Evaluator]:
        """The evaluators that ``setup_evaluators`` returns."""
        return self._hooks.evaluators(self.environment, self.agents_to_run, self.user)

    @property
    def _participants(self) -> Participants:
        return Participants(
            self.environment, self.user, self.agents_to_run, self.agents, self.evaluators
        )

    @cached_property
    def _registry(self) -> ComponentRegistry:
        """The components of the repetition, with all participants among them."""
        self._participants.register(self.context.registry, self._hooks.seeds)
        return self.context.registry

    @_inside
    def execute(self) -> object:
        """Run the execution loop, each time anew; returns the final answer."""
        self.final_answer = execute(self._hooks.benchmark, self.task, self._participants)
        return self.final_answer

    @cached_property
    def final_answer(self) -> object:
        """The answer of the last ``execute()``, which is called if it was not."""
        return self.execute()

    @_inside
    def collect_traces(self) -> JsonObject:
        """Return the traces of all components as they are now."""
        return self._registry.collect_traces()

    @_inside
    def collect_configs(self) -> JsonObject:
        """Return the configuration of all components."""
        return self._registry.collect_configs()

    @_inside
    def collect_usage(self) -> JsonObject:
        """Return the usage of all components so far; also added to the benchmark's totals."""
        return self._registry.collect_usage()

    @_inside
    def evaluate(self) -> list[JsonObject]:
        """Return the evaluators' results on the final answer and the traces."""
        answer, traces = self.final_answer, self.collect_traces()
        return evaluate(self._hooks.benchmark, self.evaluators, self.agents, answer, traces)


_EVALUATED = (TaskExecutionStatus.SUCCESS.value, TaskExecutionStatus.EVALUATION_FAILED.value)
_NEEDED = ("task_id", "repeat_idx", "traces", "final_answer")


def rescore_reports(
    reports: Iterable[Report],
    setting: RunSetting,
    tasks: Iterable[Task],
    agent_data_of: Callable[[Task], JsonObject],
) -> list[Report]:
    """Return the reports with new evaluations; those that never reached one are unchanged."""
    known, given = {str(task.id): task for task in tasks}, list(reports)
    for report in given:
        if report["status"] in _EVALUATED:
            _check(report, known)

    def rescore(report: Report) -> Report:
        if report["status"] not in _EVALUATED:
            return report
        task = known[report["task_id"]]
        return Repetition.of(setting, task, report["repeat_idx"], agent_data_of(task)).rescore(
            report
        )

    return [rescore(report) for report in given]


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
