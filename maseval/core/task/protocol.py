"""How a task is run: its time limit, its retries and its priority."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, Self

from maseval.core.exceptions import ConfigurationError, TaskFormatError
from maseval.core.tracing import JsonObject


class TimeoutAction(Enum):
    """What to do with a repetition that timed out."""

    SKIP = "skip"
    RETRY = "retry"
    EXTEND = "extend"


@dataclass
class TaskProtocol:
    """How a task is run: time limit, retries, priority and tags."""

    timeout_seconds: float | None = None
    timeout_action: TimeoutAction = TimeoutAction.SKIP
    max_retries: int = 0
    priority: int = 0
    tags: JsonObject = field(default_factory=dict)

    def __post_init__(self) -> None:
        limit = self.timeout_seconds
        if limit is not None and not (isinstance(limit, int | float) and limit >= 0):
            raise ConfigurationError(
                f"timeout_seconds is {limit!r}; give 0 or more seconds, or None for no limit"
            )
        if not (isinstance(self.max_retries, int) and self.max_retries >= 0):
            raise ConfigurationError(f"max_retries is {self.max_retries!r}; give 0 or more")
        if not isinstance(self.priority, int | float):
            raise ConfigurationError(f"priority is {self.priority!r}; give a number")
        if not isinstance(self.timeout_action, TimeoutAction):
            raise ConfigurationError(
                f"timeout_action is {self.timeout_action!r}; give a TimeoutAction"
            )

    def to_dict(self) -> dict[str, object]:
        """The protocol as JSON-friendly data."""
        return {
            **vars(self),
            "timeout_action": self.timeout_action.value,
            "tags": dict(self.tags),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The protocol that ``to_dict`` wrote; what is not given keeps its default."""
        known = [f.name for f in fields(cls)]
        unknown = [key for key in data if key not in known]
        if unknown:
            raise TaskFormatError(
                f"a task protocol has no {', '.join(map(repr, unknown))}; it has {', '.join(known)}"
            )
        action = data.get("timeout_action", TimeoutAction.SKIP)
        try:
            action = TimeoutAction(action)
        except ValueError:
            raise TaskFormatError(
                f"unknown timeout_action {action!r}; "
                f"choose one of: {', '.join(choice.value for choice in TimeoutAction)}"
            ) from None
        tags = dict(mapping_of("tags", data.get("tags", {})))
        return cls(**{**data, "timeout_action": action, "tags": tags})


def mapping_of(name: str, value: object) -> Mapping[str, object]:
    """Check that ``value``, the entry ``name`` of a task description, is a mapping."""
    if not isinstance(value, Mapping):
        raise TaskFormatError(f"{name!r} of a task must be a dict, not {value!r}")
    return value
