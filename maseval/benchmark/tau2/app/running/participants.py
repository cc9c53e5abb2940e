"""Models, own agents and people as a run is told of them and as its configuration says."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from maseval.app.running.options import ExtraArguments
from maseval.app.running.own_code import qualified_name, source_sha256
from maseval.benchmark.tau2.app.running.options import Human
from maseval.benchmark.tau2.app.running.own_agents import AgentModel, MakeAgent
from maseval.benchmark.tau2.players.human import Seat
from maseval.core.exceptions import ConfigurationError

# What the way to a model needs; any other argument is one of generation, such as temperature.
_CONNECTION = frozenset(
    {
        *("api_key", "base_url", "timeout", "max_answer_mb", "device", "threads", "context_size"),
        *("replies", "delay_seconds", "loop", "usage"),
    }
)
_RENAMED = {"api_base": "base_url"}


@dataclass(frozen=True)
class ModelSpec:
    """A model and how to ask it: ``options`` reach it, ``args`` steer what it says.

    ``prompt`` is a system prompt of the reader's own, for the reference agent.
    """

    model_id: str
    options: ExtraArguments = field(default_factory=dict)
    args: ExtraArguments = field(default_factory=dict)
    prompt: str | None = None

    @classmethod
    def of(
        cls, model_id: str, args: ExtraArguments | None = None, base_url: str | None = None
    ) -> "ModelSpec":
        given = {_RENAMED.get(name, name): value for name, value in (args or {}).items()}
        options = {name: value for name, value in given.items() if name in _CONNECTION}
        if base_url is not None:
            options.setdefault("base_url", base_url)
        _check_address(options.get("base_url"))
        rest = {name: value for name, value in given.items() if name not in _CONNECTION}
        return cls(model_id, options, rest)

    @property
    def llm_args(self) -> ExtraArguments | None:
        """None if nothing was asked for: what is asked for may replace all defaults."""
        return dict(self.args) or None

    def to_config(self) -> dict[str, object]:
        """For the run's configuration, which takes out the secrets."""
        prompt = {} if self.prompt is None else {"prompt": self.prompt}
        asked = {"options": dict(self.options), "args": dict(self.args)}
        return {"model": self.model_id, **asked, **prompt}


@dataclass(frozen=True)
class OwnAgent:
    """Somebody's own agent; ``rehearse`` names the scripted agent that stands in for its model."""

    make: MakeAgent
    model: ModelSpec | None = None
    args: ExtraArguments = field(default_factory=dict)
    rehearse: str | None = None

    @property
    def name(self) -> str:
        """Where it comes from."""
        return qualified_name(self.make)

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

    def to_config(self) -> dict[str, object]:
        """For the run's configuration: another version of the code is another agent."""
        config: dict[str, object] = {
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
class SeatedHuman(Human):
    """A person, and where that person plays."""

    seat: Seat


def _check_address(base_url: object) -> None:
    if base_url is None:
        return
    parts = urlsplit(str(base_url))
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(
            f"base_url is {base_url!r}; give a whole address, like http://localhost:8000/v1"
        )
