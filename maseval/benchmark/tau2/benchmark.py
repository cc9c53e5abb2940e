"""Tau2Benchmark: tau2 for any agent.

The loop is the original's, except that maseval drives the agent.

After tau2-bench v0.2.0, src/tau2/run.py (MIT, Sierra Research).
"""

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from enum import StrEnum
from functools import cache, cached_property, partial
from typing import Any, Self

from maseval.benchmark.tau2.agent import MessageAgentAdapter
from maseval.benchmark.tau2.conversation.orchestrator import Orchestrator
from maseval.benchmark.tau2.conversation.participants import Participant, TextAgent, takes_part
from maseval.benchmark.tau2.conversation.turns import (
    AgentTurns,
    has_text_hooks,
    user_side,
)
from maseval.benchmark.tau2.data import title_of
from maseval.benchmark.tau2.data_loader import data_fingerprint, load_guidelines
from maseval.benchmark.tau2.domains.releases import AnyVersion, Release, release_named, release_of
from maseval.benchmark.tau2.environment import AFTER_END, Tau2Environment
from maseval.benchmark.tau2.evaluator import Tau2Evaluator
from maseval.benchmark.tau2.formats.message import (
    INITIAL_GREETING,
    assistant_message,
    messages_seen_by,
    to_history,
    user_message,
)
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.overrides import overrides
from maseval.benchmark.tau2.remote_state import DomainInUse, register_domains
from maseval.benchmark.tau2.scoring.rule import RULE
from maseval.benchmark.tau2.texts.original import ModelRole, Wording, scenario_text, template
from maseval.benchmark.tau2.user import Tau2User
from maseval.benchmark.tau2.wording import AnyTexts, OurWording, wording_of, words_on_our_texts
from maseval.benchmark.tau2.world.trajectory import ToolInvocations, called_tools
from maseval.core.agent import AgentAdapter
from maseval.core.benchmark import Benchmark
from maseval.core.callbacks import BenchmarkCallback
from maseval.core.engine.engines import DEFAULT, AnyEngine
from maseval.core.engine.participants import hook
from maseval.core.evaluator import Evaluator
from maseval.core.event_loop import settle
from maseval.core.exceptions import ConfigurationError
from maseval.core.judge import Judge
from maseval.core.messages import MessageHistory
from maseval.core.model import ModelAdapter
from maseval.core.report import Report
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.task.queues import AgentData, TasksToRun
from maseval.core.user import User

logger = logging.getLogger(__name__)

MAX_INVOCATIONS = 200
MAX_ERRORS = 10

_REGISTERED_AS: dict[ModelRole, str] = {
    "agent": "agent_model",
    "user": "user_simulator",
    "judge": "nl_evaluator",
}

_REMEMBERED = ("_wordings", "_load_guidelines")


class Mode(StrEnum):
    """The conditions under which the agent works."""

    NORMAL = "normal"
    SOLO = "solo"
    ORACLE_PLAN = "oracle-plan"


class Tau2Benchmark(Benchmark):
    """tau2 for an agent of your own: implement ``setup_agents``.

    ``environment.tools`` are functions that your agent may call; what it does with them is
    recorded and scored. The user's and the judge's models are named by ``configure_model_ids`` and
    made by ``get_model_adapter``. ``max_invocations`` is the original's ``max_steps``.

    Args:
        mode: ``"solo"`` gives the agent both sides' tools and no user.
        lenient_order_ids: Accept retail order ids without their ``#``; not the original's rule.
        version: Whose rules and tools the tasks are run with, such as ``1.0.1``; without it, those
            of the release that the tasks were loaded from.
        validate_communication: End a simulation when a side says nothing, or speaks and calls
            tools in one message; v0.2.0 does not know this.
        max_errors: End a simulation after so many failed tool calls; v0.2.0 counts none.
        timeout: End a simulation after the step in which so many seconds are over; v0.2.0 does not
            know this. The deadline of a task's protocol is another thing: it gives up a hanging
            step, and is an error of the run.
        short_conversations: Ask the user to finish quickly; not the original's rule.
        texts: The words in which models are asked: ``"original"``, ``"ours"``, or what
            ``load_texts`` returns. By default the original's if they are on this machine; else
            ours, and the log says that the numbers are not comparable.
    """

    MAX_INVOCATIONS = MAX_INVOCATIONS
    orchestrator: Callable[..., Orchestrator] = Orchestrator
    """The class or function that makes the loop of one conversation."""

    def __init__(
        self,
        callbacks: Iterable[BenchmarkCallback] | None = None,
        n_task_repeats: int = 1,
        max_invocations: int = MAX_INVOCATIONS,
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
        mode: str | Mode = Mode.NORMAL,
        lenient_order_ids: bool = False,
        short_conversations: bool = False,
        version: AnyVersion = None,
        validate_communication: bool = False,
        max_errors: int = MAX_ERRORS,
        timeout: float | None = None,
        texts: AnyTexts = None,
    ) -> None:
        super().__init__(
            callbacks,
            n_task_repeats,
            max_invocations,
            num_workers,
            fail_on_setup_error,
            fail_on_task_error,
            fail_on_evaluation_error,
            progress_bar,
            seed,
            seed_generator,
            tasks=tasks,
            agent_data=agent_data,
            stop_when_hopeless=stop_when_hopeless,
        )
        if mode not in list(Mode):
            raise ConfigurationError(f"unknown mode {mode!r}; choose one of: {', '.join(Mode)}")
        self.mode = Mode(mode)
        self.lenient_order_ids = lenient_order_ids
        self.short_conversations = short_conversations
        self.release = None if version is None else release_named(version)
        self.validate_communication = validate_communication
        # Whoever overrides it asks agents by texts, in whole turns.
        self._runs_agents = overrides(type(self), "run_agents")
        if self._runs_agents:
            self._refuse_texts_alone(type(self), "run_agents")
        check_limit("max_errors", max_errors)
        check_limit("timeout", timeout)
        self.max_errors = max_errors
        self.timeout = timeout
        self.texts = texts
        self._said_not_comparable = False
        self._in_use: tuple[DomainInUse, ...] | None = None
        self._remember()

    def _refuse_texts_alone(self, kind: type, method: str) -> None:
        if self.mode is Mode.SOLO:
            raise ConfigurationError(
                f"{kind.__name__} overrides {method}, which answers a user's message; in solo mode "
                "there is no user. Override execution_loop of the benchmark instead"
            )

    def _remember(self) -> None:
        # One and the same wording for the whole run; the files are verified once for all.
        self._wordings = cache(partial(wording_of, self.texts))
        self._load_guidelines = cache(load_guidelines)

    def run(
        self,
        tasks: TasksToRun | None = None,
        agent_data: AgentData | None = None,
        *,
        engine: AnyEngine = DEFAULT,
    ) -> list[Report]:
        """Run every task; see ``Benchmark.run``."""
        self.__dict__.pop("benchmark_level_config", None)  # the tasks' domains are part of it
        return super().run(tasks, agent_data, engine=engine)

    def for_worker(self) -> Self:
        """Return a copy for another process, with the domains that are not maseval's own."""
        twin = super().for_worker()
        # Domains of one's own are registered by code that another process has not run.
        twin._in_use = self._domains_in_use()
        return twin

    def data_checksums(self, domains: Collection[str]) -> dict[str, str]:
        """Return the hashes of the domains' files on this machine, and of the texts models read."""
        used = self._domains_in_use()
        releases = {each.release.name for each in used}
        texts = {f"texts: {key}": value for key, value in self._texts_config(releases).items()}
        return {**texts, **{name: sha for each in used for name, sha in each.checksums().items()}}

    def _domains_in_use(self) -> tuple[DomainInUse, ...]:
        if self._in_use is not None:
            return self._in_use
        named = {
            (str(task.environment_data.get("domain", "retail")), self.release_of_task(task).name)
            for task in self.tasks.to_list()
        }
        releases = {release: release_named(release) for _, release in named}
        return tuple(DomainInUse.of(name, releases[release]) for name, release in sorted(named))

    def __getstate__(self) -> dict[str, object]:
        # What is remembered is found again in another process.
        state = super().__getstate__()
        return {key: part for key, part in state.items() if key not in _REMEMBERED}

    def __setstate__(self, state: dict[str, object]) -> None:
        super().__setstate__(state)
        register_domains(self._in_use or ())
        self._remember()

    def _texts_config(self, releases: Iterable[str]) -> dict[str, str]:
        """Return the name and hash of the texts, joined if tasks of several releases are run."""
        every = [self.wording(release_named(name)).to_config() for name in sorted(releases)]
        keys = dict.fromkeys(key for each in every for key in each)
        return {key: ", ".join(each[key] for each in every if key in each) for key in keys}

    @cached_property
    def benchmark_level_config(self) -> dict[str, object]:
        """The machine, and the rules and data behind every verdict of the run."""
        releases: set[str] = set()
        data: dict[str, dict[str, str]] = {}
        for task in self.tasks.to_list():
            release = self.release_of_task(task)
            domain = release.domain(task.environment_data.get("domain", "retail"))
            releases.add(release.name)
            if domain.name not in data:
                data[domain.name] = data_fingerprint(domain, version=release)
        names = sorted(releases) or [release_named(self.release).name]
        return {
            **super().benchmark_level_config,
            "tau2": {
                "rules": ", ".join(f"tau2-bench {title_of(name)}" for name in names),
                "mode": self.mode.value,
                "max_steps": self.max_invocations,
                "max_errors": self.max_errors,
                "timeout": self.timeout,
                "validate_communication": self.validate_communication,
                "lenient_order_ids": self.lenient_order_ids,
                "short_conversations": self.short_conversations,
                "texts": self._texts_config(names),
                "data": {name: data[name] for name in sorted(data)},
            },
        }

    def release_of_task(self, task: Task) -> Release:
        """Return the release by which a task is run: the benchmark's, or else its own."""
        domain = task.environment_data.get("domain", "retail")
        own = release_of(domain, task.environment_data.get("version"))
        return own if self.release is None else self.release.with_tasks_of(own.tasks)

    @hook
    def setup_environment(
        self, agent_data: dict[str, object], task: Task, seed_generator: SeedGenerator
    ) -> Tau2Environment:
        """Return the world of the task's domain, in the state in which the task begins."""
        environment = Tau2Environment(
            {
                **task.environment_data,
                "version": self.release_of_task(task).name,
                "solo": self.mode is Mode.SOLO,
                "lenient_order_ids": self.lenient_order_ids,
            }
        )
        describe_tools(environment, self.wording(environment.release))
        return environment

    @hook
    def setup_user(
        self,
        agent_data: dict[str, object],
        environment: Tau2Environment,
        task: Task,
        seed_generator: SeedGenerator,
    ) -> User | None:
        """Return the customer, played by the model that ``task.user_data["model_id"]`` names."""
        if self.mode is Mode.SOLO:
            return None
        model_id = self._get_user_model_id(task)
        wording = self.wording(environment.release)
        model = self._model("user", model_id, environment, seed_generator)
        tools = environment.user_tools(task.user_data.get("user_tools"))
        return Tau2User(
            model,
            scenario_text(task.user_data.get("persona"), task.user_data.get("instructions")),
            task.query,
            tools=tools,
            tool_definitions=self._user_definitions(environment, tools),
            llm_args=wording.params(model_id, task.user_data.get("llm_args")),
            # The limit of steps ends the conversation, as in the original: its user has no limit.
            max_turns=None,
            guidelines=self._guidelines(environment, task, bool(tools)),
            skips_blank_messages=environment.release.rules.participants.skips_blank_messages,
            wording=wording,
        )

    def _user_definitions(
        self, environment: Tau2Environment, tools: Collection[str]
    ) -> list[dict[str, Any]]:
        definitions = environment.user_definitions(tools) or ()
        domain = environment.world.domain.folder_name
        described = self.wording(environment.release).tools(definitions, domain, "user")
        offered = environment.offered_definitions(described, "user")
        return [each for each in offered if each["function"]["name"] in tools]

    def _get_user_model_id(self, task: Task) -> str:
        """Return the model that plays the customer; a subclass may choose another."""
        return model_id_of(task.user_data, "user", "configure_model_ids(tasks, user_model_id=...)")

    def wording(self, release: Release) -> Wording:
        """Return the words and the form in which models are asked in a run by a release."""
        return self._wordings(release.version)

    def _model(
        self,
        role: ModelRole,
        model_id: str,
        environment: Tau2Environment,
        seed_generator: SeedGenerator,
    ) -> ModelAdapter:
        """Return the model that plays a role, asked in the form of the run's texts."""
        wording = self.wording(environment.release)
        if self.texts is None and isinstance(wording, OurWording) and not self._said_not_comparable:
            self._said_not_comparable = True
            logger.warning(words_on_our_texts(environment.release.rules.version))
        model = self.get_model_adapter(
            model_id, register_name=_REGISTERED_AS[role], seed=wording.seed(role, seed_generator)
        )
        model.message_form = wording.message_form
        return model

    def _guidelines(self, environment: Tau2Environment, task: Task, with_tools: bool) -> str:
        text = environment.world.domain.guidelines(with_tools)
        if text is None:
            release = environment.release
            # A folder of the user's own has the files of the release that the tasks are from.
            folder = task.environment_data.get("data_dir") if release.tasks_of is None else None
            text = self._load_guidelines(with_tools, folder, version=release.version)
        if self.short_conversations:
            text = f"{text}\n\n{template('short_conversations')}"
        return text

    @hook
    def setup_evaluators(
        self,
        environment: Tau2Environment,
        task: Task,
        agents: Sequence[AgentAdapter],
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> Sequence[Evaluator]:
        """Return the original's checks, with a judge only if the task names one."""
        judge: ModelAdapter | Judge | None = None
        if (judge_id := task.evaluation_data.get("model_id")) == RULE:
            judge = Judge(RULE)
        elif judge_id:
            judge = self._model("judge", judge_id, environment, seed_generator)
        wording = self.wording(environment.release)
        return [Tau2Evaluator(task, environment, nl_model=judge, wording=wording)]

    @hook
    def run_agents(
        self,
        agents: Sequence[AgentAdapter],
        task: Task,
        environment: Tau2Environment,
        query: str = "",
    ) -> object:
        """Run one turn of the agents; several answers are given as a list."""
        return super().run_agents(agents, task, environment, query)

    @hook
    def execution_loop(
        self,
        agents: Sequence[AgentAdapter],
        task: Task,
        environment: Tau2Environment,
        user: User | None,
    ) -> object:
        """Let all take steps until a side ends the conversation; return the agent's last words."""
        # A subclass may seat no user: its agent answers the task's query, and that is all.
        if user is None and self.mode is not Mode.SOLO:
            return self._answer_once(agents, task, environment)
        try:
            self._converse(self._agent_side(agents, task, environment), user, environment)
        finally:
            environment.refuse_agent(AFTER_END)
            self._register_tools(environment)
            _share_trajectory(agents, environment)
        # The greeting is nobody's answer.
        said = (m["content"] for m in environment.trajectory.messages if m["role"] == "assistant")
        return next((text for text in reversed([*said]) if text and text != INITIAL_GREETING), None)

    def _converse(
        self, agent: Participant, user: User | None, environment: Tau2Environment
    ) -> None:
        with user_side(user, environment) as side:
            self.orchestrator(
                environment,
                agent,
                side,
                max_steps=self.max_invocations,
                max_errors=self.max_errors,
                validate_communication=self.validate_communication,
                timeout=self.timeout,
            ).run()

    def _register_tools(self, environment: Tau2Environment) -> None:
        for name in called_tools(environment.trajectory):
            self.register("tools", name, ToolInvocations(environment.trajectory, name))

    def _agent_side(
        self, agents: Sequence[AgentAdapter], task: Task, environment: Tau2Environment
    ) -> Participant:
        run = partial(self.run_agents, agents, task, environment)
        match agents:
            case [MessageAgentAdapter() as one] if self._runs_agents or has_text_hooks(one):
                self._refuse_texts_alone(type(one.agent), "run")
                return AgentTurns(one, run, environment)
            # An agent of anybody's own may take part message by message, if it has the methods for
            # that.
            case [one] if takes_part(one):
                return one
        return TextAgent(
            run,
            lambda messages: load_conversation(agents, messages),
            ", ".join(agent.name for agent in agents),
        )

    def _answer_once(
        self, agents: Sequence[AgentAdapter], task: Task, environment: Tau2Environment
    ) -> object:
        trajectory = environment.trajectory
        trajectory.append(user_message(task.query, cost=0.0))
        environment.step_limit = self.max_invocations
        try:
            answer = settle(self.run_agents(agents, task, environment, task.query))
        finally:
            environment.refuse_agent(AFTER_END)
            self._register_tools(environment)
        names = ", ".join(agent.name for agent in agents)
        trajectory.add(assistant_message(str(answer), cost=0.0), names)
        # Tools that were called after the limit have refused.
        over = trajectory.steps >= self.max_invocations
        reason = TerminationReason.MAX_STEPS if over else TerminationReason.AGENT_STOP
        trajectory.end(reason.value)
        return answer


def load_conversation(agents: Sequence[AgentAdapter], messages: MessageHistory) -> None:
    """Give the one agent a conversation to continue."""
    if len(agents) != 1:
        names = ", ".join(agent.name for agent in agents)
        raise ConfigurationError(
            f"several agents ({names}) cannot be given an earlier conversation; branch with one"
        )
    agents[0].load_messages(messages)


def check_limit(name: str, limit: float | None) -> None:
    """Refuse a limit of a simulation within which nothing could be done."""
    if limit is not None and limit <= 0:
        raise ConfigurationError(f"{name} is {limit:g}; give a number above 0")


def describe_tools(environment: Tau2Environment, wording: Wording) -> None:
    """Let an agent of any framework see its tools in the words of the run."""
    if not isinstance(wording, OurWording):  # which are those that the tools come with
        domain = environment.world.domain.folder_name
        environment.describe_tools(wording.tools(environment.toolkit.definitions(), domain))


def _share_trajectory(agents: Sequence[AgentAdapter], environment: Tau2Environment) -> None:
    """Let an agent that keeps no messages show those that it saw and made in the trajectory."""
    for agent in agents if len(agents) == 1 else ():
        if not takes_part(agent) and not agent.openai_messages():
            seen = messages_seen_by(environment.trajectory.messages, "assistant")
            greeted = environment.release.rules.loop.greeting_is_seen
            start = 0 if greeted or not seen or seen[0]["role"] == "user" else 1
            end = -1 if seen and seen[-1]["role"] == "user" else len(seen)  # it was not answered
            agent.messages = MessageHistory(to_history(seen[start:end]))


def model_id_of(data: dict[str, object], role: str, way: str) -> str:
    model_id = data.get("model_id")
    if not model_id:
        raise ConfigurationError(f"{role} model_id not configured; give it with {way}")
    return str(model_id)
