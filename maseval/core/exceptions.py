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
    ├── NestedTooDeeplyError, UnreadableAnswerError (ValueError)
    ├── NoRepetitionError, NotRunError, RunStoppedError, ScriptExhaustedError,
    │   TraceCollectionError, WorkerDiedError (RuntimeError)
    └── OutputExistsError (FileExistsError)
"""

from collections.abc import Mapping
from typing import ClassVar


class MASEvalError(Exception):
    """Root of the tree; ``component`` says where it happened, ``details`` what was observed."""

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


class AgentDataError(ConfigurationError):
    """The agent data does not match the tasks."""


class DuplicateTaskError(ConfigurationError):
    """Two tasks share an id."""


class TaskFormatError(MASEvalError, TypeError):
    """A task description is malformed."""


class HookResultError(MASEvalError, TypeError):
    """A method called by the engine returned the wrong type."""


class DuplicateComponentError(MASEvalError, ValueError):
    """One component was registered under two names, or one name given to two components."""


class UnknownModelError(MASEvalError, ValueError):
    """No provider is known for a model id."""

    fatal_for_run = True


class ResultFileError(MASEvalError, ValueError):
    """A result file is damaged."""


class NestedTooDeeplyError(MASEvalError, ValueError):
    """Something from outside is nested more deeply than anything that is read may be."""


class UnreadableAnswerError(MASEvalError, ValueError):
    """A model's answer has no readable message."""


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
