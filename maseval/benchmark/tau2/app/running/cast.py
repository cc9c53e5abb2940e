"""The benchmark of a run: models, scripted agents and the scripted user in any combination."""

import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self
from weakref import WeakSet

from maseval.app.running.prices import AgentPrices, Prices
from maseval.benchmark.tau2.app.results.sources import memory_path
from maseval.benchmark.tau2.app.running.own_agents import (
    NO_KEY,
    AgentBrief,
    AgentModel,
    Cast,
    Rehearsal,
    blaming,
    cast_of,
    no_answer,
)
from maseval.benchmark.tau2.app.running.participants import ModelSpec, OwnAgent, SeatedHuman
from maseval.benchmark.tau2.app.running.setup import RunSetup
from maseval.benchmark.tau2.benchmark import Mode
from maseval.benchmark.tau2.default_benchmark import DefaultAgentTau2Benchmark
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.evaluator import Tau2Evaluator
from maseval.benchmark.tau2.formats.message import tool_calls_of
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.players.agent import make_agent
from maseval.benchmark.tau2.players.human import seat_agent, seat_user
from maseval.benchmark.tau2.players.rehearsal import make_model
from maseval.benchmark.tau2.players.user import make_user
from maseval.benchmark.tau2.scoring.judge import (
    JudgeMemory,
    RememberingJudge,
    RemoteJudgeMemory,
)
from maseval.core.agent import AgentAdapter
from maseval.core.benchmark import Benchmark
from maseval.core.callbacks import BenchmarkCallback
from maseval.core.context import Said
from maseval.core.engine.engines import DEFAULT
from maseval.core.evaluator import Evaluator
from maseval.core.exceptions import AgentError, HookResultError
from maseval.core.model import ModelAdapter
from maseval.core.outcome import termination_of
from maseval.core.report import Report
from maseval.core.scripted import ScriptedModelAdapter
from maseval.core.seeding import SeedGenerator
from maseval.core.shapes import text
from maseval.core.task import Task
from maseval.core.task.task import RepetitionKey
from maseval.core.user import User
from maseval.runs import Simulation
from maseval.server import ModelServer

_starting = threading.Lock()


class WorkerNote(NamedTuple):
    """What a worker has to tell of a simulation: requests of a rehearsal, replies of the judge."""

    requests: int | None
    judged: list[tuple[str, str, str]]


class CastBenchmark(DefaultAgentTau2Benchmark):
    """tau2 with whoever the set-up names on each side."""

    def __init__(
        self,
        setup: RunSetup,
        rehearsals: ModelServer | None = None,
        prices: Prices | None = None,
    ) -> None:
        super().__init__(
            max_invocations=setup.options.max_steps,
            max_errors=setup.options.max_errors,
            timeout=setup.timeout,
            num_workers=setup.options.concurrency,
            progress_bar=False,
            seed=setup.options.seed,
            mode=setup.mode,
            texts=setup.wording,
        )
        self.setup = setup
        self.rehearsals = rehearsals
        self.serves_rehearsals = False
        self.prices = prices or Prices()
        self._judged: JudgeMemory | None = None
        self.rehearsal = Rehearsal(setup.options.rehearse or "")
        self.add_callback(_Cleaning(self.forget))
        self._timed_out = 0
        self._environments: dict[RepetitionKey, Tau2Environment] = {}
        self._rehearsed: dict[RepetitionKey, tuple[str, ScriptedModelAdapter]] = {}
        self._seen: WeakSet[AgentAdapter] = WeakSet()

    @cached_property
    def benchmark_level_config(self) -> dict[str, Any]:
        """With whose agent it is, and whether it was only rehearsed, for every report."""
        config, agent = super().benchmark_level_config, self.setup.agent
        if human := self.setup.options.human:
            config = {**config, "human": {"plays": "agent" if agent is human else "user"}}
        return {**config, "agent": agent.to_facts()} if isinstance(agent, OwnAgent) else config

    @property
    def agent_data(self) -> dict[str, object]:
        """What ``run`` needs to know of the agent."""
        agent = self.setup.agent
        if isinstance(agent, ModelSpec):
            return {"model_id": agent.model_id, "llm_args": agent.llm_args}
        if isinstance(agent, OwnAgent):
            return {"agent": agent.name}
        if isinstance(agent, SeatedHuman):
            return agent.to_config()
        return {"player": agent, "error_rate": self.setup.error_rate}

    def get_model_adapter(self, model_id: str, **kwargs: Any) -> ModelAdapter:
        """A model with the connection that was given for its role."""
        model = self.setup.models.get(kwargs.get("register_name", ""))
        return self._priced_model(model_id, **(model.options if model else {}), **kwargs)

    def _priced_model(self, model_id: str, **options: Any) -> ModelAdapter:
        adapter = super().get_model_adapter(model_id, **options)
        if price := self.prices.at(model_id, options.get("base_url")):
            adapter.use_prices(price)
        return adapter

    def setup_environment(
        self, agent_data: dict[str, Any], task: Task, seed_generator: SeedGenerator
    ) -> Tau2Environment:
        """The task's environment, which is remembered while the simulation runs."""
        environment = super().setup_environment(agent_data, task, seed_generator)
        self._environments[_trial(task, seed_generator)] = environment
        return environment

    def turn(self, simulation: Simulation) -> tuple[str, float] | None:
        """For whom a running simulation waits, and for how many seconds."""
        environment = self._environments.get((simulation.task_id, simulation.trial))
        return None if environment is None else turn_in(environment)

    def last_said(self, task_id: str, repeat_idx: int) -> Said | None:
        """What was said last in a running simulation, by its environment's trajectory."""
        environment = self._environments.get((task_id, repeat_idx))
        known = None if environment is None else last_said_in(environment)
        return known or super().last_said(task_id, repeat_idx)

    def forget(self, report: Report) -> None:
        """Keep of a simulation that is over only what became of its rehearsal."""
        trial = (report["task_id"], report["repeat_idx"])
        self._timed_out += termination_of(report) == TerminationReason.TIMEOUT
        self._environments.pop(trial, None)
        if played := self._forget_rehearsal(trial):
            self.rehearsal.add(report, len(played.requests))

    def for_worker(self) -> Self:
        """A copy for another process: a rehearsal's models are served there, by another server."""
        twin = super().for_worker()
        options = replace(
            self.setup.options, display=None, engine=DEFAULT, ray_address=None, processes=None
        )
        twin.setup = replace(self.setup, options=options)
        twin.rehearsals, twin.serves_rehearsals = None, self.rehearsals is not None
        twin._judged = self._judged and self._judged.for_worker()
        twin._environments, twin._rehearsed, twin._seen = {}, {}, WeakSet()
        return twin

    def worker_note(self, report: Report) -> "WorkerNote | None":
        """How often a rehearsal's model was asked, and what the judge replied."""
        trial = (report["task_id"], report["repeat_idx"])
        self._environments.pop(trial, None)
        played = self._forget_rehearsal(trial)
        judged = (
            self._judged.take_new_replies() if isinstance(self._judged, RemoteJudgeMemory) else []
        )
        if played is None and not judged:
            return None
        return WorkerNote(None if played is None else len(played.requests), judged)

    def take_worker_note(self, report: Report, note: "WorkerNote") -> None:
        """Keep what the judge replied, and count what was rehearsed."""
        if note.requests is not None:
            self.rehearsal.add(report, note.requests)
        if self._judged is not None:
            for each in note.judged:
                self._judged.keep(*each)

    def setup_evaluators(
        self,
        environment: Tau2Environment,
        task: Task,
        agents: Sequence[AgentAdapter],
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> Sequence[Evaluator]:
        """The original's checks, with a judge whose replies are kept with the run."""
        found = super().setup_evaluators(environment, task, agents, user, seed_generator)
        for each in found:
            if isinstance(each, Tau2Evaluator) and each.nl_model and self._judged:
                each.nl_model = RememberingJudge(each.nl_model, self._judged)
        return found

    def keep_judgements_in(self, folder: Path) -> None:
        """Keep what the judge replies with the run."""
        self._judged = JudgeMemory(memory_path(folder))

    def time_notes(self) -> list[str]:
        """How many simulations the time limit ended."""
        if not self._timed_out:
            return []
        ended = f"{self._timed_out} simulations were ended by the limit of {self.timeout:g} s"
        return [f"{ended}, and count as not passed; --timeout 0 sets no limit, as tau2-bench does"]

    def setup_user(
        self,
        agent_data: dict[str, Any],
        environment: Tau2Environment,
        task: Task,
        seed_generator: SeedGenerator,
    ) -> User | None:
        """The model or the script that plays the customer; in solo mode nobody."""
        if self.setup.user == "scripted" and self.mode is not Mode.SOLO:
            return make_user(task, environment)
        if isinstance(self.setup.user, SeatedHuman):
            tools = environment.create_user_tools(task.user_data.get("user_tools"))
            definitions = self._user_definitions(environment, tools)
            return seat_user(self.setup.user.seat, task, environment, tools, definitions)
        seeds = self.seeds(seed_generator)
        return super().setup_user(agent_data, environment, task, seeds)

    def seeds(self, seed_generator: SeedGenerator) -> SeedGenerator:
        """The seeds of a repetition's agent and user."""
        return seed_generator

    def setup_agents(
        self,
        agent_data: dict[str, Any],
        environment: Tau2Environment,
        task: Task,
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> tuple[Sequence[AgentAdapter], dict[str, AgentAdapter]]:
        """The reference agent, somebody's own, a person, or a scripted one."""
        agent = self.setup.agent
        if isinstance(agent, ModelSpec):
            seeds = self.seeds(seed_generator)
            return super().setup_agents(agent_data, environment, task, user, seeds)
        if isinstance(agent, OwnAgent):
            cast = _made(agent, self._brief(agent, environment, task, seed_generator))
            self._check_new(cast[0])
            self._put_prices_on([*cast[0], *cast[1].values()], agent)
            return cast
        if isinstance(agent, SeatedHuman):
            tools = self._tool_definitions(environment)
            person = seat_agent(agent.seat, task, environment, tools)
            return [person], {person.name: person}
        adapter = make_agent(
            agent,
            task,
            environment,
            seed=self.seeds(seed_generator).derive_seed("agents/player"),
            error_rate=self.setup.error_rate,
        )
        return [adapter], {adapter.name: adapter}

    def _system_prompt(self, environment: Tau2Environment, task: Task) -> str:
        agent = self.setup.agent
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
        """One turn of the agents; what an own agent raises is its own fault."""
        own = self.setup.agent
        if not isinstance(own, OwnAgent):
            return super().run_agents(agents, task, environment, query)
        with blaming(own.make):
            answer = super().run_agents(agents, task, environment, query)
        if answer is None:
            raise no_answer(agents[0].name)
        return answer

    def execution_loop(
        self,
        agents: Sequence[AgentAdapter],
        task: Task,
        environment: Tau2Environment,
        user: User | None,
    ) -> object:
        """The conversation; an own agent that takes part step by step is blamed for its code."""
        own = self.setup.agent
        with blaming(own.make, only_its_file=True) if isinstance(own, OwnAgent) else nullcontext():
            return super().execution_loop(agents, task, environment, user)

    def _check_new(self, agents: Sequence[AgentAdapter]) -> None:
        """An agent with the tools and the memory of another simulation would spoil both."""
        for agent in agents:
            if agent in self._seen:
                raise HookResultError(
                    f"the agent {agent.name!r} has already been in another simulation; "
                    "make a new one whenever the function is called"
                )
            self._seen.add(agent)

    def _put_prices_on(self, agents: Sequence[AgentAdapter], own: OwnAgent) -> None:
        if own.rehearse:
            return
        model = own.client
        for agent in agents:
            agent.use_prices(AgentPrices(self.prices, model.base_url), model.id)

    def _brief(
        self,
        agent: OwnAgent,
        environment: Tau2Environment,
        task: Task,
        seed_generator: SeedGenerator,
    ) -> AgentBrief:
        seed = self.seeds(seed_generator).derive_seed("agents/own")
        model = agent.client
        if agent.rehearse and (server := self._server()):
            trial = _trial(task, seed_generator)
            self._forget_rehearsal(trial)
            played = make_model(agent.rehearse, task, environment, seed=seed)
            name = server.add(played, f"{played.model_id}-{trial[1]}")
            self._rehearsed[trial] = name, played
            model = AgentModel(name, server.url, NO_KEY)
        return AgentBrief(
            environment.tools,
            environment.policy,
            environment.domain,
            model,
            seed,
            agent.args,
            self._priced_model,
        )

    def _server(self) -> ModelServer | None:
        """What serves the models of a rehearsal; a worker's runs for as long as its process."""
        with _starting:
            if self.rehearsals is None and self.serves_rehearsals:
                self.rehearsals = ModelServer().__enter__()
        return self.rehearsals

    def _forget_rehearsal(self, trial: RepetitionKey) -> ScriptedModelAdapter | None:
        name, played = self._rehearsed.pop(trial, (None, None))
        if self.rehearsals and name:
            self.rehearsals.remove(name)
        return played


def _made(agent: OwnAgent, brief: AgentBrief) -> Cast:
    """The cast of an own agent; one that cannot be made is at fault as soon as it is asked."""
    try:
        with blaming(agent.make):
            return cast_of(agent.make, brief)
    except AgentError as error:
        unmade = _UnmadeAgentAdapter(error, "agent")
        return [unmade], {unmade.name: unmade}


class _UnmadeAgentAdapter(AgentAdapter):
    """Stands for an agent that could not be made: a failed set-up would not be its fault."""

    def _run_agent(self, query: str) -> str:
        raise self.agent


class _Cleaning(BenchmarkCallback):
    """Lets go of what only a running simulation needs."""

    def __init__(self, forget: Callable[[Report], None]) -> None:
        self.forget = forget

    def on_task_repeat_end(self, benchmark: Benchmark, report: Report) -> None:
        self.forget(report)


def _trial(task: Task, seed_generator: SeedGenerator) -> RepetitionKey:
    return str(task.id), seed_generator.gather_config().get("rep_index") or 0


def turn_in(environment: Tau2Environment) -> tuple[str, float]:
    """Whose turn it is, and for how long, from the last message of the conversation."""
    trajectory = environment.trajectory
    if not trajectory.messages:
        return "agent", _seconds_since(trajectory.start_time)
    last = trajectory.messages[-1]
    seconds = _seconds_since(last["timestamp"] or trajectory.start_time)
    if trajectory.termination_reason is not None:
        return "evaluation", seconds
    if tool_calls_of(last):
        return "tools", seconds
    # A tool's answer goes to the side that asked, a text to the other side.
    if last["role"] == "tool":
        return ("user" if last.get("requestor") == "user" else "agent"), seconds
    return ("agent" if last["role"] == "user" else "user"), seconds


def last_said_in(environment: Tau2Environment) -> Said | None:
    """The last message of the conversation: its text, or the tools that it calls."""
    messages = environment.trajectory.messages
    if not messages:
        return None
    last = messages[-1]
    calls = (f"{call['name']}({text(call['arguments'])})" for call in tool_calls_of(last) or ())
    return Said(last["role"], last.get("content") or ", ".join(calls), len(messages))


def _seconds_since(timestamp: str) -> float:
    return max(0.0, (datetime.now() - datetime.fromisoformat(timestamp)).total_seconds())
