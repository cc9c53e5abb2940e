"""Benchmark: define how a task is set up, run and evaluated; the engine does the rest."""

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from maseval.core.agent import AgentAdapter
from maseval.core.agent_brief import AgentBrief
from maseval.core.answer_cache import AnswerCache
from maseval.core.call_policy import CallPolicy
from maseval.core.callbacks.base import BenchmarkCallback, CallbackHandler
from maseval.core.callbacks.progress import ProgressBarCallback, progress_callback
from maseval.core.context import BenchmarkComponents, Conversations, Said, TaskContext
from maseval.core.engine.engines import DEFAULT, AnyEngine, engine_of
from maseval.core.engine.participants import Agents, hook
from maseval.core.engine.repetition import RunSetting, rescore_reports
from maseval.core.engine.run import RunInProgress
from maseval.core.environment import Environment
from maseval.core.evaluator import Evaluator
from maseval.core.event_loop import settle
from maseval.core.exceptions import ConfigurationError, NotRunError
from maseval.core.model import ModelAdapter, resolve_model
from maseval.core.reasoning import ReasoningPolicy
from maseval.core.registry import ComponentRegistry, ComponentT, ModelSettings, UsageTotals
from maseval.core.report import Report, TaskExecutionStatus
from maseval.core.seeding import DefaultSeedGenerator, SeedGenerator
from maseval.core.task import BaseTaskQueue, SequentialTaskQueue, Task
from maseval.core.task.queues import (
    SUBSET,
    AgentData,
    TasksToRun,
    agent_data_for,
    lasting,
    task_queue,
)
from maseval.core.tracing import JsonObject
from maseval.core.usage import CostCalculator, Usage
from maseval.core.user import User

if TYPE_CHECKING:  # few benchmarks have a judge
    from maseval.core.judge_record import Judgement, JudgeRecord


OwnAgent = Callable[["Benchmark", AgentBrief, Any, Task], Agents]
"""Makes agents of somebody's own, for a brief, an environment and a task."""


def registered_model(model_id: str, *, register_name: str, **options: Any) -> ModelAdapter:
    """Return a model that is counted in the current repetition."""
    model = resolve_model(model_id, **options)
    return TaskContext.current().registry.register("models", register_name, model)


class Benchmark(ABC):
    """Runs agent systems on tasks and evaluates them.

    A subclass defines the environment, the agents and the evaluators of a task
    (``setup_environment``, ``setup_agents``, ``setup_evaluators``); everything else has a default.
    ``tasks`` and ``agent_data`` given here are the defaults of ``run()``. Every hook may be written
    with ``async def``.

    A failure becomes a report and the run continues, unless a ``fail_on_*`` flag is set.
    ``stop_when_hopeless`` ends a run in which every other task would fail in the same way, for
    example because the API key is invalid, with a ``RunStoppedError``.
    """

    evaluators_need_environment: bool = True
    """True if finished repetitions are evaluated again with a fresh environment.

    If evaluators judge by traces, task and answer alone, set it to False: ``setup_evaluators`` then
    gets None as the environment, and saved reports can be judged where it cannot be set up.
    """

    own_agent: OwnAgent | None = None
    """Makes the agents of ``--agent``, in the place of ``setup_agents``."""

    reasoning_policy: ReasoningPolicy | None = None
    """The policy of all registered models; by default each has its own."""

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
        tasks: TasksToRun | None = None,
        agent_data: AgentData | None = None,
        stop_when_hopeless: bool = False,
    ) -> None:
        _at_least_one("n_task_repeats", n_task_repeats)
        _at_least_one("max_invocations", max_invocations)
        _at_least_one("num_workers", num_workers)
        if type(self).clear_registry is not Benchmark.clear_registry:
            raise ConfigurationError(
                f"{type(self).__name__} overrides clear_registry, which no run calls: each "
                "repetition has components of its own. Use on_task_repeat_end of a callback"
            )
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
        self.stop_when_hopeless = stop_when_hopeless
        self._default_tasks = None if tasks is None else task_queue(tasks)
        self._default_agent_data = {} if agent_data is None else lasting(agent_data)
        self.tasks: BaseTaskQueue = self._default_tasks or SequentialTaskQueue([])
        self.reports: list[Report] = []
        self.keep_reports = True
        """True if ``run()`` keeps reports and returns them; callbacks receive each in any case."""
        self._seed_generator = (
            DefaultSeedGenerator(global_seed=seed) if seed_generator is None else seed_generator
        )
        self._count_anew()
        self._models = ModelSettings()
        self.judge_record: JudgeRecord | None = None
        """Keeps what judges answer; a run into a folder has one there."""
        self._has_run = False
        self._stopping = False
        self._conversations = Conversations()
        bar = None if progress_bar is False else progress_callback(progress_bar)
        if bar and not any(isinstance(one, ProgressBarCallback) for one in self.callbacks):
            self.callbacks.append(bar)

    def _count_anew(self) -> None:
        self._totals = UsageTotals()
        self._components = BenchmarkComponents(self._totals, lambda: self.benchmark_level_config)

    # The parts of a benchmark.

    @hook
    @abstractmethod
    def setup_environment(
        self, agent_data: JsonObject, task: Task, seed_generator: SeedGenerator
    ) -> Environment:
        """Return the environment in which the task is done.

        Every ``setup_*`` method may omit ``seed_generator``.
        """

    @hook
    def setup_user(
        self, agent_data: JsonObject, environment: Any, task: Task, seed_generator: SeedGenerator
    ) -> User | None:
        """Return the user who talks to the agents; none by default."""
        return None

    @hook
    @abstractmethod
    def setup_agents(
        self,
        agent_data: JsonObject,
        environment: Any,
        task: Task,
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> Agents:
        """Return the agents to be invoked, in order, and all agents by name."""

    @hook
    def brief(
        self,
        agent_data: JsonObject,
        environment: Any,
        task: Task,
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> AgentBrief:
        """Return what an agent of ``--agent FILE.py:NAME`` is given: the environment's tools.

        A benchmark whose agents are told more, such as a policy, extends this.
        """
        domain = str(task.metadata.get("domain") or "")
        seed = seed_generator.derive_seed("agents/agent")
        # A function of its own: an agent that is handed it must not find the benchmark in it.
        return AgentBrief(environment.tools, "", domain, seed=seed, resolve=registered_model)

    def scripted_model(self, player: str, environment: Any, task: Task) -> ModelAdapter:
        """Return the model that plays a task in a rehearsal, such as ``gold``; none by default."""
        raise ConfigurationError(
            f"{type(self).__name__} has no scripted model to rehearse with; give it a method "
            "scripted_model, or leave out --rehearse"
        )

    @hook
    @abstractmethod
    def setup_evaluators(
        self,
        environment: Any,
        task: Task,
        agents: Sequence[AgentAdapter],
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> Sequence[Evaluator]:
        """Return the evaluators that score the outcome."""

    def get_model_adapter(
        self,
        model_id: str,
        *,
        register_category: str = "models",
        register_name: str | None = None,
        **kwargs: Any,
    ) -> ModelAdapter:
        """Return a model for the parts of the benchmark that need one, registered for tracing.

        Its name in the registry is ``model_id`` unless given; ``kwargs`` go to the provider.
        """
        name = model_id if register_name is None else register_name
        return self.register(register_category, name, resolve_model(model_id, **kwargs))

    def run_agents(
        self, agents: Sequence[AgentAdapter], task: Task, environment: Any, query: str
    ) -> Any:
        """Return one turn of the agents: the answer of the only one, or a list of all answers."""
        match [agent.run(query) for agent in agents]:
            case [answer]:
                return answer
            case answers:
                return answers

    def execution_loop(
        self, agents: Sequence[AgentAdapter], task: Task, environment: Any, user: Any
    ) -> Any:
        """Let agents and user take turns, at most ``max_invocations`` times."""
        if user is None:
            if self.max_invocations > 1:
                warnings.warn(
                    f"max_invocations={self.max_invocations} > 1 but no user simulator provided; "
                    "agents are invoked once",
                    stacklevel=2,
                )
            return settle(self.run_agents(agents, task, environment, task.query))
        query, answer = settle(user.get_initial_query()), None
        for _ in range(self.max_invocations):
            answer = settle(self.run_agents(agents, task, environment, query))
            if user.is_done():  # as after a first query that was all it has to say
                break
            query = settle(user.respond(str(answer) if answer else ""))
            if user.is_done():
                break
        return answer

    def evaluate(
        self,
        evaluators: Sequence[Evaluator],
        agents: dict[str, AgentAdapter],
        final_answer: Any,
        traces: JsonObject,
    ) -> list[JsonObject]:
        """Return the result of each evaluator on the traces it filters."""
        return [
            settle(evaluator(settle(evaluator.filter_traces(traces)), final_answer))
            for evaluator in evaluators
        ]

    # Running.

    def run(
        self,
        tasks: TasksToRun | None = None,
        agent_data: AgentData | None = None,
        *,
        engine: AnyEngine = DEFAULT,
    ) -> list[Report]:
        """Run every task ``n_task_repeats`` times; returns one report per repetition.

        ``engine`` says where: in threads of this process, or as the engine of another name does
        it. Callbacks run in this process only.

        ``self.reports`` grows during the run and keeps all finished reports when an exception or
        Ctrl-C ends it early.
        """
        queue = self._default_tasks if tasks is None else task_queue(tasks)
        if queue is None:
            raise ConfigurationError("no tasks to run; pass them to run() or to the constructor")
        agent_data_of = agent_data_for(queue, self._or_default(agent_data))
        chosen = engine_of(engine)
        self.tasks, self.reports, self._has_run = queue, [], True
        self._stopping = False
        with self._components.whole_run(self.callbacks) as shared:
            RunInProgress(self, self._setting(shared), agent_data_of, chosen).execute()
        return self.reports

    def stop(self) -> None:
        """Start nothing more in the current run; repetitions in progress finish and are reported.

        May be called from a callback, another thread or a signal handler.
        """
        self._stopping = True

    def last_said(self, task_id: str, repeat_idx: int) -> Said | None:
        """Return the last message of a repetition that is running; None if unknown.

        May be called from any thread. A benchmark that keeps its conversation elsewhere than in
        the messages of its agents and its user may know better.
        """
        return self._conversations.last((task_id, repeat_idx))

    def rescore(
        self,
        reports: Iterable[Report],
        tasks: TasksToRun | None = None,
        agent_data: AgentData | None = None,
    ) -> list[Report]:
        """Evaluate finished repetitions again without running any agent; returns new reports.

        ``tasks`` defaults to those of the last run. Evaluators are set up with a fresh environment
        (none, unless ``evaluators_need_environment``), no agents and no user, and see the traces
        and the final answer of the report. Reports of repetitions that failed before evaluation
        are returned unchanged.
        """
        queue = self.tasks if tasks is None else task_queue(tasks)
        agent_data_of = agent_data_for(queue, self._or_default(agent_data))
        return rescore_reports(reports, self._setting(), queue.to_list(), agent_data_of)

    def _or_default(self, agent_data: AgentData | None) -> AgentData:
        return self._default_agent_data if agent_data is None else agent_data

    def _setting(self, shared: ComponentRegistry | None = None) -> RunSetting:
        config, subset = self.benchmark_level_config, self.tasks.subset
        return RunSetting(
            benchmark=self,
            run_id=uuid4().hex,
            seeds=self.seed_generator,
            # Results of chosen tasks say so.
            config=config if subset is None else {**config, SUBSET: subset.to_dict()},
            totals=self._totals,
            shared=shared,
            models=self._models,
            stopping=lambda: self._stopping,
            conversations=self._conversations,
        )

    # For engines whose workers are other processes.

    def for_worker(self) -> Self:
        """Return a copy for another process: tasks, reports and callbacks stay here.

        A subclass that holds what cannot be sent, such as an open file, extends this and replaces
        it in the copy.
        """
        twin = copy.copy(self)
        # They belong to the process that delivers reports: every event is told once.
        twin.callbacks, twin.callback_handler = [], CallbackHandler()
        twin._default_tasks, twin._default_agent_data = None, {}
        twin.tasks, twin.reports = SequentialTaskQueue([]), []
        # Large, and of this machine: reports get it when they come back.
        twin.__dict__.pop("benchmark_level_config", None)
        if self.judge_record is not None:
            twin.judge_record = self.judge_record.for_worker()
        return twin

    def data_checksums(self, domains: Collection[str]) -> Mapping[str, str]:
        """Return the data that tasks of these domains depend on, as it is on this machine.

        Names of files with their SHA-256, for example. A machine on which it differs from that
        where the run was started is refused.
        """
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {key: part for key, part in vars(self).items() if key not in _OF_THIS_PROCESS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._count_anew()

    # For components and callers.

    def add_callback(self, callback: BenchmarkCallback) -> None:
        """Notify a callback of every event, starting with the next run."""
        self.callbacks.append(callback)

    def use_prices(self, calculator: CostCalculator) -> None:
        """Compute costs with ``calculator`` wherever a model or agent was made without one."""
        self._models = self._models._replace(prices=calculator)

    def use_policy(self, policy: CallPolicy) -> None:
        """Let registered models that have no policy of their own retry by ``policy``."""
        self._models = self._models._replace(policy=policy)

    def use_cache(self, cache: AnswerCache) -> None:
        """Let registered models take answers to equal requests from ``cache``."""
        self._models = self._models._replace(cache=cache)

    def keep_judgement(self, judgement: "Judgement") -> None:
        """Record what a judge answered in a worker process."""
        if self.judge_record is not None:
            self.judge_record.add(judgement)

    def register(self, category: str, name: str, component: ComponentT) -> ComponentT:
        """Report a component's traces, configuration and usage with the current repetition.

        What a callback registers in a hook is reported with every repetition from then on, and so
        are callbacks registered before the run. Outside a run, such as in a notebook, a component
        is kept for ``collect_all_traces()`` and its siblings until ``clear_registry()``.
        """
        if self.reasoning_policy is not None and isinstance(component, ModelAdapter):
            component.reasoning_policy = self.reasoning_policy
        return self._components.here().register(category, name, component)

    def clear_registry(self) -> None:
        """Unregister the current repetition's components; the engine does so after each."""
        self._components.here().clear()

    def collect_all_traces(self) -> JsonObject:
        return self._components.here().collect_traces()

    def collect_all_configs(self) -> JsonObject:
        return self._components.configs()

    def collect_all_usage(self) -> JsonObject:
        """Usage of all registered components; also added to the totals."""
        return self._components.here().collect_usage()

    @cached_property
    def benchmark_level_config(self) -> JsonObject:
        """Git, Python, system and packages: one object, shared by all reports."""
        from maseval.core.system_info import gather_benchmark_config  # only runs need it

        return gather_benchmark_config()

    @property
    def seed_generator(self) -> SeedGenerator:
        """The source of all seeds; every seed is None if the benchmark has none."""
        return self._seed_generator

    @property
    def usage(self) -> Usage:
        """Total usage over all runs; may be read during a run."""
        return self._totals.total

    @property
    def usage_by_component(self) -> dict[str, Usage]:
        """Total usage per component, keyed ``category:name``."""
        return self._totals.by_component

    def get_failed_tasks(
        self,
        status_filter: TaskExecutionStatus | Iterable[TaskExecutionStatus] | None = None,
        reports: Iterable[Report] | None = None,
    ) -> SequentialTaskQueue:
        """Return the tasks with at least one failed repetition, or one of the given statuses."""
        if reports is None:
            if not self._has_run:
                raise NotRunError(
                    "get_failed_tasks() must be called after run(), or with reports=..."
                )
            reports = self.reports
        wanted = _statuses(status_filter)
        failed = {report["task_id"] for report in reports if report["status"] in wanted}
        if failed and not len(self.tasks):
            raise NotRunError(
                f"the tasks of these reports are not known, such as {min(failed)!r}; run them "
                "first, or give them to the constructor as tasks="
            )
        return SequentialTaskQueue(
            [task for task in self.tasks.to_list() if str(task.id) in failed]
        )


# With locks inside; a copy counts anew.
_OF_THIS_PROCESS = ("_totals", "_components")


def _at_least_one(name: str, value: int) -> None:
    if not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"{name} must be at least 1, not {value!r}")


def _statuses(wanted: TaskExecutionStatus | Iterable[TaskExecutionStatus] | None) -> frozenset[str]:
    if wanted is None:
        every = frozenset(status.value for status in TaskExecutionStatus)
        return every - {TaskExecutionStatus.SUCCESS.value}
    if isinstance(wanted, TaskExecutionStatus):
        wanted = [wanted]
    return frozenset().union(*(status.covers for status in wanted))
