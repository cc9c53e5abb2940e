"""Agents of your own in a run: found, checked before the run, blamed for their errors.

An option like ``my_agent.py:agent`` names a function of an ``AgentBrief``. Faults that would make
every simulation fail are raised before the run. An exception in a simulation is the agent's error,
unless its provider failed.
"""

import inspect
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import FrameSummary

from maseval.app.running.code_version import source_of
from maseval.app.running.own_code import OwnCode, load_named, qualified_name, way_out
from maseval.core.agent_brief import AgentBrief, MakeAgent
from maseval.core.exceptions import AgentError, ConfigurationError, MASEvalError
from maseval.core.words import value_or_type

_PACKAGE = str(Path(__file__).parents[2])  # maseval
_LONGEST_CODE = 100


class AgentCrashedError(AgentError):
    """The code of an own agent raised an exception; ``details`` say where."""


def load_agent(reference: str) -> MakeAgent:
    """Load the function that ``file.py:function`` or ``package.module:function`` names."""
    if "://" in reference:
        raise ConfigurationError(
            f"agent is {reference!r}; name an agent behind a chat completions API like a model: "
            "--agent-model NAME --agent-args base_url=URL"
        )
    make = load_named(
        reference, OwnCode("agent", "function", "my_agent.py:function or package.module:function")
    )
    if not callable(make):
        place, _, name = reference.rpartition(":")
        raise ConfigurationError(
            f"{name} in {place} is {value_or_type(make)}; it must be a function of a brief"
        )
    found: MakeAgent = make
    return found


def check_signature(make: MakeAgent) -> None:
    try:
        signature = inspect.signature(make)
    except (TypeError, ValueError):  # some things written in C have no signature
        return
    try:
        signature.bind(AgentBrief({}, "", ""))
    except TypeError as error:
        raise ConfigurationError(
            f"{qualified_name(make)} cannot be called with a brief: {error}; "
            "write it like: def agent(brief): ..."
        ) from None


@contextmanager
def attribute_errors(make: MakeAgent, *, only_its_file: bool = False) -> Iterator[None]:
    """Turn an exception of an agent's code into the error of whoever is at fault.

    With ``only_its_file``, exceptions that did not pass through the agent's files are left alone.
    """
    try:
        yield
    except MASEvalError:
        raise
    except Exception as error:
        file = source_of(make)
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if _is_own(frame, file)]
        if only_its_file and not own:
            raise
        from maseval.interface.agents.framework import provider_failure  # help must not load it

        if failure := provider_failure(error, provider="the agent's provider", model_id=None):
            # Not chained: a library's own text may quote the key, and reports keep tracebacks.
            raise failure from None
        foreign = [frame for frame in frames if not _is_ours(frame)]
        # The innermost line that the author of the agent wrote, or at least none of ours.
        raise _crash(error, (own or foreign or frames)[-1]) from error


def _is_own(frame: FrameSummary, file: Path | None) -> bool:
    if file is None or "site-packages" in frame.filename:
        return False
    path = Path(frame.filename)
    return path == file or (file.parent in path.parents and not _is_ours(frame))


def _is_ours(frame: FrameSummary) -> bool:
    return frame.filename.startswith(_PACKAGE)


def _crash(error: Exception, frame: FrameSummary) -> AgentCrashedError:
    words = f"{traceback.format_exception_only(error)[-1].strip()}{way_out(error)}"
    code = (frame.line or "").strip()[:_LONGEST_CODE]
    quoted = f", `{code}`" if code else ""
    return AgentCrashedError(
        f"{Path(frame.filename).name}, line {frame.lineno}, in {frame.name}{quoted}: {words}",
        details={
            "file": frame.filename,
            "line": frame.lineno,
            "function": frame.name,
            "code": code,
            "error_type": type(error).__name__,
        },
    )
