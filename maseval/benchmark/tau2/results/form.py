"""A results file of tau2-bench v0.2.0 as types: what must be there, and what may be.

Keys that v0.2.0 gives a default may be missing, and keys that it does not know are kept: later
versions add some. Nothing else is forgiven.

After tau2-bench v0.2.0, src/tau2/data_model/ (MIT, Sierra Research).
"""

from collections.abc import Mapping
from itertools import zip_longest
from typing import Annotated, Any, Literal, NotRequired, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict  # typing's own is enough for pydantic from 3.12 on

from maseval.core.exceptions import ResultFileError

Side = Literal["assistant", "user"]
Ending = Literal["user_stop", "agent_stop", "max_steps", "too_many_errors"]

_open = with_config(ConfigDict(extra="allow"))


class ResultsFormatError(ResultFileError):
    """A results file is not in v0.2.0's form; the message names simulation and field."""


@_open
class ToolCallForm(TypedDict):
    """A tool to be called."""

    id: NotRequired[str]
    name: str
    arguments: dict[str, Any]
    requestor: NotRequired[Side]


@_open
class SystemForm(TypedDict):
    """What a model is told before anybody speaks."""

    role: Literal["system"]
    content: NotRequired[str | None]
    turn_idx: NotRequired[int | None]
    timestamp: NotRequired[str | None]


@_open
class SpokenForm(TypedDict):
    """A message of the agent or the user."""

    role: Side
    content: NotRequired[str | None]
    tool_calls: NotRequired[list[ToolCallForm] | None]
    turn_idx: NotRequired[int | None]
    timestamp: NotRequired[str | None]
    cost: NotRequired[float | None]
    usage: NotRequired[dict[str, Any] | None]
    raw_data: NotRequired[dict[str, Any] | None]


@_open
class ToolForm(TypedDict):
    """The environment's answer to a call."""

    id: str
    role: Literal["tool"]
    content: NotRequired[str | None]
    requestor: NotRequired[Side]
    error: NotRequired[bool]
    turn_idx: NotRequired[int | None]
    timestamp: NotRequired[str | None]


@_open
class DBCheckForm(TypedDict):
    """Whether the databases ended as they should."""

    db_match: bool
    db_reward: float


@_open
class RewardInfo(TypedDict):
    """A verdict."""

    reward: float
    db_check: NotRequired[DBCheckForm | None]
    env_assertions: NotRequired[list[dict[str, Any]] | None]
    action_checks: NotRequired[list[dict[str, Any]] | None]
    nl_assertions: NotRequired[list[dict[str, Any]] | None]
    communicate_checks: NotRequired[list[dict[str, Any]] | None]
    reward_basis: NotRequired[list[str] | None]
    reward_breakdown: NotRequired[dict[str, float] | None]
    info: NotRequired[dict[str, Any] | None]


@_open
class SimulationForm(TypedDict):
    """One conversation, from its beginning to the verdict."""

    id: str
    task_id: str
    timestamp: NotRequired[str | None]
    start_time: str
    end_time: str
    duration: float
    termination_reason: Ending
    agent_cost: NotRequired[float | None]
    user_cost: NotRequired[float | None]
    reward_info: NotRequired[RewardInfo | None]
    messages: list[Annotated[SystemForm | SpokenForm | ToolForm, Field(discriminator="role")]]
    trial: NotRequired[int | None]
    seed: NotRequired[int | None]


@_open
class SideInfo(TypedDict):
    """Who played the agent."""

    implementation: str
    llm: NotRequired[str | None]
    llm_args: NotRequired[dict[str, Any] | None]


@_open
class UserInfo(SideInfo):
    """Who played the user, and what it was told about playing."""

    global_simulation_guidelines: NotRequired[str | None]


@_open
class EnvironmentInfo(TypedDict):
    """The world that it took place in."""

    domain_name: str
    policy: str
    tool_defs: NotRequired[Any]


@_open
class RunInfo(TypedDict):
    """What all simulations of a file have in common."""

    git_commit: str
    num_trials: int
    max_steps: int
    max_errors: int
    user_info: UserInfo
    agent_info: SideInfo
    environment_info: EnvironmentInfo
    seed: NotRequired[int | None]


@_open
class RawTask(TypedDict):
    """A task, of which scoring checks more when it reads it."""

    id: str
    user_scenario: dict[str, Any]
    description: NotRequired[dict[str, Any] | None]
    ticket: NotRequired[str | None]
    initial_state: NotRequired[dict[str, Any] | None]
    evaluation_criteria: NotRequired[dict[str, Any] | None]


SIMULATION: TypeAdapter[SimulationForm] = TypeAdapter(SimulationForm)
RUN_INFO: TypeAdapter[RunInfo] = TypeAdapter(RunInfo)
TASK: TypeAdapter[RawTask] = TypeAdapter(RawTask)
REWARD_INFO: TypeAdapter[RewardInfo] = TypeAdapter(RewardInfo)

Form = TypeVar("Form")


def checked(form: TypeAdapter[Form], value: object, where: str) -> Form:
    """``value`` in that form; ``where`` says in an error whose fields are meant."""
    try:
        return form.validate_python(value)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False)
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise ResultsFormatError(f"{where}, {_fault(faults[0], value)}{more}") from None


def _fault(fault: Mapping[str, Any], value: object) -> str:
    path, found = field_path(fault["loc"], value), fault["input"]
    match fault["type"]:
        case "missing":
            return f"{path}: missing"
        case "union_tag_not_found":
            return f"{path}.role: missing"
        case "union_tag_invalid":
            path, found = f"{path}.role", found["role"]
            problem = "should be 'system', 'assistant', 'user' or 'tool'"
        case _:
            problem = fault["msg"].removeprefix("Input ")
    return f"{path}: {problem}, found {short(found)}"


def field_path(location: tuple[str | int, ...], value: object) -> str:
    """Where in ``value`` a fault is, such as ``messages[3].tool_calls[0].name``."""
    path = ""
    for step, after in zip_longest(location, location[1:]):
        # A message's role stands in the location as well, though it is no field.
        if isinstance(value, dict) and step not in value and after is not None:
            continue
        path += f"[{step}]" if isinstance(step, int) else f".{step}"
        try:
            value = value[step]  # type: ignore[index]  # whatever it is, it is only looked at
        except (KeyError, IndexError, TypeError):
            value = None
    return path.lstrip(".") or "the value itself"


def short(value: object) -> str:
    """A value as an error shows it."""
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
