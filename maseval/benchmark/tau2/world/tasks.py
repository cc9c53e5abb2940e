"""The parts of a task that scoring reads: its initial state and its criteria.

After tau2-bench v0.2.0, src/tau2/data_model/tasks.py (MIT, Sierra Research).
"""

import marshal
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal, Self, TypeVar, cast

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, field_validator

from maseval.benchmark.tau2.formats.message import Requestor, Tau2Message, Tau2ToolCall, from_chat
from maseval.benchmark.tau2.world.state.copying import once
from maseval.benchmark.tau2.world.state.records import canonical_json
from maseval.core.exceptions import TaskFormatError
from maseval.core.task import Task


class RewardType(StrEnum):
    """The checks that a reward can depend on."""

    DB = "DB"
    ENV_ASSERTION = "ENV_ASSERTION"
    NL_ASSERTION = "NL_ASSERTION"
    ACTION = "ACTION"
    COMMUNICATE = "COMMUNICATE"


# Equal contents give equal bytes only if none of them points at another.
_NO_REFERENCES = 2


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, defer_build=True)

    def __copy__(self) -> Self:
        """Copy the fields alone: what was worked out from them is not true of a changed copy."""
        copied = super().__copy__()
        for name in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[name]
        return copied


PartT = TypeVar("PartT", bound=_Part)


class Action(_Part):
    """A call of the reference solution."""

    action_id: str
    requestor: Requestor = "assistant"
    name: str
    arguments: dict[str, Any]
    info: str | None = None
    compare_args: list[str] | None = None

    def matches(self, call: Mapping[str, Any]) -> bool:
        """Return True if a call counts as this action.

        Unless the task names the arguments to compare, those of the *call* are: one that leaves
        arguments out matches. Who called, and whether the call succeeded, does not matter.
        """
        if call["name"] != self.name:
            return False
        made = call["arguments"]
        if self.compare_args is None:
            # Nearly always they are the same, or as many: then it is decided without a copy.
            if made == self.arguments or len(made) >= len(self.arguments):
                return bool(made == self.arguments)
            return dict(made) == _only(made, self.arguments)
        return _only(self.compare_args, made) == _only(self.compare_args, self.arguments)

    def call(self) -> Tau2ToolCall:
        """Return the action as a call, which has the action's id."""
        return {
            "id": self.action_id,
            "name": self.name,
            "arguments": self.arguments,
            "requestor": self.requestor,
        }


def _only(names: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name in names}


class EnvAssertion(_Part):
    """A function of the end state, and the truth value it should have."""

    env_type: Literal["user", "assistant"]
    func_name: str
    arguments: dict[str, Any]
    assert_value: bool = True
    message: str | None = None


class Criteria(_Part):
    """The criteria of the task's author; ``reward_basis`` says which of them count."""

    actions: tuple[Action, ...] | None = None
    env_assertions: tuple[EnvAssertion, ...] | None = None
    communicate_info: list[str] | None = None
    nl_assertions: list[str] | None = None
    # The original's default, for files that leave it out.
    reward_basis: list[RewardType] = [RewardType.DB, RewardType.COMMUNICATE]

    @property
    def look_at_the_world(self) -> bool:
        """True if the end state is compared at all."""
        return self.actions is not None or self.env_assertions is not None

    def can_fail(self, kind: RewardType) -> bool:
        """Return True if there is something that a check of this kind looks for."""
        sought: dict[RewardType, object] = {
            RewardType.DB: self.look_at_the_world,
            RewardType.ENV_ASSERTION: self.env_assertions,
            RewardType.ACTION: self.actions,
            RewardType.COMMUNICATE: self.communicate_info,
            RewardType.NL_ASSERTION: self.nl_assertions,
        }
        return bool(sought[kind])


@once(maxsize=1)
def _form_of_messages() -> TypeAdapter[list[Tau2Message]]:
    return TypeAdapter(list[Tau2Message])


class _BuiltWhenGiven:
    """Puts off what validates messages, which takes longest to build, and most tasks have none."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core.core_schema import no_info_plain_validator_function

        return no_info_plain_validator_function(
            lambda messages: _form_of_messages().validate_python(messages)
        )


class InitialState(_Part):
    """The changes that a task makes, and the messages it has, before it begins.

    A history in OpenAI's form is read as one in v0.2.0's. ``noted_reads`` is not in any file;
    where it is not given, the reference solution says which: see ``noted_reads_of``.
    """

    initialization_data: dict[str, Any] | None = None
    initialization_actions: list[dict[str, Any]] | None = None
    message_history: Annotated[list[Tau2Message], _BuiltWhenGiven()] | None = None
    noted_reads: tuple[str, ...] | None = None

    @cached_property
    def key(self) -> str:
        """A text that is equal for equal contents."""
        return canonical_json(self.model_dump())

    @property
    def history(self) -> Sequence[Tau2Message]:
        return self.message_history or ()

    @field_validator("message_history", mode="before")
    @classmethod
    def _flat(cls, value: object) -> object:
        if not isinstance(value, list):
            return value
        try:
            return from_chat(value)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a list of messages: {error!r}") from error


class TaskSpec(_Part):
    """A task as far as scoring is concerned. Two of equal content have an equal ``gold_key``."""

    initial_state: InitialState | None = None
    evaluation_criteria: Criteria | None = None

    @cached_property
    def start(self) -> InitialState:
        start = self.initial_state or InitialState()
        if start.noted_reads is not None:
            return start
        noted = noted_reads_of(action.model_dump() for action in self.actions)
        return start.model_copy(update={"noted_reads": noted}) if noted else start

    @property
    def actions(self) -> Sequence[Action]:
        criteria = self.evaluation_criteria
        return criteria.actions or () if criteria else ()

    @cached_property
    def content(self) -> str:
        """A text that is equal for equal contents."""
        criteria = self.model_dump(include={"evaluation_criteria"})
        return f"{self.start.key} {canonical_json(criteria)}"

    @cached_property
    def gold_key(self) -> str:
        """All that the reference solution depends on, apart from the domain."""
        calls = [(action.requestor, action.name, action.arguments) for action in self.actions]
        return f"{self.start.key} {canonical_json(calls)}"

    @classmethod
    def of(cls, task: "Task | Mapping[str, Any] | TaskSpec") -> "TaskSpec":
        """Read a task in v0.2.0's form, or one that ``load_tasks`` made.

        Equal ones are read once, and nobody may change what is returned.
        """
        if isinstance(task, TaskSpec):
            return task
        form, where = _task_form(task)
        return _read(TaskSpec, {key: form.get(key) for key in TaskSpec.model_fields}, where)


def _task_form(task: object) -> tuple[Mapping[str, Any], str]:
    """Return the form of a task, and how an error in it begins."""
    if isinstance(task, Task):
        name: object = task.id
        form: Mapping[str, Any] = {
            "initial_state": task.environment_data.get("initial_state"),
            "evaluation_criteria": task.evaluation_data,
        }
    elif isinstance(task, Mapping):
        name, form = task.get("id"), task
    else:
        raise TaskFormatError(f"a task is a Task or a mapping in v0.2.0's form, not {task!r}")
    return form, f"task {name!r}, field "


# A tool of banking_knowledge, whose agents have to find other tools before they can call them.
_CALLS_WHAT_IT_FOUND = "call_discoverable_agent_tool"


def noted_reads_of(actions: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the tools that a reference solution finds by reading and calls.

    A world that keeps a log of such calls keeps it for these even if they only read.
    """
    calls = (a["arguments"] for a in actions if a["name"] == _CALLS_WHAT_IT_FOUND)
    names = (arguments.get("agent_tool_name") for arguments in calls)
    return tuple(sorted({name for name in names if isinstance(name, str)}))


def initial_state(form: Mapping[str, Any], noted_reads: Sequence[str] = ()) -> InitialState:
    """Read the state in which a task begins, in v0.2.0's form."""
    start = _read(InitialState, dict(form), "initial_state.")
    return start.model_copy(update={"noted_reads": tuple(noted_reads)}) if noted_reads else start


def _read(model: type[PartT], form: dict[str, Any], where: str) -> PartT:
    """Read a form by its content, as the form may be changed; ``marshal`` is quicker than JSON."""
    try:
        _complete(model)
        try:
            content = marshal.dumps(form, _NO_REFERENCES)
        except ValueError:  # not from a file: values of any kind
            return model.model_validate(form)
        return cast(PartT, _read_once(model, content))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise TaskFormatError(f"{where}{field}: {first['msg']}") from error


@lru_cache(maxsize=8192)
def _read_once(model: type[_Part], content: bytes) -> Any:
    return model.model_validate(marshal.loads(content))


@once(maxsize=2)
def _complete(model: type[_Part]) -> None:
    """Build what validates a form: pydantic would do it at its first use, in any thread.

    An environment begins with an initial state, and has no use for the rest.
    """
    parts = () if model is InitialState else (Action, EnvAssertion, Criteria, InitialState)
    for form in (*parts, model):
        form.model_rebuild()
