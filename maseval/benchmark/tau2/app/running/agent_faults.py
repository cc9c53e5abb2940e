"""Whose fault it was when the code of an own agent raised: the agent's, or its provider's."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import FrameSummary

from maseval.app.running.own_code import source_of
from maseval.benchmark.tau2.app.running.own_agents import MakeAgent
from maseval.core.exceptions import AgentError, MASEvalError
from maseval.core.provider_errors import ProviderError

_PACKAGE = str(Path(__file__).parents[2])
_LONGEST_CODE = 100


class AgentCrashedError(AgentError):
    """The code of an own agent raised an exception; ``details`` say where."""


@contextmanager
def blaming(make: MakeAgent, *, only_its_file: bool = False) -> Iterator[None]:
    """Turn what an agent's code raises into the error of whoever is at fault.

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
        if failure := _providers(error):
            # Not chained: a library's own text may quote the key, and reports keep tracebacks.
            raise failure from None
        raise _crash(error, (own or _foreign(frames) or frames)[-1]) from error


def _is_own(frame: FrameSummary, file: Path | None) -> bool:
    if file is None or "site-packages" in frame.filename:
        return False
    path = Path(frame.filename)
    return path == file or (file.parent in path.parents and not _is_ours(frame))


def _is_ours(frame: FrameSummary) -> bool:
    return frame.filename.startswith(_PACKAGE)


def _foreign(frames: list[FrameSummary]) -> list[FrameSummary]:
    return [frame for frame in frames if not _is_ours(frame)]


def _providers(error: Exception) -> ProviderError | None:
    from maseval.interface.agents.failures import provider_failure  # help must not load it

    return provider_failure(error, provider="the agent's provider", model_id=None)


def _crash(error: Exception, frame: FrameSummary) -> AgentCrashedError:
    words = traceback.format_exception_only(error)[-1].strip()
    code = (frame.line or "").strip()[:_LONGEST_CODE]
    shown = f", `{code}`" if code else ""
    return AgentCrashedError(
        f"{Path(frame.filename).name}, line {frame.lineno}, in {frame.name}{shown}: {words}",
        details={
            "file": frame.filename,
            "line": frame.lineno,
            "function": frame.name,
            "code": code,
            "error_type": type(error).__name__,
        },
    )
