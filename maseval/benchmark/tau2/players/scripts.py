"""What a scripted agent will do: the reference solution, that with mistakes, or nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.players.mistakes import Mistakes
from maseval.benchmark.tau2.world.tasks import Action, TaskSpec
from maseval.core.exceptions import ConfigurationError
from maseval.core.task import Task

GOODBYE = "That is everything I can do for you today."
"""How a scripted agent says that it is done; the scripted user leaves when it hears this."""

DEFAULT_ERROR_RATE = 0.1


@dataclass(frozen=True)
class Script:
    """What a scripted agent will do, and its last words; ``settings`` are how it came about."""

    player: str
    actions: Sequence[Action]
    closing: str
    settings: Mapping[str, Any] = field(default_factory=dict)


def _gold(task: Task, environment: Tau2Environment, seed: int | None, rate: float) -> Script:
    return Script("gold", TaskSpec.of(task).actions, _closing(_to_be_said(task)))


def _noop(task: Task, environment: Tau2Environment, seed: int | None, rate: float) -> Script:
    return Script("noop", (), "Hello, thank you for calling. What can I do for you?")


def _noisy(task: Task, environment: Tau2Environment, seed: int | None, rate: float) -> Script:
    if not 0.0 <= rate <= 1.0:
        raise ConfigurationError(f"error_rate is {rate!r}; give a probability from 0 to 1")
    mistakes = Mistakes(environment, rate, Random(seed))
    actions = mistakes.made_in(TaskSpec.of(task).actions)
    said = [info for info in _to_be_said(task) if not mistakes.forgets()]
    return Script("noisy", actions, _closing(said), {"error_rate": rate, "seed": seed})


def _to_be_said(task: Task) -> Sequence[str]:
    return task.evaluation_data.get("communicate_info") or ()


def _closing(infos: Sequence[str]) -> str:
    return "\n".join([*(f"For your information: {info}" for info in infos), GOODBYE])


PLAYERS: dict[str, Callable[[Task, Tau2Environment, int | None, float], Script]] = {
    "gold": _gold,
    "noop": _noop,
    "noisy": _noisy,
}
