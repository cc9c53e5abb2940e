"""Every way a run can fail; each is also the built-in error that it amounts to."""

import errno
from collections.abc import Collection, Iterator, Mapping
from typing import Any, ClassVar


class MASEvalError(Exception):
    """Root of the tree; ``component`` says where it happened, ``details`` what was observed."""

    fatal_for_run: ClassVar[bool] = False
    """True if every other task would fail in the same way."""

    def __init__(
        self,
        message: str,
        *,
        component: str | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.component = component
        self.details: dict[str, object] = dict(details or {})

    def __str__(self) -> str:
        return f"[{self.component}] {self.message}" if self.component else self.message


class AgentError(MASEvalError):
    """The agent did something wrong; ``suggestion`` says what to do instead."""

    def __init__(
        self,
        message: str,
        *,
        component: str | None = None,
        details: Mapping[str, object] | None = None,
        suggestion: str | None = None,
    ) -> None:
        super().__init__(message, component=component, details=details)
        self.suggestion = suggestion

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text}. Suggestion: {self.suggestion}" if self.suggestion else text


class EnvironmentError(MASEvalError):
    """The environment broke, through no fault of the agent (unrelated to Python's ``OSError``)."""


class UserError(MASEvalError):
    """The simulated user broke, through no fault of the agent."""


class UserExhaustedError(MASEvalError):
    """The user was called again after the conversation was over."""


class TaskFrozenError(MASEvalError):
    """A frozen task was written to, or frozen or unfrozen twice."""


class TaskTimeoutError(MASEvalError):
    """A repetition exceeded its time limit; ``partial_traces`` holds its work so far."""

    def __init__(
        self,
        message: str,
        *,
        component: str | None = None,
        details: Mapping[str, object] | None = None,
        elapsed: float = 0.0,
        timeout: float = 0.0,
        partial_traces: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message, component=component, details=details)
        self.elapsed = elapsed
        self.timeout = timeout
        self.partial_traces: dict[str, object] = dict(partial_traces or {})


class ConfigurationError(MASEvalError, ValueError):
    """An argument is out of range."""


class DuplicateTaskError(ConfigurationError):
    """Two tasks share an id."""


class AnchorPointsNotFoundError(MASEvalError, FileNotFoundError):
    """There is no file of anchor points at the path given."""


class TaskIndexError(MASEvalError, IndexError):
    """A task was chosen by a position that the list does not have."""


class TaskFormatError(MASEvalError, TypeError):
    """A task description is malformed."""


class HookResultError(MASEvalError, TypeError):
    """A method called by the engine returned the wrong type."""


class DuplicateComponentError(MASEvalError, ValueError):
    """One component was registered under two names, or one name given to two components."""


class RunInterruptedError(MASEvalError):
    """Somebody who takes part in a run has interrupted it; it can be resumed."""

    fatal_for_run = True


class UnknownModelError(MASEvalError, ValueError):
    """No provider is known for a model id."""

    fatal_for_run = True


class ResultFileError(MASEvalError, ValueError):
    """A result file is damaged."""


class NestedTooDeeplyError(MASEvalError, ValueError):
    """Something from outside is nested more deeply than anything that is read may be."""


class UnreadableAnswerError(MASEvalError, ValueError):
    """A model's answer has no readable message."""


class InvalidAnswerError(MASEvalError, ValueError):
    """A model's answer is not of the form that was asked for; ``reply`` is its text."""

    reply: str = ""


class UndecidedError(MASEvalError, ValueError):
    """A judge did not decide: there is no verdict, and it is nobody's failure.

    ``unanswered`` says that its model did not answer at all.
    """

    unanswered = False


class NoRepetitionError(MASEvalError, RuntimeError):
    """Components were registered or collected outside a repetition."""


class NotRunError(MASEvalError, RuntimeError):
    """Results were requested before there are any."""


class RunStoppedError(MASEvalError, RuntimeError):
    """A run ended early because every task would have failed; see its ``__cause__``."""


class ScriptExhaustedError(MASEvalError, RuntimeError):
    """A scripted model received more requests than it has replies."""


class TraceCollectionError(MASEvalError, RuntimeError):
    """An evaluation failed because the traces of a component could not be gathered."""


class WorkerDiedError(MASEvalError, RuntimeError):
    """The process in which a repetition took place died, each time it was tried."""


class OutputExistsError(MASEvalError, FileExistsError):
    """The result file already exists."""


_EXHAUSTED = frozenset({errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE})
# As Python words it, which has no class of error for that.
_NO_THREAD = "can't start new thread"


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes, newest first."""
    # Code that raises an error which it keeps can make a chain that leads back into itself.
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        if isinstance(link, BaseExceptionGroup):
            for member in link.exceptions:
                yield from causes(member)
        link = link.__cause__ or link.__context__


def is_machine_failure(error: BaseException) -> bool:
    """Return True if memory, disk, files or threads of this machine ran out."""
    return any(
        isinstance(cause, MemoryError)
        or (isinstance(cause, OSError) and cause.errno in _EXHAUSTED)
        or (isinstance(cause, RuntimeError) and str(cause) == _NO_THREAD)
        for cause in causes(error)
    )


JSON_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def validate_argument_type(
    value: object, expected_type: str, arg_name: str, component: str | None = None
) -> None:
    """Check ``value`` against a JSON schema type name; unknown names accept anything."""
    # A bool is an int for Python, but not an integer for JSON schema.
    disguised = expected_type == "integer" and isinstance(value, bool)
    if not disguised and isinstance(value, JSON_TYPES.get(expected_type, object)):
        return
    actual = "boolean" if disguised else type(value).__name__
    raise AgentError(
        f"Argument '{arg_name}' expected {expected_type}, got {actual}",
        component=component,
        details={"argument": arg_name, "expected": expected_type, "actual": actual},
        suggestion=f"Give '{arg_name}' a value of type {expected_type}",
    )


def validate_required_arguments(
    kwargs: Mapping[str, object], required: Collection[str], component: str | None = None
) -> None:
    """Check that no required argument is missing."""
    _refuse(
        "Missing required argument(s)",
        {"missing": [name for name in required if name not in kwargs], "required": list(required)},
        suggestion=f"Supply all of: {', '.join(required)}",
        component=component,
    )


def validate_no_extra_arguments(
    kwargs: Mapping[str, object], allowed: Collection[str], component: str | None = None
) -> None:
    """Check that every argument is one that is allowed."""
    extra = [name for name in kwargs if name not in allowed]
    known = f"use only: {', '.join(allowed)}" if allowed else "send no arguments"
    _refuse(
        "Unexpected argument(s)",
        {"unexpected": extra, "allowed": list(allowed)},
        suggestion=f"Leave out {', '.join(extra)}; {known}",
        component=component,
    )


def _refuse(
    complaint: str, names: Mapping[str, list[str]], *, suggestion: str, component: str | None
) -> None:
    """Raise if there is anything to complain about; the first list of ``names`` is at fault."""
    at_fault = next(iter(names.values()))
    if at_fault:
        raise AgentError(
            f"{complaint}: {', '.join(at_fault)}",
            component=component,
            details=names,
            suggestion=suggestion,
        )


def validate_arguments_from_schema(
    kwargs: Mapping[str, object],
    schema: Mapping[str, Any],
    component: str | None = None,
    *,
    strict: bool = False,
) -> None:
    """Check arguments against a JSON schema of type object; ``strict`` refuses undeclared ones."""
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    validate_required_arguments(kwargs, schema.get("required", []), component)
    if strict:
        validate_no_extra_arguments(kwargs, list(properties), component)
    for name, value in kwargs.items():
        expected = properties.get(name, {}).get("type")
        if expected is not None:
            validate_argument_type(value, expected, name, component)
