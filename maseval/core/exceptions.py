"""Every way a run can fail, drawn as a tree.

::

    MASEvalError
    ├── AgentError, EnvironmentError, UserError      whose fault a failed repetition was
    ├── UserExhaustedError, TaskFrozenError, TaskTimeoutError
    ├── ConfigurationError (ValueError)
    │   ├── AgentDataError
    │   └── DuplicateTaskError
    ├── TaskFormatError, HookResultError (TypeError)
    ├── DuplicateComponentError, UnknownModelError, ResultFileError (ValueError)
    ├── NoRepetitionError, NotRunError, RunStoppedError, ScriptExhaustedError (RuntimeError)
    └── OutputExistsError (FileExistsError)
"""

from collections.abc import Mapping
from typing import ClassVar


class MASEvalError(Exception):
    """Root of the tree; ``component`` says where it happened, ``details`` what was seen there."""

    fatal_for_run: ClassVar[bool] = False
    """Whether every other task would fail in the same way."""

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
    """The agent did something wrong; ``suggestion`` tells it what to do instead."""

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
    """The user was asked once more after the conversation was over."""


class TaskFrozenError(MASEvalError):
    """A frozen task was written to, or frozen or unfrozen twice."""


class TaskTimeoutError(MASEvalError):
    """A repetition ran past its time limit; ``partial_traces`` holds what it had done so far."""

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


class AgentDataError(ConfigurationError):
    """The agent data does not match the tasks."""


class DuplicateTaskError(ConfigurationError):
    """Two tasks share an id."""


class TaskFormatError(MASEvalError, TypeError):
    """Something that should describe a task does not."""


class HookResultError(MASEvalError, TypeError):
    """A method that the engine calls returned the wrong shape."""


class DuplicateComponentError(MASEvalError, ValueError):
    """One component is registered under two names, or one name is given to two components."""


class UnknownModelError(MASEvalError, ValueError):
    """No provider is known for a model id."""

    fatal_for_run = True


class ResultFileError(MASEvalError, ValueError):
    """A result file is damaged."""


class NoRepetitionError(MASEvalError, RuntimeError):
    """Components are registered or collected outside any running repetition."""


class NotRunError(MASEvalError, RuntimeError):
    """Results are asked for before there are any."""


class RunStoppedError(MASEvalError, RuntimeError):
    """A run ended early, because every task would have failed; its cause says why."""


class ScriptExhaustedError(MASEvalError, RuntimeError):
    """A scripted model was asked more often than it has replies."""


class OutputExistsError(MASEvalError, FileExistsError):
    """The result file is already there."""
