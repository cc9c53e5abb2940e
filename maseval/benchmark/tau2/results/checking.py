"""The parts of a results file, checked: what is not in v0.2.0's form is a named error.

Keys that v0.2.0 gives a default may be missing, and keys that it does not know are kept: later
versions add some. Nothing else is forgiven.
"""

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any, TypeGuard, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from maseval.benchmark.tau2.formats.simulation import RawTask, RewardInfo, RunInfo, SimulationForm
from maseval.core.exceptions import ResultFileError

Form = TypeVar("Form")

MOST_SIMULATIONS = 200_000
"""The most that a record may hold or plan, as each is kept in memory; none has a tenth of this."""


class ResultsFormatError(ResultFileError):
    """A results file is not in v0.2.0's form; the message names simulation and field."""


def _form(form: type[Form]) -> TypeAdapter[Form]:
    return TypeAdapter(with_config(ConfigDict(extra="allow"))(form))  # for the forms in it as well


SIMULATION = _form(SimulationForm)
RUN_INFO = _form(RunInfo)
TASK = _form(RawTask)
REWARD_INFO = _form(RewardInfo)


def is_trial(value: object) -> TypeGuard[int]:
    """Tell whether a value can be the number of a trial."""
    return isinstance(value, int) and 0 <= value < MOST_SIMULATIONS


def check_form(form: TypeAdapter[Form], value: object, where: str) -> Form:
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
    return f"{path}: {problem}, found {abbreviate(found)}"


def field_path(location: tuple[str | int, ...], value: object) -> str:
    """Return the path of a fault in ``value``, such as ``messages[3].tool_calls[0].name``."""
    path = ""
    for step, after in zip_longest(location, location[1:]):
        # A message's role is part of the location, though it is not a field.
        if isinstance(value, dict) and step not in value and after is not None:
            continue
        path += f"[{step}]" if isinstance(step, int) else f".{step}"
        try:
            value = value[step]  # type: ignore[index]  # whatever it is, it is only looked at
        except (KeyError, IndexError, TypeError):
            value = None
    return path.lstrip(".") or "the value itself"


def abbreviate(value: object) -> str:
    try:
        shown = repr(value)
    except ValueError:  # a number with more digits than Python prints
        shown = "a very long number"
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
