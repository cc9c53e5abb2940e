"""The participants of a repetition: calls a benchmark's setup hooks and checks the results."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from maseval.core.agent import AgentAdapter
from maseval.core.environment import Environment
from maseval.core.evaluator import Evaluator
from maseval.core.exceptions import HookResultError
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.tracing import JsonObject
from maseval.core.user import User

Agents = tuple[Sequence[AgentAdapter], dict[str, AgentAdapter]]
"""The agents to be invoked, in order, and all agents by name."""


class Hooks(Protocol):
    """The methods of a benchmark that its repetitions call, besides the setup hooks.

    Setup hooks may be written with or without ``seed_generator``, so they are looked up by name.
    """

    def execution_loop(
        self, agents: Sequence[AgentAdapter], task: Task, environment: Any, user: Any
    ) -> Any:
        """Run the agents; returns the final answer."""

    def evaluate(
        self,
        evaluators: Sequence[Evaluator],
        agents: dict[str, AgentAdapter],
        final_answer: Any,
        traces: JsonObject,
    ) -> list[JsonObject]:
        """Evaluate what happened."""


@dataclass
class Cast:
    """All participants of a repetition."""

    environment: Environment
    user: User | None
    agents: Sequence[AgentAdapter]
    agents_by_name: dict[str, AgentAdapter]
    evaluators: Sequence[Evaluator]


def set_up(benchmark: Hooks, agent_data: JsonObject, task: Task, seeds: SeedGenerator) -> Cast:
    """Set up the environment, the user, the agents and the evaluators, in that order."""
    environment = _environment(benchmark, agent_data, task, seeds)
    user = _call(benchmark, "setup_user", seeds, agent_data, environment, task)
    _check_user(user)
    made = _call(benchmark, "setup_agents", seeds, agent_data, environment, task, user)
    agents, by_name = _checked_agents(made)
    evaluators = _evaluators(benchmark, environment, task, agents, user, seeds)
    return Cast(environment, user, agents, by_name, evaluators)


def set_up_evaluators(
    benchmark: Hooks, agent_data: JsonObject, task: Task, seeds: SeedGenerator
) -> Sequence[Evaluator]:
    """Set up only the evaluators, with a fresh environment, for a finished repetition."""
    environment = _environment(benchmark, agent_data, task, seeds)
    return _evaluators(benchmark, environment, task, [], None, seeds)


def _environment(
    benchmark: Hooks, agent_data: JsonObject, task: Task, seeds: SeedGenerator
) -> Environment:
    made = _call(benchmark, "setup_environment", seeds, agent_data, task)
    if made is None:
        raise HookResultError("setup_environment() returned None; it must return an Environment")
    environment: Environment = made
    return environment


def _check_user(user: object) -> None:
    methods = ("get_initial_query", "respond", "is_done")
    if user is not None and not all(hasattr(user, method) for method in methods):
        raise HookResultError(
            f"setup_user() returned {user!r}; it must return a User, or None if there is none"
        )


def _checked_agents(made: Any) -> Agents:
    match made:
        case (agents, Mapping() as by_name) if _is_list(agents):
            return agents, dict(by_name)
        case _:
            raise HookResultError(
                f"setup_agents() returned {made!r}; it must return a pair: the list of agents to "
                "invoke, and a dict of all agents by name"
            )


def _evaluators(
    benchmark: Hooks,
    environment: Environment,
    task: Task,
    agents: Sequence[AgentAdapter],
    user: User | None,
    seeds: SeedGenerator,
) -> Sequence[Evaluator]:
    made = _call(benchmark, "setup_evaluators", seeds, environment, task, agents, user)
    if not _is_list(made) or not all(callable(one) for one in made):
        raise HookResultError(
            f"setup_evaluators() returned {made!r}; it must return a list of evaluators"
        )
    evaluators: Sequence[Evaluator] = made
    return evaluators


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _call(benchmark: Hooks, hook: str, seeds: SeedGenerator, *args: object) -> Any:
    function = getattr(benchmark, hook)
    if _takes_seeds(type(benchmark), hook):
        return function(*args, seed_generator=seeds)
    return function(*args)


@cache
def _takes_seeds(benchmark: type, hook: str) -> bool:
    parameters = inspect.signature(getattr(benchmark, hook)).parameters.values()
    return any(p.name == "seed_generator" or p.kind is p.VAR_KEYWORD for p in parameters)
