"""The participants of a run, as its options name them.

A participant is a scripted one's name, or a model, an own agent or a person, each of which
describes itself for the run's configuration. Options that contradict each other, an unknown agent,
or a model without a name raise ``ConfigurationError`` here, before anything is begun.
"""

from dataclasses import dataclass, field, replace

from maseval.app.running.options import ExtraArguments
from maseval.app.running.own_code import qualified_name
from maseval.benchmark.tau2.agent_brief import AgentModel, MakeAgent
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.benchmark.tau2.app.running.own_agents import check_signature, load_agent
from maseval.benchmark.tau2.benchmark import Mode
from maseval.benchmark.tau2.players.human import Person
from maseval.benchmark.tau2.players.scripted import DEFAULT_ERROR_RATE, PLAYERS
from maseval.core.agent import HUMAN
from maseval.core.exceptions import ConfigurationError
from maseval.core.providers import check_base_url
from maseval.core.reasoning import ReasoningPolicy

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
        config: dict[str, object] = {"function": self.name, "args": dict(self.args)}
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
        """Return the agent for the run's configuration."""
        noise = {"error_rate": self.error_rate} if self.name == "noisy" else {}
        return {"player": self.name, **noise}


AGENTS = ("llm", *PLAYERS)
USERS = ("llm", "scripted")
Agent = ModelSpec | OwnAgent | Person | Player
User = ModelSpec | Person | str | None
"""``scripted`` is a user too; with None there is nobody."""

# The names of the same things in tau2-bench.
_AGENT_ALIASES = {
    "llm_agent": ("llm", None),
    "llm_agent_solo": ("llm", Mode.SOLO.value),
    "llm_agent_gt": ("llm", Mode.ORACLE_PLAN.value),
}
_USER_ALIASES = {"user_simulator": "llm", "dummy_user": None}


def choose_participants(options: RunOptions) -> tuple[Agent, User, Mode]:
    """Read the options; raise ``ConfigurationError`` for those that cannot work."""
    kind, mode = _kind_and_mode(options)
    rehearse, prompt = options.rehearse, options.agent_prompt
    if rehearse is not None:
        _check_one_of("rehearse", rehearse, tuple(PLAYERS))
        if kind != "own":
            raise ConfigurationError(
                f"rehearse is {rehearse!r}, which gives an agent of your own a scripted model, but "
                f"agent is {kind!r}; name your agent like my_agent.py:function"
            )
    if prompt is not None and kind != "llm":
        raise ConfigurationError(
            f"a prompt is for the reference agent, but agent is {kind!r}; leave the prompt out, or "
            "use the agent llm (--agent llm --agent-model MODEL)"
        )
    if prompt is not None and mode != Mode.NORMAL:
        raise ConfigurationError(
            f"mode is {mode!r}, whose prompt holds more than the policy; use a prompt of your "
            "own in mode 'normal' only"
        )
    return _agent(kind, options), _user(kind, mode, options), Mode(mode)


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
    make = load_agent(options.agent) if isinstance(options.agent, str) else options.agent
    check_signature(make)
    model = ModelSpec.of(options.agent_model or "", args, options.base_url)
    return OwnAgent(make, model if options.agent_model else None, model.args, options.rehearse)


def _user(agent: str, mode: str, options: RunOptions) -> User:
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
