"""A person as a run is told of them, and as its configuration records them."""

from dataclasses import dataclass
from typing import Literal

from maseval.core.agent import HUMAN


@dataclass(frozen=True)
class Human:
    """A person, who plays one side."""

    side: Literal["assistant", "user"]

    def to_config(self) -> dict[str, object]:
        """For the run's configuration: nothing about the person."""
        return {"player": HUMAN}
