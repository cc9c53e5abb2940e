"""Options of a command, each declared once.

A dataclass lists them. Its fields are the keywords of the Python function, its ``Flag``s what the
command line shows and reads, and those that are ``recorded`` go into the run's configuration.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

TASKS, PARTICIPANTS, EXECUTION, OUTPUT = "Tasks", "Agent and user", "Execution", "Output"
"""The panels of the help of every command that runs tasks."""

RAY_ADDRESS = "For --engine ray: local (the default), auto or ray://HOST:PORT"
WORKER_PROCESSES = (
    "Worker processes, for --engine processes and ray (default and maximum: one per core)"
)

ExtraArguments = Mapping[str, Any]
"""Named values of any kind, as a model or an agent takes them."""

P = ParamSpec("P")
OptionsT = TypeVar("OptionsT")
OutcomeT = TypeVar("OutcomeT")


@dataclass(frozen=True)
class Flag:
    """An option on the command line: its help, and the panel of the help that it stands in.

    ``typed`` is the type of what is typed, where that is not the option's own; pairs of arguments
    are typed as a list of words. ``alias`` is what tau2-bench or inspect calls it: read, but not
    shown. With ``env`` the variable ``MASEVAL_<NAME>`` stands for it.
    """

    help: str
    panel: str
    short: str | None = None
    typed: Any = None
    alias: str | None = None
    env: bool = False
    recorded: bool = False


REQUIRED = MISSING


def option(default: object, help: str, panel: str, **more: Any) -> Any:
    """Declare an option of a dataclass with its default and its ``Flag``."""
    return field(default=default, metadata={"flag": Flag(help, panel, **more)})


def flag_of(option: Field[Any]) -> Flag | None:
    """Return how an option stands on the command line; None if it is for Python alone."""
    return option.metadata.get("flag")


def list_options(options: type) -> list[Field[Any]]:
    """Return the options of a dataclass, its own before inherited ones."""
    shared = [one.name for base in options.__bases__ if is_dataclass(base) for one in fields(base)]
    return sorted(fields(options), key=lambda each: each.name in shared)


def takes(
    options: Callable[P, OptionsT],
) -> Callable[[Callable[[OptionsT], OutcomeT]], Callable[P, OutcomeT]]:
    """Let a function of an options object be called with the options as keywords."""

    def decorate(function: Callable[[OptionsT], OutcomeT]) -> Callable[P, OutcomeT]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> OutcomeT:
            return function(options(*args, **kwargs))

        assert isinstance(options, type)
        every = list_options(options)
        # Editors, help and the reference read the options from the signature.
        vars(call)["__signature__"] = inspect.Signature(list(map(_parameter, every)))
        told = ((each.name, flag.help) for each in every if (flag := flag_of(each)))
        listed = "".join(f"\n    {name}: {help}" for name, help in told)
        call.__doc__ = f"{inspect.getdoc(function)}\n\nArgs:{listed}\n"
        return call

    return decorate


def _parameter(option: Field[Any]) -> inspect.Parameter:
    default = inspect.Parameter.empty if option.default is MISSING else option.default
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(option.name, keyword, default=default, annotation=option.type)
