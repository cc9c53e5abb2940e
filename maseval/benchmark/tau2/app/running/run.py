"""``maseval tau2 run`` and ``play``: simulations into a run folder.

``RunBenchmark`` seats on each side what the prepared run names: a model, an agent of the user's
own, a scripted agent or user, or a person. The replies of the judge are kept in the run
folder. ``branch``, ``mcp`` and ``plan`` use the same benchmark. A person plays by the same rules as
any agent; of a run of several tasks, each call plays the next.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from weakref import WeakSet

from maseval.app.results.checklist import checklist_of_run
from maseval.app.results.run_summary import RunResult
from maseval.app.running.options import takes
from maseval.app.running.own_agents import attribute_errors
from maseval.app.running.own_code import title_of
from maseval.app.running.prices import FreePrices, Prices
from maseval.benchmark.tau2.app.running.confidence import ask_confidence
from maseval.benchmark.tau2.app.running.options import PlayOptions, RunOptions
from maseval.benchmark.tau2.app.running.participants import ModelSpec, OwnAgent
from maseval.benchmark.tau2.app.running.prepared import PreparedRun
from maseval.benchmark.tau2.benchmark import Mode
from maseval.benchmark.tau2.conversation.continuation import Continuation
from maseval.benchmark.tau2.default_benchmark import DefaultAgentTau2Benchmark
from maseval.benchmark.tau2.domains.releases import Release
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.perturbation import PerturbedAnswers
from maseval.benchmark.tau2.players.human import Person, SeatView
from maseval.benchmark.tau2.players.scripted import make_agent, make_user
from maseval.benchmark.tau2.texts.original import Wording
from maseval.core.agent import AgentAdapter
from maseval.core.agent_brief import AgentBrief, AgentGroup, make_agents, no_answer_error
from maseval.core.benchmark import Benchmark
from maseval.core.callbacks import BenchmarkCallback
from maseval.core.context import TaskContext
from maseval.core.engine.engines import DEFAULT, CallingThreadEngine
from maseval.core.exceptions import AgentError, ConfigurationError, HookResultError
from maseval.core.model import ModelAdapter, resolve_model
from maseval.core.outcome import RecordedReport, Simulation
from maseval.core.report import Report
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.task.task import RepetitionKey
from maseval.core.user import User
from maseval.core.words import count_of
from maseval.runs import RunFolder

if TYPE_CHECKING:  # most runs are no rehearsals
    from maseval.benchmark.tau2.app.running.rehearsing import Rehearsal

logger = logging.getLogger(__name__)


class _SeenAgents(WeakSet[AgentAdapter]):
    """The agents that this process has seen; another one begins without any."""

    def __reduce__(self) -> tuple[type["_SeenAgents"], tuple[()]]:
        return _SeenAgents, ()


class RunBenchmark(DefaultAgentTau2Benchmark):
    """tau2 with the participants of a prepared run; a ``rehearsal`` has its scripted models."""

    def __init__(self, prepared: PreparedRun, rehearsal: "Rehearsal | None" = None) -> None:
        options = prepared.options
        super().__init__(
            max_invocations=options.max_steps,
            max_errors=options.max_errors,
            timeout=prepared.timeout,
            num_workers=options.concurrency,
            progress_bar=False,
            seed=options.seed,
            mode=prepared.mode,
            texts=prepared.wording,
        )
        self.prepared = prepared
        self.prices = prepared.prices
        self.rehearsal = rehearsal
        if prepared.past:
            self.orchestrator = partial(Continuation, past=prepared.past)
        self.timeouts = _CountTimeouts()
        self.add_callback(self.timeouts)
        self._seen = _SeenAgents()

    # Around the run.

    @cached_property
    def benchmark_level_config(self) -> dict[str, Any]:
        """The configuration that every report has, with whose agent it is."""
        config, agent = super().benchmark_level_config, self.prepared.agent
        if isinstance(agent, Person):
            config = {**config, "human": {"plays": "agent"}}
        return {**config, "agent": agent.to_facts()} if isinstance(agent, OwnAgent) else config

    @property
    def agent_data(self) -> dict[str, object]:
        """The description of the agent that ``run`` passes on to ``setup_agents``."""
        agent = self.prepared.agent
        if not isinstance(agent, ModelSpec):  # all others are made from the set-up
            return {}
        return {"model_id": agent.model_id, "llm_args": agent.llm_args}

    def stop(self) -> None:
        """Start nothing more; a person is not waited for, and one who plays by MCP is sent away."""
        super().stop()
        agent = self.prepared.agent
        if isinstance(agent, Person):
            agent.leave()
        elif isinstance(agent, OwnAgent) and hasattr(agent.make, "leave"):
            agent.make.leave()

    def wording(self, release: Release) -> Wording:
        return self.prepared.wording

    # Other processes.

    def for_worker(self) -> Self:
        """Return a copy for another process, where nothing is shown and no engine is needed."""
        twin = super().for_worker()
        options = replace(
            self.prepared.options,
            display=None,
            engine=DEFAULT,
            ray_address=None,
            processes=None,
            force=False,
        )
        # Each task comes with its order to run it.
        twin.prepared = replace(self.prepared, options=options, tasks={})
        return twin

    # One simulation.

    def setup_environment(
        self, agent_data: dict[str, object], task: Task, seed_generator: SeedGenerator
    ) -> Tau2Environment:
        environment = super().setup_environment(agent_data, task, seed_generator)
        if (perturbation := self.prepared.perturbation) is not None:
            seed = self._seeds(seed_generator).derive_seed("environment/perturb")
            environment.perturbed = PerturbedAnswers(perturbation, seed)
        return environment

    def get_model_adapter(self, model_id: str, **kwargs: Any) -> ModelAdapter:
        """Return a model with the connection that was given for its role."""
        model = self.prepared.models.get(kwargs.get("register_name", ""))
        options = {**(model.options if model else {}), **kwargs}
        adapter = super().get_model_adapter(model_id, **options)
        return _with_price(adapter, self.prices, model_id, options.get("base_url"))

    def setup_user(
        self,
        agent_data: dict[str, Any],
        environment: Tau2Environment,
        task: Task,
        seed_generator: SeedGenerator,
    ) -> User | None:
        if self.prepared.user == "scripted" and self.mode is not Mode.SOLO:
            return make_user(task, environment)
        return super().setup_user(agent_data, environment, task, self._seeds(seed_generator))

    def _seeds(self, seed_generator: SeedGenerator) -> SeedGenerator:
        if not self.prepared.past:
            return seed_generator
        first = self.prepared.first_trial
        return seed_generator.for_repetition(first + _repetition(seed_generator))

    def setup_agents(
        self,
        agent_data: dict[str, Any],
        environment: Tau2Environment,
        task: Task,
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> tuple[Sequence[AgentAdapter], dict[str, AgentAdapter]]:
        agent, seeds = self.prepared.agent, self._seeds(seed_generator)
        if isinstance(agent, ModelSpec):
            return super().setup_agents(agent_data, environment, task, user, seeds)
        if isinstance(agent, OwnAgent):
            trial = str(task.id), _repetition(seed_generator)
            seed = seeds.derive_seed("agents/own")
            return self._own_agents(agent, environment, task, trial, seed)
        adapter: AgentAdapter
        if isinstance(agent, Person):
            adapter = agent.as_agent(task, environment, self._tool_definitions(environment))
        else:
            seed, rate = seeds.derive_seed("agents/player"), agent.error_rate
            adapter = make_agent(agent.name, task, environment, seed=seed, error_rate=rate)
        return [adapter], {adapter.name: adapter}

    def _system_prompt(self, environment: Tau2Environment, task: Task) -> str:
        agent = self.prepared.agent
        if isinstance(agent, ModelSpec) and agent.prompt is not None:
            return agent.prompt.replace("{policy}", environment.policy)
        return super()._system_prompt(environment, task)

    def run_agents(
        self,
        agents: Sequence[AgentAdapter],
        task: Task,
        environment: Tau2Environment,
        query: str = "",
    ) -> object:
        own = self.prepared.agent
        if not isinstance(own, OwnAgent):
            return super().run_agents(agents, task, environment, query)
        with attribute_errors(own.make):
            answer = super().run_agents(agents, task, environment, query)
        # A function without a return statement is a common slip, and its None must not be taken for
        # words.
        if answer is None:
            raise no_answer_error(agents[0].name)
        return answer

    def execution_loop(
        self,
        agents: Sequence[AgentAdapter],
        task: Task,
        environment: Tau2Environment,
        user: User | None,
    ) -> object:
        answer = self._converse_with_own(agents, task, environment, user)
        if self.prepared.options.ask_confidence and len(agents) == 1:
            ask_confidence(agents[0])
        return answer

    def _converse_with_own(
        self,
        agents: Sequence[AgentAdapter],
        task: Task,
        environment: Tau2Environment,
        user: User | None,
    ) -> object:
        own = self.prepared.agent
        if not isinstance(own, OwnAgent):
            return super().execution_loop(agents, task, environment, user)
        watched = self.rehearsal.refusing(environment) if self.rehearsal else nullcontext()
        # An agent that takes part step by step runs inside the loop, outside of run_agents.
        with watched, attribute_errors(own.make, only_its_file=True):
            return super().execution_loop(agents, task, environment, user)

    # Agents of the user's own.

    def _own_agents(
        self,
        own: OwnAgent,
        environment: Tau2Environment,
        task: Task,
        trial: RepetitionKey,
        seed: int | None,
    ) -> AgentGroup:
        """Make the agents; one that cannot be made is at fault as soon as it is asked."""
        model, prices = own.client, replace(self.prices, base_url=own.client.base_url)
        if self.rehearsal:
            prices = FreePrices()
            model = self.rehearsal.begin(trial, task, environment, seed)
        brief = AgentBrief(
            environment.tools,
            environment.policy,
            environment.domain,
            model,
            seed,
            own.args,
            partial(_resolve_agent_model, prices),
        )
        try:
            with attribute_errors(own.make):
                asked, traced = make_agents(own.make, brief, title_of(own.make))
        except AgentError as error:
            failed = _FailedAgentAdapter(error, "agent")
            asked, traced = [failed], {failed.name: failed}
        self._check_unused(asked)
        for agent in [*asked, *traced.values()]:
            agent.use_prices(prices, own.client.id)
        return asked, traced

    def _check_unused(self, agents: Sequence[AgentAdapter]) -> None:
        """Raise for an agent that still has the tools and the memory of another simulation."""
        for agent in agents:
            if agent in self._seen:
                raise HookResultError(
                    f"the agent {agent.name!r} has already been in another simulation; "
                    "make a new one whenever the function is called"
                )
            self._seen.add(agent)


def _resolve_agent_model(
    prices: Prices, model_id: str, *, register_name: str, **options: Any
) -> ModelAdapter:
    """Make a model of an own agent, and count it in the current repetition.

    This is no method: an agent that is handed it must not find the benchmark and its tasks in it.
    """
    model = resolve_model(model_id, **options)
    TaskContext.current().registry.register("models", register_name, model)
    return _with_price(model, prices, model_id, options.get("base_url"))


def _with_price(
    model: ModelAdapter, prices: Prices, model_id: str, base_url: str | None
) -> ModelAdapter:
    if price := prices.at(model_id, base_url):
        model.use_prices(price)
    return model


class _FailedAgentAdapter(AgentAdapter):
    """Stands for an agent that could not be made: a failed set-up would not be its fault."""

    def _run_agent(self, query: str) -> str:
        raise self.agent


class _CountTimeouts(BenchmarkCallback):
    """Counts the simulations that the limit of time ended."""

    number = 0

    def on_task_repeat_end(self, benchmark: Benchmark, report: Report) -> None:
        self.number += RecordedReport(report).termination == TerminationReason.TIMEOUT


def _repetition(seeds: SeedGenerator) -> int:
    return seeds.gather_config().get("rep_index") or 0


@takes(RunOptions)
def run(options: RunOptions) -> RunResult:
    """Run tau2 tasks into a folder, or resume the run that is there.

    ``agent`` may also be a function of an ``AgentBrief``. ``display`` shows the progress for as
    long as the context it returns is open. ``command`` is noted as how the run was started.
    """
    return prepare(options).execute()


@dataclass(frozen=True)
class Tau2Run(PreparedRun):
    """A prepared run that can be executed: it makes the benchmark."""

    def execute(self, only: Sequence[Task] | None = None) -> RunResult:
        """Run the simulations that are missing in the folder, or ``only`` those of some tasks."""
        self.check()
        for words in self.warnings():
            logger.warning(words)
        options = self.options
        agent = self.agent
        # Open for the whole run, as simulations may share one program.
        held = agent.opened() if isinstance(agent, OwnAgent) else nullcontext()
        with held, _rehearsed_by(options.rehearse) as rehearsal:
            benchmark = RunBenchmark(self, rehearsal)
            if options.runs_elsewhere:
                # Before processes are forked, as each of them would look for it by itself.
                for task in [each[0] for each in self.tasks.values() if each]:
                    benchmark.wording(benchmark.release_of_task(task)).to_config()
            # Domain by domain, because each has a task "1".
            result = self.run(
                benchmark,
                self.tasks.values() if only is None else [only],
                benchmark.agent_data,
            )
        notes: list[str] = []
        if benchmark.rehearsal:
            checklist = checklist_of_run(RunFolder.read(result.folder))
            result = replace(result, checklist=checklist)
            notes = [*checklist.lines()] if checklist else []
        if timeouts := benchmark.timeouts.number:
            number = count_of(timeouts, "simulation")
            notes.append(
                f"the limit of {self.timeout:g} s ended {number} without a verdict; --timeout 0 "
                "sets no limit, as tau2-bench does"
            )
        if waiting := result.summary.unjudged:
            notes.append(
                f"still to be judged: {count_of(waiting, 'simulation')}; `maseval score "
                f"{result.folder} --judge-model MODEL` does it"
            )
        return replace(result, notes=[*notes, *result.notes])


prepare = Tau2Run.of


@contextmanager
def _rehearsed_by(player: str | None) -> Iterator["Rehearsal | None"]:
    """Serve the models of a rehearsal; any other run loads neither them nor a server."""
    if not player:
        yield None
        return
    from maseval.benchmark.tau2.app.running.rehearsing import Rehearsal
    from maseval.server import ModelServer

    with ModelServer() as server:
        yield Rehearsal(player, server)


class PlayedTask(NamedTuple):
    """A simulation with a person in it, and what the person saw at last."""

    run: RunResult
    simulation: Simulation
    view: SeatView | None


@takes(PlayOptions)
def play(options: PlayOptions) -> PlayedTask:
    """Let a person play the agent of a task, in this thread.

    ``ask`` is called for each message of the person. If it raises ``KeyboardInterrupt``, the
    simulation is recorded as far as it came. The run is of the tasks in ``task_id``, else of the
    domain's first; the next one that has no verdict in the folder is played.
    """
    person = Person(options.ask)
    chosen = RunOptions.of(
        options,
        num_tasks=None if options.task_id else 1,
        concurrency=1,
        # A person answers in the thread that calls, which has the terminal.
        engine=CallingThreadEngine(),
        human=person,
    )
    prepared = prepare(chosen)
    left = prepared.missing()
    if not left:
        raise ConfigurationError(
            f"{prepared.path} has every simulation asked for; choose other tasks (--task-id) and "
            "another folder (--output)"
        )
    domain, task_id, _ = left[0]
    result = prepared.execute([task for task in prepared.tasks[domain] if str(task.id) == task_id])
    return PlayedTask(result, left[0], person.view)
