"""Benchmark: say how a task is set up, run and judged; the engine does the rest."""

import inspect
import logging
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, TypeVar
from uuid import uuid4

from maseval.core.agent import AgentAdapter
from maseval.core.announcer import Announcer
from maseval.core.callbacks.base import BenchmarkCallback, CallbackHandler
from maseval.core.callbacks.progress import ProgressBarCallback, progress_callback
from maseval.core.context import TaskContext
from maseval.core.environment import Environment
from maseval.core.evaluator import Evaluator
from maseval.core.exceptions import (
    AgentDataError,
    ConfigurationError,
    DuplicateTaskError,
    HookResultError,
    NotRunError,
)
from maseval.core.model import ModelAdapter, resolve_model
from maseval.core.registry import ComponentRegistry, UsageTotals
from maseval.core.repetition import Agents, Cast, Outcome, Repetition
from maseval.core.report import Report, TaskExecutionStatus
from maseval.core.runner import CallingThread, Runner, Threads, Workers
from maseval.core.seeding import DefaultSeedGenerator, SeedGenerator
from maseval.core.system_info import gather_benchmark_config
from maseval.core.task import BaseTaskQueue, SequentialTaskQueue, Task
from maseval.core.usage import Usage
from maseval.core.user import User

logger = logging.getLogger(__name__)

ComponentT = TypeVar("ComponentT")
Tasks = Task | BaseTaskQueue | Iterable[Task | Mapping[str, Any]]
AgentData = dict[str, Any] | Iterable[dict[str, Any]]


class Benchmark(ABC):
    """Runs agent systems on tasks and judges them.

    A subclass says what the environment, the agents and the evaluators of a task are
    (``setup_environment``, ``setup_agents``, ``setup_evaluators``); everything else has a default.
    ``tasks`` and ``agent_data`` given here are the defaults of ``run()``.
    """

    def __init__(
        self,
        callbacks: Iterable[BenchmarkCallback] | None = None,
        n_task_repeats: int = 1,
        max_invocations: int = 1,
        num_workers: int = 1,
        fail_on_setup_error: bool = False,
        fail_on_task_error: bool = False,
        fail_on_evaluation_error: bool = False,
        progress_bar: bool | str = True,
        seed: int | None = None,
        seed_generator: SeedGenerator | None = None,
        *,
        tasks: Tasks | None = None,
        agent_data: AgentData | None = None,
    ) -> None:
        _at_least_one("n_task_repeats", n_task_repeats)
        _at_least_one("max_invocations", max_invocations)
        _at_least_one("num_workers", num_workers)
        if seed is not None and seed_generator is not None:
            raise ConfigurationError(
                "Cannot provide both seed and seed_generator; a generator brings its own seed"
            )
        self.callbacks: list[BenchmarkCallback] = list(callbacks or ())
        self.callback_handler = CallbackHandler()
        self.n_task_repeats = n_task_repeats
        self.max_invocations = max_invocations
        self.num_workers = num_workers
        self.fail_on_setup_error = fail_on_setup_error
        self.fail_on_task_error = fail_on_task_error
        self.fail_on_evaluation_error = fail_on_evaluation_error
        self.tasks: BaseTaskQueue = SequentialTaskQueue([])
        self.reports: list[Report] = []
        self._seed_generator = seed_generator or DefaultSeedGenerator(global_seed=seed)
        self._totals = UsageTotals()
        self._default_tasks = tasks
        self._default_agent_data = agent_data
        self._has_run = False
        bar = progress_callback(progress_bar)
        if bar and not any(isinstance(one, ProgressBarCallback) for one in self.callbacks):
            self.callbacks.append(bar)

    # What a benchmark is made of.

    @abstractmethod
    def setup_environment(
        self, agent_data: dict[str, Any], task: Task, seed_generator: SeedGenerator
    ) -> Environment:
        """The world in which the task is done.

        Every ``setup_*`` method may leave out ``seed_generator``.
        """

    def setup_user(
        self,
        agent_data: dict[str, Any],
        environment: Any,
        task: Task,
        seed_generator: SeedGenerator,
    ) -> User | None:
        """Who talks to the agents; by default nobody."""
        return None

    @abstractmethod
    def setup_agents(
        self,
        agent_data: dict[str, Any],
        environment: Any,
        task: Task,
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> Agents:
        """The agents to be invoked, in order, and all agents by name."""

    @abstractmethod
    def setup_evaluators(
        self,
        environment: Any,
        task: Task,
        agents: Sequence[AgentAdapter],
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> Sequence[Evaluator]:
        """Who judges the outcome."""

    def get_model_adapter(self, model_id: str, **kwargs: Any) -> ModelAdapter:
        """A model for the parts of the benchmark that need one, registered for tracing.

        ``register_category`` and ``register_name`` say under which name; everything else goes to
        the provider.
        """
        category = kwargs.pop("register_category", "models")
        name = kwargs.pop("register_name", model_id)
        return self.register(category, name, resolve_model(model_id, **kwargs))

    def run_agents(
        self, agents: Sequence[AgentAdapter], task: Task, environment: Any, query: str
    ) -> Any:
        """One turn of the agents: the answer of the only one, or a list of all answers."""
        answers = [agent.run(query) for agent in agents]
        return answers[0] if len(answers) == 1 else answers

    def execution_loop(
        self,
        agents: Sequence[AgentAdapter],
        task: Task,
        environment: Any,
        user: Any,
    ) -> Any:
        """Let agents and user take turns, at most ``max_invocations`` times."""
        if user is None:
            return self.run_agents(agents, task, environment, task.query)
        query, answer = user.get_initial_query(), None
        for _ in range(self.max_invocations):
            answer = self.run_agents(agents, task, environment, query)
            query = user.respond(str(answer) if answer else "")
            if user.is_done():
                break
        return answer

    def evaluate(
        self,
        evaluators: Sequence[Evaluator],
        agents: dict[str, AgentAdapter],
        final_answer: Any,
        traces: dict[str, Any],
    ) -> list[dict[str, Any]]:
        """The verdict of each evaluator on the traces it looks at."""
        return [
            evaluator(evaluator.filter_traces(traces), final_answer) for evaluator in evaluators
        ]

    # Running it.

    def run(self, tasks: Tasks | None = None, agent_data: AgentData | None = None) -> list[Report]:
        """Run every task ``n_task_repeats`` times; returns one report for each repetition.

        A failure becomes a report and the run goes on, unless one of the ``fail_on_*`` flags is
        set. ``self.reports`` grows while the run goes on and keeps what is finished when an
        exception or Ctrl-C ends it early.
        """
        queue = _queue(tasks if tasks is not None else self._default_tasks)
        data = agent_data if agent_data is not None else self._default_agent_data
        data_for = _agent_data(queue, {} if data is None else data)
        self.tasks, self.reports, self._has_run = queue, [], True
        listening = [*self.callbacks]
        if isinstance(queue, BenchmarkCallback) and queue not in listening:
            listening.append(queue)
        run = _Run(self, Announcer(listening, self.callback_handler), data_for)
        run.announce("on_run_start")
        try:
            run.runner().run()
        finally:
            run.announce("on_run_end", results=self.reports)
        return self.reports

    def rescore(self, reports: Iterable[Report], tasks: Tasks | None = None) -> list[Report]:
        """Judge finished repetitions again, from their traces, without running any agent.

        ``tasks`` defaults to those of the last run. Reports of repetitions that failed before they
        could be judged are returned as they are.
        """
        known = {str(task.id): task for task in (_queue(tasks) if tasks else self.tasks).to_list()}
        return [self._rescored(report, known) for report in reports]

    def _rescored(self, report: Report, tasks: Mapping[str, Task]) -> Report:
        judged = (TaskExecutionStatus.SUCCESS.value, TaskExecutionStatus.EVALUATION_FAILED.value)
        if report["status"] not in judged:
            return report
        if report["task_id"] not in tasks:
            raise ConfigurationError(
                f"report of task {report['task_id']!r} cannot be scored: the task is not among the "
                f"{len(tasks)} given; pass the tasks of that run as tasks="
            )
        repetition = self._repetition(tasks[report["task_id"]], report["repeat_idx"], {}, "")
        outcome = repetition.rescore(self, report)
        return {
            **report,
            "status": outcome.report["status"],
            "error": outcome.report["error"],
            "eval": outcome.report["eval"],
        }

    def cast(self, agent_data: dict[str, Any], task: Task, seeds: SeedGenerator) -> Cast:
        """Set up everybody who takes part in a repetition; called by the engine."""
        environment = self._hook("setup_environment", seeds, agent_data, task)
        user = self._hook("setup_user", seeds, agent_data, environment, task)
        if user is None and self.max_invocations > 1 and self._takes_turns:
            warnings.warn(
                f"max_invocations={self.max_invocations} > 1 but no user simulator provided; "
                "agents are invoked once",
                stacklevel=2,
            )
        made = self._hook("setup_agents", seeds, agent_data, environment, task, user)
        agents, by_name = _checked_agents(made)
        evaluators = self._judges(environment, task, agents, user, seeds)
        return Cast(environment, user, agents, by_name, evaluators)

    def judges(self, task: Task, seeds: SeedGenerator) -> Sequence[Evaluator]:
        """Set up the evaluators alone, for a repetition that is over; called by the engine."""
        environment = self._hook("setup_environment", seeds, {}, task)
        return self._judges(environment, task, [], None, seeds)

    def _judges(
        self,
        environment: Environment,
        task: Task,
        agents: Sequence[AgentAdapter],
        user: User | None,
        seeds: SeedGenerator,
    ) -> Sequence[Evaluator]:
        made = self._hook("setup_evaluators", seeds, environment, task, agents, user)
        if not isinstance(made, Sequence) or isinstance(made, str):
            raise HookResultError(
                f"setup_evaluators() returned {made!r}; it must return a list of evaluators"
            )
        return made

    def _hook(self, name: str, seeds: SeedGenerator, *args: Any) -> Any:
        hook = getattr(self, name)
        if _takes_seeds(type(self), name):
            return hook(*args, seed_generator=seeds)
        return hook(*args)

    @property
    def _takes_turns(self) -> bool:
        return type(self).execution_loop is Benchmark.execution_loop

    def _repetition(
        self, task: Task, repeat_idx: int, agent_data: dict[str, Any], run_id: str
    ) -> Repetition:
        return Repetition(
            task=task,
            repeat_idx=repeat_idx,
            agent_data=agent_data,
            run_id=run_id,
            seeds=self._seed_generator,
            context_for=self._context,
            timeout=task.protocol.timeout_seconds,
        )

    def _context(self, deadline: float | None) -> TaskContext:
        registry = ComponentRegistry(self.benchmark_level_config, totals=self._totals)
        return TaskContext(deadline, registry=registry)

    def _workers(self) -> Workers:
        timed = any(task.protocol.timeout_seconds is not None for task in self.tasks.to_list())
        if self.num_workers == 1 and not timed:
            return CallingThread(self._run_repetition)
        return Threads(self._run_repetition, self.num_workers)

    def _run_repetition(self, repetition: Repetition) -> Outcome:
        return repetition.run(self)

    def _check_failure(self, outcome: Outcome) -> None:
        """Raise what a ``fail_on_*`` flag says must end the run."""
        match outcome.status:
            case TaskExecutionStatus.SUCCESS | TaskExecutionStatus.TASK_TIMEOUT:
                return
            case TaskExecutionStatus.SETUP_FAILED:
                fatal = self.fail_on_setup_error
            case TaskExecutionStatus.EVALUATION_FAILED:
                fatal = self.fail_on_evaluation_error
            case _:
                fatal = self.fail_on_task_error
        if fatal and outcome.exception:
            raise outcome.exception

    # What components and callers ask for.

    def add_callback(self, callback: BenchmarkCallback) -> None:
        """Have a callback told of every event from the next run on."""
        self.callbacks.append(callback)

    def register(self, category: str, name: str, component: ComponentT) -> ComponentT:
        """Have a component's traces, configuration and usage in the running repetition's report."""
        return TaskContext.current().registry.register(category, name, component)

    def clear_registry(self) -> None:
        """Forget the components of the running repetition; the engine does so after each."""
        TaskContext.current().registry.clear()

    def collect_all_traces(self) -> dict[str, Any]:
        """Traces of all components of the running repetition."""
        return TaskContext.current().registry.collect_traces()

    def collect_all_configs(self) -> dict[str, Any]:
        """Configuration of all components of the running repetition."""
        return TaskContext.current().registry.collect_configs()

    def collect_all_usage(self) -> dict[str, Any]:
        """Usage of all components of the running repetition; also added to the totals."""
        return TaskContext.current().registry.collect_usage()

    @cached_property
    def benchmark_level_config(self) -> dict[str, Any]:
        """Git, Python, system and packages: one object, shared by all reports."""
        return gather_benchmark_config()

    @property
    def seed_generator(self) -> SeedGenerator:
        """Where all seeds come from; gives None for each when there is no seed."""
        return self._seed_generator

    @property
    def usage(self) -> Usage:
        """Everything used so far, over all runs; may be asked while a run goes on."""
        return self._totals.total

    @property
    def usage_by_component(self) -> dict[str, Usage]:
        """Everything used so far, keyed ``category:name``."""
        return self._totals.by_component

    def get_failed_tasks(
        self,
        status_filter: TaskExecutionStatus | Iterable[TaskExecutionStatus] | None = None,
        reports: Iterable[Report] | None = None,
    ) -> SequentialTaskQueue:
        """The tasks with at least one failed repetition, or one of the given statuses."""
        if reports is None:
            if not self._has_run:
                raise NotRunError(
                    "get_failed_tasks() must be called after run(), or with reports=..."
                )
            reports = self.reports
        wanted = _statuses(status_filter)
        failed = {report["task_id"] for report in reports if report["status"] in wanted}
        return SequentialTaskQueue(
            [task for task in self.tasks.to_list() if str(task.id) in failed]
        )


class _Run:
    """One call of ``run()``: prepares repetitions and passes on what happens to them."""

    def __init__(
        self, benchmark: Benchmark, announcer: Announcer, data_for: Mapping[str, dict[str, Any]]
    ) -> None:
        self._benchmark = benchmark
        self._announcer = announcer
        self._data_for = data_for
        self._id = uuid4().hex

    def runner(self) -> Runner:
        benchmark = self._benchmark
        return Runner(
            plan=iter(benchmark.tasks),
            repeats=benchmark.n_task_repeats,
            prepare=self._prepare,
            workers=benchmark._workers(),
            listener=self,
        )

    def _prepare(self, task: Task, repeat_idx: int) -> Repetition:
        data = self._data_for[str(task.id)]
        return self._benchmark._repetition(task, repeat_idx, data, self._id)

    def announce(self, hook: str, **named: Any) -> None:
        self._announcer.announce(hook, self._benchmark, **named)

    def task_started(self, task: Task) -> None:
        self.announce("on_task_start", task=task)

    def repetition_started(self, task: Task, repeat_idx: int) -> None:
        self.announce("on_task_repeat_start", task=task, repeat_idx=repeat_idx)

    def repetition_finished(self, report: Report) -> None:
        self._benchmark.reports.append(report)
        self.announce("on_task_repeat_end", report=report)

    def task_finished(self, task: Task, report: Report) -> None:
        self.announce("on_task_end", task=task, result=report)

    def check_failure(self, outcome: Outcome) -> None:
        self._benchmark._check_failure(outcome)


def _at_least_one(name: str, value: int) -> None:
    if not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"{name} must be at least 1, not {value!r}")


def _queue(tasks: Tasks | None) -> BaseTaskQueue:
    match tasks:
        case None:
            raise ConfigurationError("no tasks to run; pass them to run() or to the constructor")
        case Task():
            queue: BaseTaskQueue = SequentialTaskQueue([tasks])
        case BaseTaskQueue():
            queue = tasks
        case _:
            queue = SequentialTaskQueue.from_list(tasks)
    seen: set[str] = set()
    for task in queue.to_list():
        if str(task.id) in seen:
            raise DuplicateTaskError(
                f"two tasks have the id {str(task.id)!r}; reports could not be told apart, so "
                "give each task its own id"
            )
        seen.add(str(task.id))
    return queue


def _agent_data(queue: BaseTaskQueue, agent_data: AgentData) -> dict[str, dict[str, Any]]:
    tasks = queue.to_list()
    if isinstance(agent_data, dict):
        return {str(task.id): agent_data for task in tasks}
    entries: list[dict[str, Any]] = list(agent_data)
    if len(entries) != len(tasks):
        raise AgentDataError(
            "`agent_data` must either be a single dict or an iterable matching the number of "
            f"tasks. There are {len(tasks)} tasks and {len(entries)} entries"
        )
    for entry in entries:
        if not isinstance(entry, dict):
            raise AgentDataError(f"`agent_data` holds {entry!r}; each entry must be a dict")
    return {str(task.id): entry for task, entry in zip(tasks, entries, strict=True)}


def _checked_agents(made: Any) -> Agents:
    match made:
        case (agents, Mapping() as by_name) if isinstance(agents, Sequence):
            return agents, dict(by_name)
        case _:
            raise HookResultError(
                f"setup_agents() returned {made!r}; it must return a pair: the list of agents to "
                "invoke, and a dict of all agents by name"
            )


def _statuses(
    wanted: TaskExecutionStatus | Iterable[TaskExecutionStatus] | None,
) -> frozenset[str]:
    if wanted is None:
        every = frozenset(status.value for status in TaskExecutionStatus)
        return every - {TaskExecutionStatus.SUCCESS.value}
    if isinstance(wanted, TaskExecutionStatus):
        wanted = [wanted]
    return frozenset().union(*(status.covers for status in wanted))


@cache
def _takes_seeds(benchmark: type, hook: str) -> bool:
    parameters = inspect.signature(getattr(benchmark, hook)).parameters.values()
    return any(p.name == "seed_generator" or p.kind is p.VAR_KEYWORD for p in parameters)
