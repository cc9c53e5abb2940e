"""AgentBrief: everything that an agent of your own is given when a simulation begins.

``--agent my_agent.py:agent`` calls the function ``agent`` once for every simulation, with a brief.
The function returns an ``AgentAdapter``, a function from query to answer, or a group of several
agents. The brief has what an agent may know; how its work will be judged is not in it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from maseval.core.agent import AgentAdapter
from maseval.core.event_loop import settle
from maseval.core.exceptions import AgentError, ConfigurationError, HookResultError
from maseval.core.model import ModelAdapter, resolve_model

_WANTED = "return what the customer shall read, as a str"


class AgentResultError(AgentError, HookResultError):
    """An own agent, or the function that makes it, returned something that cannot be used."""


@dataclass(frozen=True)
class AgentModel:
    """The model that an agent is to use, as a client library takes it.

    Without ``base_url`` and ``api_key`` the library finds them in its own ways.
    """

    id: str | None = None
    base_url: str | None = None
    api_key: str | None = None
    reasoning_policy: str | None = None

    @classmethod
    def placeholder(cls, model_id: str | None) -> "AgentModel":
        """Return a model that is never asked, at an address where nobody listens."""
        # Most client libraries cannot be made without both, even if nobody is asked.
        return cls(model_id, "http://127.0.0.1/v1", "no-key-needed")

    @property
    def name(self) -> str:
        """The name under which the server knows the model: an OpenAI id without its prefix."""
        if self.id is None:
            raise ConfigurationError(
                "the agent asks for its model, but none was named; give --agent-model NAME "
                "(agent_model=...), or name the model in the agent's own code"
            )
        return self.id.removeprefix("openai/").removeprefix("openai-responses/")


def _resolve(model_id: str, *, register_name: str, **options: Any) -> ModelAdapter:
    return resolve_model(model_id, **options)


@dataclass(frozen=True)
class AgentBrief:
    """The tools, the policy and the model of an agent in one simulation."""

    tools: Mapping[str, Callable[..., str]]
    """The agent's tools as functions; each call is recorded."""
    policy: str
    """The text that the agent must obey."""
    domain: str
    model: AgentModel = AgentModel()
    """The model that ``--agent-model`` names."""
    seed: int | None = None
    """The seed of this simulation."""
    args: Mapping[str, Any] = field(default_factory=dict)
    """The arguments of ``--agent-args`` that do not say how to reach the model."""
    resolve: Callable[..., ModelAdapter] = field(default=_resolve, repr=False)
    """Makes the adapters of ``chat_model``."""

    def chat_model(self, role: str = "agent_model") -> ModelAdapter:
        """Return the model as maseval talks to it, for agents without a client library.

        Its calls are retried, throttled and counted like those of every other model of the run.
        Each of several agents gives its ``role``, under which its tokens are counted.
        """
        name = self.model.name  # raises if there is none
        # A bare name is one of OpenAI's protocol, as it is everywhere.
        model_id = self.model.id if "/" in str(self.model.id) else f"openai/{name}"
        where = {
            name: getattr(self.model, name) for name in ("base_url", "api_key", "reasoning_policy")
        }
        given = {key: value for key, value in where.items() if value is not None}
        return self.resolve(model_id, register_name=role, seed=self.seed, **given)


AgentGroup: TypeAlias = tuple[Sequence[AgentAdapter], dict[str, AgentAdapter]]
"""The agents that are asked, and by name all that are traced; as ``setup_agents`` returns them."""

MakeAgent: TypeAlias = Callable[[AgentBrief], AgentAdapter | AgentGroup | Callable[[str], object]]
"""Makes an agent: an adapter, a group of several, or a function from query to answer."""


class FunctionAgentAdapter(AgentAdapter):
    """An agent that is a function, async or not, from the user's words to its answer."""

    def _run_agent(self, query: str) -> str:
        answer = settle(self.agent(query))
        if isinstance(answer, str):
            return answer
        if answer is None:
            raise no_answer_error(self.name)
        kind = type(answer).__name__
        raise AgentResultError(
            f"the agent {self.name!r} answered with a {kind}, not with a text; {_WANTED}"
        )


def no_answer_error(name: str) -> AgentResultError:
    """Return the error for an agent that answered nothing."""
    return AgentResultError(
        f"the agent {name!r} returned None, as a function without a return statement does; "
        f"{_WANTED}"
    )


def make_agents(make: MakeAgent, brief: AgentBrief, title: str) -> AgentGroup:
    """Return the agents that ``make`` makes for a brief; ``title`` names it in errors."""
    made = settle(make(brief))
    if isinstance(made, AgentAdapter):
        return [made], {made.name: made}
    if isinstance(made, tuple) and len(made) == 2:
        return made
    if callable(made):
        adapter = FunctionAgentAdapter(made, getattr(made, "__name__", "agent"))
        return [adapter], {adapter.name: adapter}
    raise AgentResultError(
        f"{title} returned {made!r}; it must return an AgentAdapter, a function from "
        "query to answer, or ([agents to ask], {name: agent})"
    )
