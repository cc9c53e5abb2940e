"""What a run is asked to do, checked before anything is begun."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from maseval.benchmark.tau2.benchmark import Mode
from maseval.benchmark.tau2.data_loader import DEFAULT_VERSION
from maseval.benchmark.tau2.players.players import DEFAULT_ERROR_RATE, PLAYERS
from maseval.commands.tau2.own_agents import (
    AgentModel,
    MakeAgent,
    check_signature,
    load_agent,
    named,
    source_sha256,
)
from maseval.core.exceptions import ConfigurationError
from maseval.core.model import resolve_model

AGENTS = ("llm", *PLAYERS)
USERS = ("llm", "scripted")

# How tau2-bench calls the same things.
_AGENT_ALIASES = {
    "llm_agent": ("llm", None),
    "llm_agent_solo": ("llm", Mode.SOLO.value),
    "llm_agent_gt": ("llm", Mode.ORACLE_PLAN.value),
}
_USER_ALIASES = {"user_simulator": "llm", "dummy_user": None}

# What the way to a model needs; any other argument is one of generation, such as temperature.
_CONNECTION = frozenset(
    {
        *("api_key", "base_url", "timeout", "device", "threads", "context_size"),
        *("replies", "delay_seconds", "loop", "usage"),
    }
)
_RENAMED = {"api_base": "base_url"}


@dataclass(frozen=True)
class Model:
    """A model and how to ask it: ``options`` reach it, ``args`` steer what it says."""

    model_id: str
    options: Mapping[str, Any] = field(default_factory=dict)
    args: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, model_id: str, args: Mapping[str, Any] | None = None, base_url: str | None = None
    ) -> "Model":
        given = {_RENAMED.get(name, name): value for name, value in (args or {}).items()}
        options = {name: value for name, value in given.items() if name in _CONNECTION}
        if base_url is not None:
            options.setdefault("base_url", base_url)
        _check_address(options.get("base_url"))
        rest = {name: value for name, value in given.items() if name not in _CONNECTION}
        return cls(model_id, options, rest)

    def check(self) -> None:
        """Raise now what would make every simulation fail: an unknown name, a missing key."""
        resolve_model(self.model_id, **self.options)

    def to_config(self) -> dict[str, Any]:
        """For the run's configuration, which takes out the secrets."""
        return {"model": self.model_id, "options": dict(self.options), "args": dict(self.args)}


@dataclass(frozen=True)
class OwnAgent:
    """Somebody's own agent; ``rehearse`` names the player that its model is to play."""

    make: MakeAgent
    model: Model | None = None
    args: Mapping[str, Any] = field(default_factory=dict)
    rehearse: str | None = None

    @property
    def name(self) -> str:
        """Where it comes from."""
        return named(self.make)

    @property
    def client(self) -> AgentModel:
        """The model for the agent's own client library."""
        if self.model is None:
            return AgentModel()
        options = self.model.options
        return AgentModel(self.model.model_id, options.get("base_url"), options.get("api_key"))

    def to_facts(self) -> dict[str, str]:
        """What readers of a report want to know."""
        facts = {"function": self.name}
        if self.rehearse:
            facts["rehearsed with"] = self.rehearse
        elif self.model:
            facts["model"] = self.model.model_id
        return facts

    def to_config(self) -> dict[str, Any]:
        """For the run's configuration: another version of the code is another agent."""
        config: dict[str, Any] = {
            "function": self.name,
            "source_sha256": source_sha256(self.make),
            "args": dict(self.args),
        }
        if self.model:
            config |= {"model": self.model.model_id, "options": dict(self.model.options)}
        if self.rehearse:
            config["rehearse"] = self.rehearse
        return config


@dataclass(frozen=True)
class RunOptions:
    """Who plays, and by which rules.

    The agent is a model with the reference agent around it, a player's name or somebody's own.
    """

    agent: Model | OwnAgent | str
    user: Model | str | None
    judge: Model | None
    error_rate: float
    mode: Mode
    max_steps: int
    seed: int | None
    timeout: float | None

    @property
    def models(self) -> dict[str, Model]:
        """The models by the name under which the benchmark asks for them."""
        roles = {
            "agent_model": self.agent,
            "user_simulator": self.user,
            "nl_evaluator": self.judge,
        }
        return {role: model for role, model in roles.items() if isinstance(model, Model)}

    def to_config(self) -> dict[str, Any]:
        """All that the results depend on, apart from tasks, trials and data."""
        player: dict[str, Any] = {"player": self.agent}
        if self.agent == "noisy":
            player["error_rate"] = self.error_rate
        return {
            "benchmark": "tau2",
            "rules": f"tau2-bench {DEFAULT_VERSION}",
            "agent": player if isinstance(self.agent, str) else self.agent.to_config(),
            "user": self.user.to_config() if isinstance(self.user, Model) else self.user,
            "judge": self.judge.to_config() if self.judge else None,
            "mode": self.mode.value,
            "max_steps": self.max_steps,
            "seed": self.seed,
            "timeout": self.timeout,
        }


def run_options(
    *,
    agent: str | MakeAgent,
    user: str | None,
    agent_model: str | None,
    user_model: str | None,
    judge_model: str | None,
    agent_args: Mapping[str, Any] | None,
    user_args: Mapping[str, Any] | None,
    base_url: str | None,
    rehearse: str | None,
    mode: str,
    max_steps: int,
    seed: int | None,
    timeout: float | None,
) -> RunOptions:
    """The options that these arguments mean; raises for what cannot work."""
    kind, mode = _kind_and_mode(agent, mode)
    _check_rehearsal(kind, rehearse)
    if timeout is not None and timeout <= 0:
        raise ConfigurationError(f"timeout is {timeout:g}; give seconds, or None for no limit")
    if max_steps < 1:
        raise ConfigurationError(f"max_steps is {max_steps}; give at least 1")
    the_agent: Model | OwnAgent | str
    match kind:
        case "llm":
            the_agent = _model("agent", agent_model, agent_args, base_url)
        case "own":
            the_agent = _own_agent(agent, agent_model, agent_args, base_url, rehearse)
        case _:
            the_agent = kind
    return RunOptions(
        agent=the_agent,
        user=_user(user, kind, mode, user_model, user_args, base_url, rehearse),
        judge=Model.of(judge_model, None, base_url) if judge_model else None,
        error_rate=_error_rate(kind, agent_args) if kind in PLAYERS else DEFAULT_ERROR_RATE,
        mode=Mode(mode),
        max_steps=max_steps,
        seed=seed,
        timeout=timeout,
    )


def _kind_and_mode(agent: str | MakeAgent, mode: str) -> tuple[str, str]:
    """Whether the agent is ``llm``, ``own`` or which player, and the mode that goes with it."""
    if not isinstance(agent, str) or ":" in agent:
        kind, implied = "own", None
    else:
        kind, implied = _AGENT_ALIASES.get(agent, (agent, None))
        if kind not in AGENTS:
            raise ConfigurationError(
                f"agent is {agent!r}; choose one of: {', '.join(AGENTS)}, "
                "or name one of your own, like my_agent.py:function"
            )
    mode = implied or mode
    _check_one_of("mode", mode, tuple(Mode))
    if mode == Mode.ORACLE_PLAN and kind != "llm":
        raise ConfigurationError(
            f"mode is {mode!r}, which shows the reference solution to a model, but agent is "
            f"{agent!r}; use agent 'llm' or mode 'normal'"
        )
    if mode == Mode.SOLO and kind == "own":
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


def _own_agent(
    agent: str | MakeAgent,
    model_id: str | None,
    args: Mapping[str, Any] | None,
    base_url: str | None,
    rehearse: str | None,
) -> OwnAgent:
    make = load_agent(agent) if isinstance(agent, str) else agent
    check_signature(make)
    model = Model.of(model_id or "", args, base_url)
    return OwnAgent(make, model if model_id else None, model.args, rehearse)


def _user(
    user: str | None,
    agent: str,
    mode: str,
    model_id: str | None,
    args: Mapping[str, Any] | None,
    base_url: str | None,
    rehearse: str | None,
) -> Model | str | None:
    if mode == Mode.SOLO:
        return None
    user = _USER_ALIASES.get(user, user) if user else None
    if user is None:
        needs_nobody = agent in PLAYERS or rehearse is not None
        user = "scripted" if needs_nobody and not model_id else "llm"
    _check_one_of("user", user, USERS)
    return user if user == "scripted" else _model("user", model_id, args, base_url)


def _model(
    role: str, model_id: str | None, args: Mapping[str, Any] | None, base_url: str | None
) -> Model:
    if not model_id:
        without = "agent gold, noop or noisy" if role == "agent" else "the scripted user"
        raise ConfigurationError(
            f"{role}_model is not set; name one like openai/gpt-4.1 "
            f"(--{role}-model), or take {without}, which needs no model (--{role})"
        )
    return Model.of(model_id, args, base_url)


def _error_rate(agent: str, args: Mapping[str, Any] | None) -> float:
    known = {"error_rate"} if agent == "noisy" else set()
    unknown = sorted(set(args or ()) - known)
    if unknown:
        takes = f"takes {', '.join(known)}" if known else "takes no arguments"
        raise ConfigurationError(f"agent_args has {unknown[0]!r}, but agent {agent!r} {takes}")
    rate = (args or {}).get("error_rate", DEFAULT_ERROR_RATE)
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
        raise ConfigurationError(f"error_rate is {rate!r}; give a probability from 0 to 1")
    return float(rate)


def _check_address(base_url: object) -> None:
    if base_url is None:
        return
    parts = urlsplit(str(base_url))
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(
            f"base_url is {base_url!r}; give a whole address, like http://localhost:8000/v1"
        )


def _check_one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigurationError(f"{name} is {value!r}; choose one of: {', '.join(choices)}")
