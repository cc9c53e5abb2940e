"""Gymnasium: environments whose observations and actions are texts."""

from collections.abc import Mapping
from typing import Any

from maseval.interface import extras

extras.require("gymnasium", extra="gymnasium")

import gymnasium  # noqa: E402
from gymnasium.spaces import Space  # noqa: E402


class TextSpace(Space[str]):
    """Every text; there is no way to draw one."""

    def __init__(self) -> None:
        super().__init__(shape=None, dtype=None)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Raise: a text of nobody's is of no use."""
        raise NotImplementedError("a space of all texts cannot be sampled; write an action")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextSpace)


class TextEnv(gymnasium.Env[str, str]):
    """An environment over texts, which is never drawn."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # as the library declares it

    def __init__(self) -> None:
        self.observation_space = TextSpace()
        self.action_space = TextSpace()


def register_environments(entry_points: Mapping[str, str]) -> None:
    """Make environments known to ``gymnasium.make`` by their ids; those known already stay."""
    for name, entry_point in entry_points.items():
        if name not in gymnasium.registry:
            gymnasium.register(id=name, entry_point=entry_point)
