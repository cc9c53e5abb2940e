"""The participants of a repetition: a benchmark's setup hooks are called and checked here."""

import inspect
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from maseval.core.agent import AgentAdapter
from maseval.core.environment import Environment
from maseval.core.evaluator import Evaluator
from maseval.core.event_loop import settle
from maseval.core.exceptions import HookResultError, MASEvalError
from maseval.core.registry import ComponentRegistry
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.tracing import JsonObject, TraceableMixin
from maseval.core.user import User

if TYPE_CHECKING:  # it stands above the engine that runs it
    from maseval.core.benchmark import Benchmark

Agents = tuple[Sequence[AgentAdapter], dict[str, AgentAdapter]]
"""The agents to be invoked, in order, and all agents by name."""


@dataclass
class Participants:
    """The environment, user, agents and evaluators of a repetition."""

    environment: Environment
    user: User | None
    agents: Sequence[AgentAdapter]
    agents_by_name: dict[str, AgentAdapter]
    evaluators: Sequence[Evaluator]
    reference: "Reference"

    def register(self, registry: ComponentRegistry, seeds: SeedGenerator) -> None:
        """Register all of them, and those of their callbacks that gather traces."""
        participants: list[tuple[str, str, object]] = [
            ("environment", "env", self.environment),
            ("user", "user", self.user),
            *(("agents", name, agent) for name, agent in self.agents_by_name.items()),
        ]
        for category, name, component in participants:
            if isinstance(component, TraceableMixin):
                registry.register(category, name, component)
            for callback in getattr(component, "callbacks", ()):
                registry.include("callbacks", callback)
        registry.register("seeding", "seed_generator", seeds)


class SetupHooks(NamedTuple):
    """The setup hooks of one repetition; each method calls one and checks what it returned."""

    benchmark: "Benchmark"
    agent_data: JsonObject
    task: Task
    seeds: SeedGenerator

    def environment(self) -> Environment:
        environment: Environment | None
        environment = self._call("setup_environment", self.agent_data, self.task)
        if environment is None:
            text = "setup_environment() returned None; it must return an Environment"
            raise HookResultError(text)
        return environment

    def user(self, environment: Environment) -> User | None:
        user: User | None = self._call("setup_user", self.agent_data, environment, self.task)
        methods = ("get_initial_query", "respond", "is_done")
        if user is not None and not all(hasattr(user, method) for method in methods):
            raise HookResultError(
                f"setup_user() returned {user!r}; it must return a User, or None if there is none"
            )
        return user

    def agents(self, environment: Environment, user: User | None) -> Agents:
        given = self.agent_data, environment, self.task, user
        if (own := self.benchmark.own_agent) is not None:
            return own(self.benchmark, self._call("brief", *given), environment, self.task)
        match self._call("setup_agents", *given):
            case (agents, Mapping() as by_name) if _is_list(agents):
                return agents, dict(by_name)
            case other:
                raise HookResultError(
                    f"setup_agents() returned {other!r}; it must return a pair: the list of "
                    "agents to invoke, and a dict of all agents by name"
                )

    def evaluators(
        self, environment: Environment | None, agents: Sequence[AgentAdapter], user: User | None
    ) -> Sequence[Evaluator]:
        evaluators: Sequence[Evaluator]
        evaluators = self._call("setup_evaluators", environment, self.task, agents, user)
        if not _is_list(evaluators) or not all(callable(evaluator) for evaluator in evaluators):
            raise HookResultError(
                f"setup_evaluators() returned {evaluators!r}; it must return a list of evaluators"
            )
        return evaluators

    def participants(self) -> Participants:
        """Set up the environment, the user, the agents and the evaluators, in that order."""
        environment = self.environment()
        user = self.user(environment)
        before = Reference(self.task)
        agents, by_name = self.agents(environment, user)
        # Code of the agent has run by now, which may have reached the task.
        before.check()
        evaluators = self.evaluators(environment, agents, user)
        return Participants(environment, user, agents, by_name, evaluators, Reference(self.task))

    def evaluators_alone(self) -> Sequence[Evaluator]:
        """Set up evaluators of a finished repetition: no agents, no user, and a fresh environment.

        Benchmarks whose evaluators need no environment get none.
        """
        needed = self.benchmark.evaluators_need_environment
        return self.evaluators(self.environment() if needed else None, [], None)

    def _call(self, hook: str, *args: object) -> Any:
        function = getattr(self.benchmark, hook)
        if _takes_seeds(type(self.benchmark), hook):
            return settle(function(*args, seed_generator=self.seeds))
        return settle(function(*args))


class ReferenceChangedError(MASEvalError):
    """A repetition is no longer evaluated by what it was before its agent worked."""


class Reference:
    """A task's evaluation data at one moment; in this process an agent can reach the object."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._bytes = pickled(task.evaluation_data)

    def check(self) -> None:
        """Raise unless the data are the same; what cannot be pickled is not checked."""
        data = self._task.evaluation_data
        if pickled(data) == self._bytes or self._bytes is None:
            return
        if pickle.loads(self._bytes) != data:  # equal parts may be other objects now
            raise ReferenceChangedError(
                f"the evaluation data of task {str(self._task.id)!r} changed while its agent "
                "worked, so nobody knows whether it passed; find out which code writes to it"
            )


def pickled(data: object) -> bytes | None:
    """Return the data as bytes; None if they consist of what cannot be pickled."""
    try:
        return pickle.dumps(data, pickle.HIGHEST_PROTOCOL)
    except Exception:  # of whatever the data consist of
        return None


def private_task(task: Task, evaluation_data: bytes | None) -> Task:
    """Return the task with evaluation data of its own, which no other repetition can change."""
    if evaluation_data is None:
        return task
    twin = object.__new__(type(task))  # a copy is made for each repetition, and copy.copy is slow
    vars(twin).update(vars(task), evaluation_data=pickle.loads(evaluation_data))
    return twin


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


# A run asks this for every hook of every repetition.
@cache
def _takes_seeds(benchmark: type, hook: str) -> bool:
    parameters = inspect.signature(getattr(benchmark, hook)).parameters.values()
    return any(p.name == "seed_generator" or p.kind is p.VAR_KEYWORD for p in parameters)


ResultT = TypeVar("ResultT")


def hook(method: Callable[..., ResultT]) -> Callable[..., ResultT]:
    """Mark a method that a subclass may write with other types of arguments, or with fewer.

    A setup hook may leave out ``seed_generator``, or name its own types of seeds, environment and
    user; the engine copes with each. So that a type checker does too, the method is returned as it
    is, but as one that takes anything.
    """
    return method
