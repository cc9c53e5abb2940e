"""An agent of your own: a function that is given a brief and returns the agent.

``maseval tau2 run --agent my_agent.py:agent`` calls it once for every simulation. The brief has
what an agent may know; how its work will be judged is not in it.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from maseval.app.running.options import ExtraArguments
from maseval.app.running.own_code import OwnCode, load_named, named, title_of
from maseval.core.agent import AgentAdapter
from maseval.core.event_loop import settled
from maseval.core.exceptions import AgentError, ConfigurationError, HookResultError
from maseval.core.model import ModelAdapter, resolve_model

# For a model that is not asked, or by a server of our own.
ANYWHERE = "http://127.0.0.1/v1"
NO_KEY = "no-key-needed"


class AgentImportError(ConfigurationError):
    """The function that makes the agent cannot be found or loaded."""


class AgentResultError(AgentError, HookResultError):
    """An own agent, or the function that makes it, returned what cannot be used."""


@dataclass(frozen=True)
class AgentModel:
    """The model that an agent is to use, as a client library takes it.

    Without ``base_url`` and ``api_key`` the library finds them in its own ways.
    """

    id: str | None = None
    base_url: str | None = None
    api_key: str | None = None

    @property
    def name(self) -> str:
        """The name under which the server knows the model: an OpenAI id without its prefix."""
        if self.id is None:
            raise ConfigurationError(
                "the agent asks for its model, but none was named; give --agent-model NAME "
                "(agent_model=...), or name the model in the agent's own code"
            )
        return self.id.removeprefix("openai/")


def _resolve(model_id: str, *, register_name: str, **options: Any) -> ModelAdapter:
    return resolve_model(model_id, **options)


@dataclass(frozen=True)
class AgentBrief:
    """What an agent is given when a simulation begins."""

    tools: Mapping[str, Callable[..., str]]
    """What it may do, as functions; each call is recorded."""
    policy: str
    """What it must obey."""
    domain: str
    model: AgentModel = AgentModel()
    """The model that ``--agent-model`` names."""
    seed: int | None = None
    """This simulation's own."""
    args: ExtraArguments = field(default_factory=dict)
    """What ``--agent-args`` says beside how to reach the model."""
    resolve: Callable[..., ModelAdapter] = field(default=_resolve, repr=False)
    """Makes the adapters of ``chat_model``."""

    def chat_model(self, role: str = "agent_model") -> ModelAdapter:
        """The model as maseval talks to it, for agents without a client library of their own.

        Its calls are retried, throttled and counted like those of every other model of the run.
        Each of several agents gives its ``role``, under which its tokens are counted.
        """
        name = self.model.name  # raises if there is none
        model_id = self.model.id if "/" in str(self.model.id) else f"openai/{name}"
        where = {"base_url": self.model.base_url, "api_key": self.model.api_key}
        given = {key: value for key, value in where.items() if value is not None}
        return self.resolve(model_id, register_name=role, seed=self.seed, **given)


Cast: TypeAlias = tuple[Sequence[AgentAdapter], dict[str, AgentAdapter]]
"""The agents that are asked, and by name all that are traced; as ``setup_agents`` returns them."""

MakeAgent: TypeAlias = Callable[[AgentBrief], AgentAdapter | Cast | Callable[[str], object]]
"""Makes an agent: an adapter, a cast of several, or a function from query to answer."""


class FunctionAgentAdapter(AgentAdapter):
    """An agent that is a function, async or not, from the user's words to its answer."""

    def _run_agent(self, query: str) -> str:
        answer = settled(self.agent(query))
        if isinstance(answer, str):
            return answer
        if answer is None:
            raise no_answer(self.name)
        kind = type(answer).__name__
        raise AgentResultError(
            f"the agent {self.name!r} answered with a {kind}, not with a text; {_WANTED}"
        )


_WANTED = "return what the customer shall read, as a str"


def no_answer(name: str) -> AgentResultError:
    """The error for an agent that answered nothing."""
    return AgentResultError(
        f"the agent {name!r} returned None, as a function without a return statement does; "
        f"{_WANTED}"
    )


def cast_of(make: MakeAgent, brief: AgentBrief) -> Cast:
    """The agents that ``make`` returns for a brief."""
    made = settled(make(brief))
    if isinstance(made, AgentAdapter):
        return [made], {made.name: made}
    if isinstance(made, tuple) and len(made) == 2:
        return made
    if callable(made):
        adapter = FunctionAgentAdapter(made, getattr(made, "__name__", "agent"))
        return [adapter], {adapter.name: adapter}
    raise AgentResultError(
        f"{title_of(make)} returned {made!r}; it must return an AgentAdapter, a function from "
        "query to answer, or ([agents to ask], {name: agent})"
    )


def check_signature(make: MakeAgent) -> None:
    """Raise now what would fail in every simulation: a function that takes no brief."""
    try:
        signature = inspect.signature(make)
    except (TypeError, ValueError):  # of some things written in C nobody knows
        return
    try:
        signature.bind(AgentBrief({}, "", ""))
    except TypeError as error:
        raise AgentImportError(
            f"{named(make)} cannot be called with a brief: {error}; "
            "write it like: def agent(brief): ..."
        ) from None


def load_agent(reference: str) -> MakeAgent:
    """The function that ``file.py:function`` or ``package.module:function`` names."""
    if "://" in reference:
        raise AgentImportError(
            f"agent is {reference!r}; an agent that speaks chat completions is asked like a model: "
            "--agent-model NAME --agent-args base_url=URL"
        )
    make = load_named(reference, _AGENT)
    if not callable(make):
        place, _, name = reference.rpartition(":")
        raise AgentImportError(f"{name} in {place} is {make!r}; it must be a function of a brief")
    found: MakeAgent = make
    return found


_AGENT = OwnCode(
    "agent", "function", "my_agent.py:function or package.module:function", AgentImportError
)
