"""The participants of a run of tau2: a scripted one, a model, an own agent, or a person.

Each describes itself for the run's configuration. Options that contradict each other raise
``ConfigurationError``.
"""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

from maseval.app.running.options import ExtraArguments
from maseval.app.running.own_agents import check_signature, load_agent
from maseval.app.running.own_code import qualified_name
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.benchmark.tau2.app.running.outside import OutsideAgent, is_outside
from maseval.benchmark.tau2.benchmark import Mode
from maseval.benchmark.tau2.players.human import Person
from maseval.benchmark.tau2.players.scripted import DEFAULT_ERROR_RATE, PLAYERS
from maseval.core.agent import HUMAN
from maseval.core.agent_brief import AgentModel, MakeAgent
from maseval.core.exceptions import ConfigurationError
from maseval.core.providers import check_base_url
from maseval.core.reasoning import ReasoningPolicy

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
            # An address among the model's own arguments counts more than the one for all models.
            options.setdefault("base_url", base_url)
        check_base_url(options.get("base_url"))
        # Checked before the run begins, and not in its first request.
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
    # The arguments are told apart even where no model is named.
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
        # Whoever plays without a model is most often tried where there is none at all.
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
    # A bool is a number in Python, and no rate.
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
        raise ConfigurationError(f"error_rate is {rate!r}; give a probability from 0 to 1")
    return float(rate)


def _check_one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigurationError(f"{name} is {value!r}; choose one of: {', '.join(choices)}")


def title_of_agent(agent: Agent) -> str:
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
