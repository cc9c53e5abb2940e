"""The participants of a run that are more than a name: models, own agents and people.

Each turns the options into what the run needs, and describes itself for the run's configuration.
"""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from maseval.app.running.options import ExtraArguments
from maseval.app.running.own_code import qualified_name, source_sha256
from maseval.benchmark.tau2.agent_brief import AgentModel, MakeAgent
from maseval.benchmark.tau2.app.running.options import Human
from maseval.benchmark.tau2.players.human import Seat
from maseval.core.exceptions import ConfigurationError
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
        _check_address(options.get("base_url"))
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
        """Return the agent for the run's configuration: other code is another agent."""
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
    """A person, and the seat in which that person plays."""

    seat: Seat


def _check_address(base_url: object) -> None:
    if base_url is None:
        return
    parts = urlsplit(str(base_url))
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(
            f"base_url is {base_url!r}; give a whole address, like http://localhost:8000/v1"
        )
