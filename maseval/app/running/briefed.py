"""Agents of ``--agent FILE.py:NAME`` in a run of any benchmark, and their rehearsal.

In a rehearsal the benchmark's scripted model takes the place of the agent's: a local server answers
for it, so that whatever library the agent asks its model with is tried as well.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any

from maseval.app.running.own_agents import attribute_errors, check_signature, load_agent
from maseval.app.running.own_code import qualified_name, title_of
from maseval.core.agent_brief import AgentBrief, AgentGroup, AgentModel, MakeAgent, make_agents
from maseval.core.benchmark import Benchmark
from maseval.core.context import TaskContext
from maseval.core.exceptions import ConfigurationError
from maseval.core.model import ModelAdapter
from maseval.core.task import Task
from maseval.server import ModelServer

_OF_MODEL = ("model_id", "base_url", "api_key")


@dataclass(frozen=True)
class BriefedAgent:
    """Makes the agents of a repetition; ``args`` name their model, and are in their brief."""

    make: MakeAgent
    player: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, agent: str | MakeAgent | None, player: str | None) -> "BriefedAgent | None":
        """Return the agent that was named or given, None if there is none."""
        if agent is None:
            if player is not None:
                raise ConfigurationError(
                    f"rehearse is {player!r}, which gives an agent of your own a scripted model; "
                    "name the agent: --agent my_agent.py:agent (agent=...)"
                )
            return None
        make = load_agent(agent) if isinstance(agent, str) else agent
        check_signature(make)
        return cls(make, player)

    def to_config(self) -> dict[str, object]:
        rehearsed = {} if self.player is None else {"rehearsed with": self.player}
        return {"function": qualified_name(self.make), **rehearsed}

    def __call__(
        self, benchmark: Benchmark, brief: AgentBrief, environment: Any, task: Task
    ) -> AgentGroup:
        if self.player is not None:
            played = benchmark.scripted_model(self.player, environment, task)
            model, brief = _serve(played), replace(brief, resolve=partial(_registered, played))
        else:
            model_id, url, key = (self.args.get(name) for name in _OF_MODEL)
            model = AgentModel(model_id, url, key)
        args = {name: value for name, value in self.args.items() if name not in _OF_MODEL}
        with attribute_errors(self.make):
            told = replace(brief, model=model, args={**brief.args, **args})
            return make_agents(self.make, told, title_of(self.make))


def _registered(
    model: ModelAdapter, model_id: str, *, register_name: str, **_: Any
) -> ModelAdapter:
    """Return a scripted model where an agent asks maseval for its own."""
    return TaskContext.current().registry.register("models", register_name, model)


_numbers, _starting = count(1), threading.Lock()
_servers: list[ModelServer] = []


def _serve(model: ModelAdapter) -> AgentModel:
    """Serve a model under a key of its own until the repetition is over."""
    # Repetitions start in several threads, and one server is enough for all of them.
    with _starting:
        if not _servers:
            _servers.append(ModelServer().__enter__())  # for as long as the process lives
    [server] = _servers
    key = server.add(model, f"rehearsal-{next(_numbers)}")
    TaskContext.current().at_end(partial(server.remove, key))
    return AgentModel(key, server.url, key)
