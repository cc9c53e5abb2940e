"""One task: its query, the data to set it up and to evaluate it, and the rules it is run by."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, NoReturn, Self, TypeGuard
from uuid import uuid4

from maseval.core.exceptions import ConfigurationError, TaskFormatError, TaskFrozenError
from maseval.core.tracing import JsonObject


class TimeoutAction(Enum):
    """The treatment of a repetition that timed out."""

    SKIP = "skip"
    RETRY = "retry"
    EXTEND = "extend"


@dataclass
class TaskProtocol:
    """The rules by which a task is run: time limit, retries, priority and tags."""

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
        """Return the protocol as JSON-friendly data."""
        return {**vars(self), "timeout_action": self.timeout_action.value, "tags": dict(self.tags)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the protocol that ``to_dict`` wrote; what is not given keeps its default."""
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


class FrozenDict(dict[str, object]):
    """A dict that can be read, compared and written as JSON, but not changed."""

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise TaskFrozenError(
            "this data belongs to a frozen task; call task.unfreeze() to change it",
            component="Task",
        )

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __repr__(self) -> str:
        return f"FrozenDict({super().__repr__()})"

    def __reduce__(self) -> tuple[type[Self], tuple[dict[str, object]]]:
        # Copying and unpickling would otherwise fill the new dict item by item.
        return type(self), (dict(self),)


def _with_dicts(kind: Callable[..., object], value: object) -> object:
    """Return a value in which every dict is of another kind."""
    if not isinstance(value, dict):
        return value
    return kind({key: _with_dicts(kind, inner) for key, inner in value.items()})


RepetitionKey = tuple[str, int]
"""A task's id and the number of the repetition."""

_DATA_FIELDS = ("environment_data", "user_data", "evaluation_data", "metadata")
_FIELDS = ("query", "id", *_DATA_FIELDS, "protocol", "cluster", "weight")
# The square of a larger weight, or of one over it, is no number.
_LARGEST_WEIGHT = 1e100
_RECORD_FIELDS = ("question", "prompt", "text", "short_answer")


def is_weight(value: object) -> TypeGuard[int | float]:
    """Return True for a number that a task can count as in a mean."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 1 / _LARGEST_WEIGHT < value < _LARGEST_WEIGHT


@dataclass
class Task:
    """One thing for an agent to do, with the data to set it up and to evaluate it.

    Tasks that are cases of one thing, such as attacks on one user task or questions about one
    document, are not independent: they name the same ``cluster`` of their domain, and intervals and
    tests count clusters. Without one, a task is a cluster of its own, under its id. ``weight`` is
    what it counts in a mean over tasks.
    """

    query: str
    id: str = field(default_factory=lambda: str(uuid4()))
    environment_data: JsonObject = field(default_factory=dict)
    user_data: JsonObject = field(default_factory=dict)
    evaluation_data: JsonObject = field(default_factory=dict)
    metadata: JsonObject = field(default_factory=dict)
    protocol: TaskProtocol = field(default_factory=TaskProtocol)
    cluster: str | None = None
    weight: float = 1.0
    _frozen: bool = field(default=False, init=False, repr=False, compare=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return a task from the names of its fields, or from a question-and-answer record.

        Without ``query``, the text is that of ``question`` or ``prompt``, and ``text`` and
        ``short_answer`` become environment and evaluation data. Other keys are not used; one that
        looks like a misspelt name of a field is refused.
        """
        _refuse_misspelt(data)
        given = {name: data[name] for name in _DATA_FIELDS if data.get(name) is not None}
        query = data.get("query")
        if "query" not in data:
            query = data.get("question") or data.get("prompt")
            if "text" in data:
                given.setdefault("environment_data", {"text_content": data["text"]})
            if "short_answer" in data:
                given.setdefault("evaluation_data", {"short_answer": data["short_answer"]})
        for name, value in given.items():
            given[name] = dict(mapping_of(name, value))
        if data.get("id") is not None:
            given["id"] = str(data["id"])
        protocol = data.get("protocol")
        if protocol is not None and not isinstance(protocol, TaskProtocol):
            protocol = TaskProtocol.from_dict(mapping_of("protocol", protocol))
        if data.get("cluster") is not None:
            given["cluster"] = str(data["cluster"])
        return cls(
            "" if query is None else str(query),
            protocol=protocol or TaskProtocol(),
            weight=data.get("weight", 1.0),
            **given,
        )

    @property
    def is_frozen(self) -> bool:
        """True while the task refuses to be changed."""
        return self._frozen

    def freeze(self) -> Self:
        """Refuse changes of the fields and of the dicts in them; lists stay as they are."""
        if self._frozen:
            raise TaskFrozenError(f"task {self.id!r} is already frozen", component="Task")
        for name in _DATA_FIELDS:
            setattr(self, name, _with_dicts(FrozenDict, getattr(self, name)))
        self._frozen = True
        return self

    def unfreeze(self) -> Self:
        """Allow changes again."""
        if not self._frozen:
            raise TaskFrozenError(f"task {self.id!r} is not frozen", component="Task")
        object.__setattr__(self, "_frozen", False)
        for name in _DATA_FIELDS:
            setattr(self, name, _with_dicts(dict, getattr(self, name)))
        return self

    def __post_init__(self) -> None:
        # ``dataclasses.replace`` on a frozen task hands its data to a task that is not.
        for name in _DATA_FIELDS:
            if isinstance(getattr(self, name), FrozenDict):
                setattr(self, name, _with_dicts(dict, getattr(self, name)))
        if not is_weight(self.weight):
            raise TaskFormatError(
                f"the weight of task {self.id!r} is {self.weight!r}; give a number above 0 and "
                f"below {_LARGEST_WEIGHT:g}"
            )

    def __setattr__(self, name: str, value: object) -> None:
        # Also in the constructor, where the field is not there yet but its default is.
        if self._frozen:
            raise TaskFrozenError(
                f"cannot set {name!r} of frozen task {self.id!r}; call task.unfreeze() first",
                component="Task",
            )
        super().__setattr__(name, value)


def _refuse_misspelt(data: Mapping[str, object]) -> None:
    names = _FIELDS if "query" in data else (*_FIELDS, *_RECORD_FIELDS)
    missing = [name for name in names if name not in data]
    for key in data:
        meant = None if key in names else _meant(str(key), missing)
        if meant is not None:
            raise TaskFormatError(
                f"a task has no {key!r}; did you mean {meant!r}? Data of your own goes into "
                "'metadata'"
            )


def _meant(key: str, names: list[str]) -> str | None:
    """Return the field that a key seems to mean; short ones only in other case, such as ``ID``."""
    plain = key.lower().replace("-", "_").replace(" ", "_")
    if plain in names:
        return plain
    from difflib import get_close_matches

    long = [name for name in names if len(name) > 4]
    return next(iter(get_close_matches(plain, long, n=1, cutoff=0.75)), None)
