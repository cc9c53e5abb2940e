"""RunSetup: the participants and rules that the options of a run ask for.

A participant is a scripted one's name, or a model, an own agent or a person, each of which turns
the options into what the run needs and describes itself for the run's configuration.

Options that contradict each other, an unknown agent, or a model without a name raise
``ConfigurationError`` here, before anything is begun.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from maseval.app.running.options import ExtraArguments, recorded_values
from maseval.app.running.own_code import qualified_name
from maseval.app.running.probe import Probe
from maseval.benchmark.tau2.agent_brief import AgentBrief, AgentModel, MakeAgent
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.benchmark.tau2.app.running.own_agents import (
    check_imports,
    check_signature,
    load_agent,
    uses_chat_model,
)
from maseval.benchmark.tau2.benchmark import Mode
from maseval.benchmark.tau2.data import title_of
from maseval.benchmark.tau2.data_loader import configure_model_ids
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.players.human import Person
from maseval.benchmark.tau2.players.scripted import DEFAULT_ERROR_RATE, PLAYERS
from maseval.benchmark.tau2.texts.original import Wording
from maseval.benchmark.tau2.versions import RuleSet
from maseval.benchmark.tau2.wording import OURS, wording_of
from maseval.core.agent import HUMAN
from maseval.core.exceptions import ConfigurationError
from maseval.core.model import resolve_model
from maseval.core.providers import check_base_url
from maseval.core.reasoning import ReasoningPolicy
from maseval.core.task import Task

# Arguments of the connection to a model; any other is one of generation, such as temperature.
_CONNECTION = frozenset(
    {
        *("api_key", "base_url", "timeout", "max_answer_mb", "device", "threads", "context_size"),
        *("replies", "delay_seconds", "loop", "usage", "reasoning_policy"),
    }
)
_RENAMED = {"api_base": "base_url"}


@dataclass(frozen=True)
class ModelSpec:
    """A model and how to ask it: ``options`` reach it, ``args`` steer what it says.

    ``prompt`` is a system prompt of the user's own, for the reference agent.
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
        asked = {"options": dict(self.options), "args": dict(self.args)}
        return {"model": self.model_id, **asked, **prompt}


@dataclass(frozen=True)
class OwnAgent:
    """An agent of the user's own; ``rehearse`` names the scripted agent that plays its model."""

    make: MakeAgent
    model: ModelSpec | None = None
    args: ExtraArguments = field(default_factory=dict)
    rehearse: str | None = None

    @property
    def name(self) -> str:
        """The file and the name of its function."""
        return qualified_name(self.make)

    @property
    def client(self) -> AgentModel:
        """The model for the agent's own client library."""
        if self.rehearse:
            return AgentModel.placeholder(self.rehearse)
        if self.model is None:
            return AgentModel()
        options = self.model.options
        known = ("base_url", "api_key", "reasoning_policy")
        return AgentModel(self.model.model_id, *(options.get(name) for name in known))

    def to_facts(self) -> dict[str, str]:
        """Return the facts for readers of a report."""
        facts = {"function": self.name}
        if self.rehearse:
            facts["rehearsed with"] = self.rehearse
        elif self.model:
            facts["model"] = self.model.model_id
        return facts

    def to_config(self) -> dict[str, object]:
        """Return the agent for the run's configuration."""
        config: dict[str, object] = {
            "function": self.name,
            "args": dict(self.args),
        }
        if self.model:
            config |= {"model": self.model.model_id, "options": dict(self.model.options)}
        if self.rehearse:
            config["rehearse"] = self.rehearse
        return config


AGENTS = ("llm", *PLAYERS)
USERS = ("llm", "scripted")

# The names of the same things in tau2-bench.
_AGENT_ALIASES = {
    "llm_agent": ("llm", None),
    "llm_agent_solo": ("llm", Mode.SOLO.value),
    "llm_agent_gt": ("llm", Mode.ORACLE_PLAN.value),
}
_USER_ALIASES = {"user_simulator": "llm", "dummy_user": None}

# The rules look at the clock between steps; this is the least time for the last one.
_LAST_STEP = 60.0


@dataclass(frozen=True)
class RunSetup:
    """The participants of a run, and its rules.

    The agent is a model with the reference agent around it, a scripted agent's name, somebody's
    own, or a person.
    """

    options: RunOptions
    agent: ModelSpec | OwnAgent | Person | str
    user: ModelSpec | Person | str | None
    judge: ModelSpec | None
    error_rate: float
    mode: Mode
    wording: Wording

    @classmethod
    def of(cls, options: RunOptions) -> "RunSetup":
        """Read the options; raises ``ConfigurationError`` for those that cannot work."""
        kind, mode = _kind_and_mode(options)
        _check_rehearsal(kind, options.rehearse)
        _check_prompt(kind, mode, options.agent_prompt)
        judge = options.judge_model
        setup = cls(
            options,
            agent=_agent(kind, options),
            user=_user(kind, mode, options),
            judge=ModelSpec.of(judge, None, options.base_url) if judge else None,
            error_rate=_error_rate(kind, options.agent_args),
            mode=Mode(mode),
            wording=OURS,
        )
        if options.texts is None and not setup.asks_models:
            return setup
        return replace(setup, wording=wording_of(options.texts, options.data_version))

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
    def rules(self) -> RuleSet:
        """The rules of the release."""
        return release_named(self.options.data_version).rules

    @property
    def timeout(self) -> float | None:
        """The seconds after which the rules end a conversation; None if they do not."""
        known = TerminationReason.TIMEOUT in self.rules.loop.endings
        return self.options.timeout if known else None

    @property
    def deadline(self) -> float | None:
        """The seconds after which a conversation that is not over is given up."""
        limit = self.options.timeout
        if limit is None or self.options.patience is not None:
            return self.options.patience
        return limit if self.timeout is None else limit + max(limit, _LAST_STEP)

    def assign_models(self, tasks: list[Task]) -> None:
        """Note in the tasks which models play the user and judge."""
        user, judge = self.user, self.judge
        configure_model_ids(
            tasks,
            user_model_id=user.model_id if isinstance(user, ModelSpec) else None,
            evaluator_model_id=judge.model_id if judge else None,
        )
        if isinstance(user, ModelSpec):
            for task in tasks:
                task.user_data["llm_args"] = user.llm_args

    def check_models(self) -> None:
        """Raise if a model is unknown or lacks its key, or an own agent cannot be made."""
        for model in self.models.values():
            resolve_model(model.model_id, **model.options)
        agent = self.agent
        if not isinstance(agent, OwnAgent):
            return
        check_imports(agent.make)
        asks = uses_chat_model(agent.make)
        if agent.client.reasoning_policy is not None and not asks:
            raise ConfigurationError(
                f"reasoning is {agent.client.reasoning_policy!r}, but {agent.name} asks its model "
                "through a library of its own; leave it out, and set it there"
            )
        if asks and agent.client.id is not None:
            AgentBrief({}, "", "", agent.client).chat_model()  # raises if its library is missing

    def check_mode(self, tasks: Mapping[str, Sequence[Task]]) -> None:
        """Raise if the tasks of a domain cannot be run here, or not in this mode."""
        for domain in tasks:
            domain_named(domain).require_ready()
        if self.mode is not Mode.SOLO:
            return
        for domain, each in tasks.items():
            lacking = [task.id for task in each if not task.metadata.get("ticket")]
            needs_ticket = isinstance(self.agent, ModelSpec)
            if domain_named(domain).solo_refusal or (lacking and needs_ticket):
                raise ConfigurationError(
                    f"mode is 'solo', but the tasks of {domain} cannot be done without a user; "
                    "choose telecom, whose tasks have a ticket for that, or mode 'normal'"
                )

    @property
    def probes(self) -> list[Probe]:
        """The requests with which each model is tried before the run."""
        own = self.own_model
        found = [] if own is None else [Probe(own.model_id, own.options, {}, foreign=True)]
        for role, each in self.models.items():
            args, tools = each.args or {"temperature": 0.0}, role == "agent_model"
            found.append(Probe(each.model_id, each.options, args, tools))
        return found

    @property
    def own_model(self) -> ModelSpec | None:
        """The model of an own agent; None in a rehearsal, which replaces it."""
        agent = self.agent
        return agent.model if isinstance(agent, OwnAgent) and not agent.rehearse else None

    def to_config(self) -> dict[str, object]:
        """Return everything that the results depend on, apart from tasks and data."""
        scripted: dict[str, object] = {"player": self.agent}
        if self.agent == "noisy":
            scripted["error_rate"] = self.error_rate
        return {
            "benchmark": "tau2",
            "rules": f"tau2-bench {title_of(release_named(self.options.data_version).name)}",
            "agent": scripted if isinstance(self.agent, str) else self.agent.to_config(),
            "user": self.user
            if self.user is None or isinstance(self.user, str)
            else self.user.to_config(),
            "judge": self.judge.to_config() if self.judge else None,
            "mode": self.mode.value,
            **({"texts": self.wording.to_config()} if self.asks_models else {}),
            **({"max_errors": self.options.max_errors} if self.rules.loop.counts_errors else {}),
            **recorded_values(self.options),
        }


def _kind_and_mode(options: RunOptions) -> tuple[str, str]:
    """Return the kind of agent (``llm``, ``own``, a person or a scripted one) and the mode."""
    agent = options.agent
    if options.human is not None and options.human.side == "assistant":
        kind, implied = HUMAN, None
    elif not isinstance(agent, str) or ":" in agent:
        kind, implied = "own", None
    else:
        kind, implied = _AGENT_ALIASES.get(agent, (agent, None))
        if kind not in AGENTS:
            raise ConfigurationError(
                f"agent is {agent!r}; choose one of: {', '.join(AGENTS)}, "
                "or name one of your own, like my_agent.py:function"
            )
    mode = implied or options.mode
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


def _check_rehearsal(kind: str, rehearse: str | None) -> None:
    if rehearse is None:
        return
    _check_one_of("rehearse", rehearse, tuple(PLAYERS))
    if kind != "own":
        raise ConfigurationError(
            f"rehearse is {rehearse!r}, which gives an agent of your own a scripted model, but "
            f"agent is {kind!r}; name your agent like my_agent.py:function"
        )


def _check_prompt(kind: str, mode: str, prompt: str | None) -> None:
    if prompt is None:
        return
    if kind != "llm":
        raise ConfigurationError(
            f"a prompt is for the reference agent, but agent is {kind!r}; leave the prompt out, or "
            "use the agent llm (--agent llm --agent-model MODEL)"
        )
    if mode != Mode.NORMAL:
        raise ConfigurationError(
            f"mode is {mode!r}, whose prompt holds more than the policy; use a prompt of your "
            "own in mode 'normal' only"
        )


def _agent(kind: str, options: RunOptions) -> ModelSpec | OwnAgent | Person | str:
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
        return kind
    make = load_agent(options.agent) if isinstance(options.agent, str) else options.agent
    check_signature(make)
    model = ModelSpec.of(options.agent_model or "", args, options.base_url)
    return OwnAgent(make, model if options.agent_model else None, model.args, options.rehearse)


def _user(agent: str, mode: str, options: RunOptions) -> ModelSpec | Person | str | None:
    if mode == Mode.SOLO:
        return None
    if options.human is not None and options.human.side == "user":
        return options.human  # type: ignore[no-any-return]
    user = _USER_ALIASES.get(options.user, options.user) if options.user else None
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


def _error_rate(agent: str, args: ExtraArguments | None) -> float:
    if agent not in PLAYERS:
        return DEFAULT_ERROR_RATE
    known = {"error_rate"} if agent == "noisy" else set()
    unknown = sorted(set(args or ()) - known)
    if unknown:
        takes = f"takes {', '.join(known)}" if known else "takes no arguments"
        raise ConfigurationError(f"agent_args has {unknown[0]!r}, but agent {agent!r} {takes}")
    rate = (args or {}).get("error_rate", DEFAULT_ERROR_RATE)
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
        raise ConfigurationError(f"error_rate is {rate!r}; give a probability from 0 to 1")
    return float(rate)


def _check_one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigurationError(f"{name} is {value!r}; choose one of: {', '.join(choices)}")
