"""PreparedRun: everything that a run of tau2 needs, made of its options.

These are its participants, its tasks, its prices and its folder. A participant is a scripted one,
a model, an own agent or a person, each of which describes itself for the run's configuration.
Options that contradict each other raise ``ConfigurationError`` when it is made. ``check`` raises
what would make every simulation fail, before anything is written or paid for.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Self

from maseval.app.results.recording import ORIGIN
from maseval.app.running.folder_run import FolderRun, path_of
from maseval.app.running.options import ExtraArguments
from maseval.app.running.own_agents import check_signature, load_agent
from maseval.app.running.own_code import qualified_name
from maseval.app.running.prices import ModelPrice, noted_prices
from maseval.app.running.run_options import check_timeout
from maseval.benchmark.tau2.app.results.support import SUPPORT
from maseval.benchmark.tau2.app.running.failed_only import FailedTasks, find_failed
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.benchmark.tau2.app.running.outside import OutsideAgent, is_outside
from maseval.benchmark.tau2.app.running.rewording import apply_rewordings
from maseval.benchmark.tau2.app.running.tasks import (
    TasksByDomain,
    broken_golds,
    code_of_domains,
    domain_name,
    load_chosen,
    own_domain_origins,
)
from maseval.benchmark.tau2.benchmark import Mode
from maseval.benchmark.tau2.data import title_of
from maseval.benchmark.tau2.data_loader import configure_model_ids, data_fingerprint
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.benchmark.tau2.formats.message import Tau2Message
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.perturbation import Perturbation
from maseval.benchmark.tau2.players.human import Person
from maseval.benchmark.tau2.players.scripted import DEFAULT_ERROR_RATE, PLAYERS
from maseval.benchmark.tau2.scoring.judge import OFFICIAL_JUDGE, needs_judge
from maseval.benchmark.tau2.scoring.rule import RULE
from maseval.benchmark.tau2.texts.original import Wording
from maseval.benchmark.tau2.wording import OURS, wording_of
from maseval.core.agent import HUMAN
from maseval.core.agent_brief import AgentModel, MakeAgent
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.model import resolve_model
from maseval.core.outcome import TaskKey
from maseval.core.providers import check_base_url
from maseval.core.reasoning import ReasoningPolicy
from maseval.runs import task_ids
from maseval.runs.config import CODE, PERTURB

# Arguments of the connection to a model; any other is one of generation, such as temperature.
_CONNECTION = frozenset(
    {
        "api_key",
        "base_url",
        "timeout",
        "replies",
        "delay_seconds",
        "loop",
        "usage",
        "reasoning_policy",
    }
)
_RENAMED = {"api_base": "base_url"}


@dataclass(frozen=True)
class ModelSpec:
    """A model and how to ask it: ``options`` reach it, ``args`` steer what it says.

    ``prompt`` is another system prompt for the reference agent.
    """

    model_id: str
    options: ExtraArguments = field(default_factory=dict)
    args: ExtraArguments = field(default_factory=dict)
    prompt: str | None = None

    @classmethod
    def of(
        cls, model_id: str, args: ExtraArguments | None = None, base_url: str | None = None
    ) -> "ModelSpec":
        """Tell the arguments of the connection from those of generation."""
        given = {_RENAMED.get(name, name): value for name, value in (args or {}).items()}
        options = {name: value for name, value in given.items() if name in _CONNECTION}
        if base_url is not None:
            options.setdefault("base_url", base_url)
        check_base_url(options.get("base_url"))
        if "reasoning_policy" in options:
            options["reasoning_policy"] = ReasoningPolicy.of(options["reasoning_policy"]).value
        rest = {name: value for name, value in given.items() if name not in _CONNECTION}
        return cls(model_id, options, rest)

    @property
    def llm_args(self) -> ExtraArguments | None:
        """The arguments of generation; None if there are none, as any replace all defaults."""
        return dict(self.args) or None

    def to_config(self) -> dict[str, object]:
        """Return the model for the run's configuration, which takes out the secrets."""
        prompt = {} if self.prompt is None else {"prompt": self.prompt}
        return {
            "model": self.model_id,
            "options": dict(self.options),
            "args": dict(self.args),
            **prompt,
        }


@dataclass(frozen=True)
class OwnAgent:
    """An agent of the user's own; ``rehearse`` names the scripted agent that plays its model."""

    make: MakeAgent
    model: ModelSpec | None = None
    args: ExtraArguments = field(default_factory=dict)
    rehearse: str | None = None

    @property
    def name(self) -> str:
        """The function, or what an agent in another program is called by."""
        return str(getattr(self.make, "title", None) or qualified_name(self.make))

    def opened(self) -> AbstractContextManager[object]:
        """Return the context in which a run makes its agents: the function itself, if it is one."""
        make: object = self.make
        return make if isinstance(make, AbstractContextManager) else nullcontext()

    @property
    def client(self) -> AgentModel:
        if self.rehearse:
            return AgentModel.placeholder(self.rehearse)
        if self.model is None:
            return AgentModel()
        options = self.model.options
        known = ("base_url", "api_key", "reasoning_policy")
        return AgentModel(self.model.model_id, *(options.get(name) for name in known))

    def to_facts(self) -> dict[str, str]:
        facts = {"function": self.name}
        if self.rehearse:
            facts["rehearsed with"] = self.rehearse
        elif self.model:
            facts["model"] = self.model.model_id
        return facts

    def to_config(self) -> dict[str, object]:
        config: dict[str, object] = {
            "function": self.name,
            "args": dict(self.args),
            **getattr(self.make, "provenance", {}),
        }
        if self.model:
            config |= {"model": self.model.model_id, "options": dict(self.model.options)}
        if self.rehearse:
            config["rehearse"] = self.rehearse
        return config


@dataclass(frozen=True)
class Player:
    """A scripted agent; of those only ``noisy`` makes errors, at a rate."""

    name: str
    error_rate: float = DEFAULT_ERROR_RATE

    def to_config(self) -> dict[str, object]:
        noise = {"error_rate": self.error_rate} if self.name == "noisy" else {}
        return {"player": self.name, **noise}


AGENTS = ("llm", *PLAYERS)
USERS = ("llm", "scripted")
Agent = ModelSpec | OwnAgent | Person | Player
User = ModelSpec | str | None
"""``scripted`` is a user too; with None there is nobody."""


def choose_participants(options: RunOptions) -> tuple[Agent, User, Mode]:
    """Read the options; raise ``ConfigurationError`` for those that cannot work."""
    kind, mode = _kind_and_mode(options)
    if (rehearse := options.rehearse) is not None:
        _check_one_of("rehearse", rehearse, tuple(PLAYERS))
        if kind != "own":
            raise ConfigurationError(
                f"rehearse is {rehearse!r}, which gives an agent of your own a scripted model, but "
                f"agent is {kind!r}; name your agent like my_agent.py:function"
            )
    if options.agent_env and not is_outside(options.agent):
        raise ConfigurationError("agent_env is for programs, such as --agent acp:COMMAND")
    if options.agent_prompt is not None and (kind, mode) != ("llm", Mode.NORMAL):
        raise ConfigurationError(
            f"a prompt is for the reference agent in mode 'normal', but agent is {kind!r} and mode "
            f"is {mode!r}; leave the prompt out, or use --agent llm --agent-model MODEL"
        )
    if options.ask_confidence and kind not in ("llm", "own"):
        raise ConfigurationError(
            f"ask_confidence asks a model, but agent is {kind!r}; leave it out, or use --agent llm "
            "or an agent of your own"
        )
    return _agent(kind, options), _user(kind, mode, options), Mode(mode)


def _kind_and_mode(options: RunOptions) -> tuple[str, str]:
    """Return the kind of agent (``llm``, ``own``, a person or a scripted one) and the mode."""
    agent = options.agent
    if options.human is not None:
        kind = HUMAN
    elif not isinstance(agent, str) or ":" in agent:
        kind = "own"
    elif agent in AGENTS:
        kind = agent
    else:
        raise ConfigurationError(
            f"agent is {agent!r}; choose one of: {', '.join(AGENTS)}, "
            "or name one of your own, like my_agent.py:function"
        )
    mode = options.mode
    _check_one_of("mode", mode, tuple(Mode))
    if mode == Mode.ORACLE_PLAN and kind != "llm":
        raise ConfigurationError(
            f"mode is {mode!r}, which shows the reference solution to a model, but agent is "
            f"{agent!r}; use agent 'llm' or mode 'normal'"
        )
    if mode == Mode.SOLO and kind in ("own", HUMAN):
        raise ConfigurationError(
            "mode is 'solo', in which nobody talks to the agent, but an agent of your own is "
            "asked by the user; use mode 'normal'"
        )
    return kind, mode


def _agent(kind: str, options: RunOptions) -> Agent:
    args = options.agent_args
    if options.reasoning is not None:
        if kind not in ("llm", "own") or (kind == "own" and not options.agent_model):
            raise ConfigurationError(
                f"reasoning is {options.reasoning!r}, but agent {kind!r} has no model that "
                "maseval knows of; leave it out, or name its model (--agent-model)"
            )
        args = {**(args or {}), "reasoning_policy": options.reasoning}
    if kind == HUMAN:
        return options.human  # type: ignore[no-any-return]
    if kind == "llm":
        model = _model("agent", options.agent_model, args, options.base_url)
        return replace(model, prompt=options.agent_prompt)
    if kind in PLAYERS:
        return Player(kind, _error_rate(kind, args or {}))
    model = ModelSpec.of(options.agent_model or "", args, options.base_url)
    make = _own_function(options, model.args)
    check_signature(make)
    return OwnAgent(make, model if options.agent_model else None, model.args, options.rehearse)


def _own_function(options: RunOptions, args: ExtraArguments) -> MakeAgent:
    agent = options.agent
    if is_outside(agent):
        rehearsed = options.rehearse is not None
        return OutsideAgent(str(agent), args, options.agent_env, rehearsed=rehearsed)
    return load_agent(agent) if isinstance(agent, str) else agent


def _user(agent: str, mode: str, options: RunOptions) -> User:
    if mode == Mode.SOLO:
        return None
    user = options.user
    if user is None:
        needs_nobody = agent in (*PLAYERS, HUMAN) or options.rehearse is not None
        user = "scripted" if needs_nobody and not options.user_model else "llm"
    _check_one_of("user", user, USERS)
    if user == "scripted":
        return user
    return _model("user", options.user_model, options.user_args, options.base_url)


def _model(
    role: str, model_id: str | None, args: ExtraArguments | None, base_url: str | None
) -> ModelSpec:
    if not model_id:
        without = "agent gold, noop or noisy" if role == "agent" else "the scripted user"
        raise ConfigurationError(
            f"{role}_model is not set; name one like openai/gpt-4.1 "
            f"(--{role}-model), or use {without}, which needs no model (--{role})"
        )
    return ModelSpec.of(model_id, args, base_url)


def _error_rate(agent: str, args: ExtraArguments) -> float:
    known = {"error_rate"} if agent == "noisy" else set()
    if unknown := sorted(set(args) - known):
        takes = f"takes {', '.join(known)}" if known else "takes no arguments"
        raise ConfigurationError(f"agent_args has {unknown[0]!r}, but agent {agent!r} {takes}")
    rate = args.get("error_rate", DEFAULT_ERROR_RATE)
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
        raise ConfigurationError(f"error_rate is {rate!r}; give a probability from 0 to 1")
    return float(rate)


def _check_one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigurationError(f"{name} is {value!r}; choose one of: {', '.join(choices)}")


# The rules look at the clock between steps; this is the least time for the last one.
_LAST_STEP = 60.0


@dataclass(frozen=True)
class PreparedRun(FolderRun):
    """The participants, tasks and prices of a run, and the folder it is kept in.

    ``past``, ``first_trial`` and ``origin`` are those of a run that continues a recorded
    conversation: its messages, the trial whose seeds repetition 0 has, and where it is from.
    """

    options: RunOptions  # with each domain by its name
    agent: Agent
    user: User
    judge: ModelSpec | str | None
    mode: Mode
    wording: Wording = OURS
    tasks: TasksByDomain = field(default_factory=dict)
    past: Sequence[Tau2Message] = ()
    first_trial: int = 0
    origin: Mapping[str, object] | None = None
    failed: FailedTasks | None = None

    @classmethod
    def of(cls, options: RunOptions) -> Self:
        """Prepare the run that the options ask for; raises ``ConfigurationError``."""
        for name in ("max_steps", "max_errors"):
            if (limit := getattr(options, name)) < 1:
                raise ConfigurationError(f"{name} is {limit}; give at least 1")
        failed = None
        if options.failed_only is not None:
            options, failed = find_failed(options)
        named = [options.domain] if isinstance(options.domain, str) else options.domain
        domains = [domain_name(each) for each in dict.fromkeys(named)]
        options = replace(options, domain=domains, timeout=options.timeout or None)
        check_timeout(options.timeout)
        agent, user, mode = choose_participants(options)
        judge = options.judge_model
        run = cls(
            options,
            path_of(options, "+".join(domains), title=_title(agent)),
            agent,
            user,
            ModelSpec.of(judge, None, options.base_url) if judge and judge != RULE else judge,
            mode,
        )
        if options.texts is not None or run.asks_models:
            run = replace(run, wording=wording_of(options.texts, options.data_version))
        tasks = load_chosen(options, run.time_limit)
        if failed is not None:
            tasks = {
                domain: [each for each in some if TaskKey(domain, str(each.id)) in failed.tasks]
                for domain, some in tasks.items()
            }
            tasks = {domain: some for domain, some in tasks.items() if some}
            run = replace(run, failed=failed)
        if run.perturbation and (file := run.perturbation.file):
            if not isinstance(user, ModelSpec):
                raise ConfigurationError(
                    "perturb prompt=FILE rewords what a model is told; the "
                    "user is none: use --user llm --user-model MODEL"
                )
            apply_rewordings([task for each in tasks.values() for task in each], file)
        model = user if isinstance(user, ModelSpec) else None
        for each in tasks.values():
            user_id = model.model_id if model else None
            configure_model_ids(each, user_model_id=user_id, evaluator_model_id=judge)
            for task in each if model else ():
                task.user_data["llm_args"] = model and model.llm_args
        return replace(run, tasks=tasks)

    @cached_property
    def perturbation(self) -> Perturbation | None:
        return Perturbation.parse(self.options.perturb) if self.options.perturb else None

    @property
    def asks_models(self) -> bool:
        """True if any model reads texts of ours, be it one of an agent's own."""
        own = isinstance(self.agent, OwnAgent) and not self.agent.rehearse
        return own or bool(self.models)

    @property
    def models(self) -> dict[str, ModelSpec]:
        """The models by the role for which the benchmark asks for them."""
        roles = {"agent_model": self.agent, "user_simulator": self.user, "nl_evaluator": self.judge}
        return {role: model for role, model in roles.items() if isinstance(model, ModelSpec)}

    @property
    def judged_by(self) -> str | None:
        if not any(needs_judge(task) for tasks in self.tasks.values() for task in tasks):
            return None
        if not isinstance(self.judge, ModelSpec):
            return "judge: rule, not the official number" if self.judge else None
        model = self.judge.model_id
        own = model.endswith(OFFICIAL_JUDGE)
        return None if own else f"judge: {model}, in the original {OFFICIAL_JUDGE}"

    @property
    def own_model(self) -> ModelSpec | None:
        """The model of an own agent; None in a rehearsal, which replaces it."""
        agent = self.agent
        return agent.model if isinstance(agent, OwnAgent) and not agent.rehearse else None

    @cached_property
    def model_prices(self) -> dict[str, ModelPrice | None]:
        """The price of each model that takes part; None where it is not known."""
        return {
            each.model_id: self.prices.at(each.model_id, each.options.get("base_url"))
            for each in filter(None, (self.own_model, *self.models.values()))
        }

    @property
    def knows_prices(self) -> bool:
        is_free = self.options.rehearse is not None and not self.model_prices
        return is_free or any(self.model_prices.values())

    @property
    def timeout(self) -> float | None:
        """The seconds after which the rules end a conversation; None if they do not."""
        endings = release_named(self.options.data_version).rules.loop.endings
        return self.options.timeout if TerminationReason.TIMEOUT in endings else None

    @property
    def time_limit(self) -> float | None:
        """The seconds after which a simulation is given up."""
        limit = self.options.timeout
        if limit is None or self.options.patience is not None:
            return self.options.patience
        return limit if self.timeout is None else limit + max(limit, _LAST_STEP)

    @cached_property
    def config(self) -> dict[str, object]:
        options, agent, user = self.options, self.agent, self.user
        own = own_domain_origins(self.tasks)
        tasks = task_ids(task for each in self.tasks.values() for task in each)
        code = code_of_domains(self.tasks, agent.make if isinstance(agent, OwnAgent) else None)
        release = release_named(options.data_version)
        return {
            "tasks": tasks,
            **options.question_config(tasks),
            "data": {
                domain: data_fingerprint(domain, version=options.data_version)
                for domain in self.tasks
            },
            **({"own_domains": own} if own else {}),
            **({CODE: code} if code else {}),
            "benchmark": "tau2",
            "rules": f"tau2-bench {title_of(release.name)}",
            "agent": agent.to_config(),
            "user": user if user is None or isinstance(user, str) else user.to_config(),
            "judge": self.judge.to_config()
            if isinstance(self.judge, ModelSpec)
            else self.judge and {"model": self.judge},
            "mode": self.mode.value,
            **({PERTURB: self.perturbation.to_config()} if self.perturbation else {}),
            **({"asks_confidence": True} if options.ask_confidence else {}),
            **({"texts": self.wording.to_config()} if self.asks_models else {}),
            **({"max_errors": options.max_errors} if release.rules.loop.counts_errors else {}),
            **options.recorded,
            **(noted_prices(self.model_prices) if self.model_prices else {}),
            **({ORIGIN: dict(self.origin)} if self.origin else {}),
            **(self.failed.to_config() if self.failed else {}),
        }

    def problems(self) -> Iterator[MASEvalError]:
        """Yield the errors with which the run would be refused."""
        unpriced = [model for model, price in self.model_prices.items() if price is None]
        for check in (
            self._check_mode,
            self.check_models,
            partial(self.budget.check_watchable, unpriced) if self.budget else None,
        ):
            try:
                if check is not None:
                    check()
            except MASEvalError as error:
                yield error

    def _check_mode(self) -> None:
        """Raise if the tasks of a domain cannot be run here, or not in this mode."""
        for domain in self.tasks:
            domain_named(domain).require_ready()
        for domain, tasks in self.tasks.items() if self.mode is Mode.SOLO else ():
            lacking = [task.id for task in tasks if not task.metadata.get("ticket")]
            needs_ticket = isinstance(self.agent, ModelSpec)
            if domain_named(domain).solo_refusal or (lacking and needs_ticket):
                raise ConfigurationError(
                    f"mode is 'solo', but the tasks of {domain} cannot be done without a user; "
                    "choose telecom, whose tasks have a ticket for that, or mode 'normal'"
                )

    def check_models(self) -> None:
        """Raise if a model is unknown or lacks its key."""
        for model in self.models.values():
            resolve_model(model.model_id, **model.options)

    def warnings(self) -> Iterator[str]:
        """Yield what must be known before the run is paid for."""
        yield from SUPPORT.warnings(self.config)
        yield from broken_golds(self.tasks)


def _title(agent: Agent) -> str:
    """Return the part of a new folder's name that says who takes part."""
    match agent:
        case Person():
            return HUMAN
        case ModelSpec(model_id):
            return model_id
        case OwnAgent() as own:
            rehearsed = f"-rehearsed-{own.rehearse}" if own.rehearse else ""
            return own.name.replace(".py:", "-") + rehearsed
        case Player(name):
            return name
