"""An agent of your own: a function that is given a brief and returns the agent.

``maseval tau2 run --agent my_agent.py:agent`` calls it once for every simulation. The brief has
what an agent may know; how its work will be judged is not in it.
"""

import ast
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from traceback import FrameSummary
from typing import Any, NamedTuple, TypeAlias

from maseval.app.running.options import ExtraArguments
from maseval.app.running.own_code import (
    OwnCode,
    load_named,
    qualified_name,
    source_of,
    title_of,
    way_out,
)
from maseval.core.agent import AgentAdapter
from maseval.core.event_loop import settle
from maseval.core.exceptions import AgentError, ConfigurationError, HookResultError, MASEvalError
from maseval.core.model import ModelAdapter, resolve_model
from maseval.core.outcome import evaluations, kind_of, recorded_simulation
from maseval.core.provider_errors import ProviderError
from maseval.core.report import Report
from maseval.core.shapes import Shape, entries, mapping, text
from maseval.runs import Simulation

# For a model that is not asked, or by a server of our own.
ANYWHERE = "http://127.0.0.1/v1"
NO_KEY = "no-key-needed"


class AgentImportError(ConfigurationError):
    """The function that makes the agent cannot be found or loaded."""


class AgentResultError(AgentError, HookResultError):
    """An own agent, or the function that makes it, returned what cannot be used."""


@dataclass(frozen=True)
class AgentModel:
    """The model that an agent is to use, as a client library takes it.

    Without ``base_url`` and ``api_key`` the library finds them in its own ways.
    """

    id: str | None = None
    base_url: str | None = None
    api_key: str | None = None

    @property
    def name(self) -> str:
        """The name under which the server knows the model: an OpenAI id without its prefix."""
        if self.id is None:
            raise ConfigurationError(
                "the agent asks for its model, but none was named; give --agent-model NAME "
                "(agent_model=...), or name the model in the agent's own code"
            )
        return self.id.removeprefix("openai/")


def _resolve(model_id: str, *, register_name: str, **options: Any) -> ModelAdapter:
    return resolve_model(model_id, **options)


@dataclass(frozen=True)
class AgentBrief:
    """What an agent is given when a simulation begins."""

    tools: Mapping[str, Callable[..., str]]
    """What it may do, as functions; each call is recorded."""
    policy: str
    """What it must obey."""
    domain: str
    model: AgentModel = AgentModel()
    """The model that ``--agent-model`` names."""
    seed: int | None = None
    """This simulation's own."""
    args: ExtraArguments = field(default_factory=dict)
    """What ``--agent-args`` says beside how to reach the model."""
    resolve: Callable[..., ModelAdapter] = field(default=_resolve, repr=False)
    """Makes the adapters of ``chat_model``."""

    def chat_model(self, role: str = "agent_model") -> ModelAdapter:
        """The model as maseval talks to it, for agents without a client library of their own.

        Its calls are retried, throttled and counted like those of every other model of the run.
        Each of several agents gives its ``role``, under which its tokens are counted.
        """
        name = self.model.name  # raises if there is none
        model_id = self.model.id if "/" in str(self.model.id) else f"openai/{name}"
        where = {"base_url": self.model.base_url, "api_key": self.model.api_key}
        given = {key: value for key, value in where.items() if value is not None}
        return self.resolve(model_id, register_name=role, seed=self.seed, **given)


Cast: TypeAlias = tuple[Sequence[AgentAdapter], dict[str, AgentAdapter]]
"""The agents that are asked, and by name all that are traced; as ``setup_agents`` returns them."""

MakeAgent: TypeAlias = Callable[[AgentBrief], AgentAdapter | Cast | Callable[[str], object]]
"""Makes an agent: an adapter, a cast of several, or a function from query to answer."""


class FunctionAgentAdapter(AgentAdapter):
    """An agent that is a function, async or not, from the user's words to its answer."""

    def _run_agent(self, query: str) -> str:
        answer = settle(self.agent(query))
        if isinstance(answer, str):
            return answer
        if answer is None:
            raise no_answer(self.name)
        kind = type(answer).__name__
        raise AgentResultError(
            f"the agent {self.name!r} answered with a {kind}, not with a text; {_WANTED}"
        )


_WANTED = "return what the customer shall read, as a str"


def no_answer(name: str) -> AgentResultError:
    """The error for an agent that answered nothing."""
    return AgentResultError(
        f"the agent {name!r} returned None, as a function without a return statement does; "
        f"{_WANTED}"
    )


def cast_of(make: MakeAgent, brief: AgentBrief) -> Cast:
    """The agents that ``make`` returns for a brief."""
    made = settle(make(brief))
    if isinstance(made, AgentAdapter):
        return [made], {made.name: made}
    if isinstance(made, tuple) and len(made) == 2:
        return made
    if callable(made):
        adapter = FunctionAgentAdapter(made, getattr(made, "__name__", "agent"))
        return [adapter], {adapter.name: adapter}
    raise AgentResultError(
        f"{title_of(make)} returned {made!r}; it must return an AgentAdapter, a function from "
        "query to answer, or ([agents to ask], {name: agent})"
    )


def check_signature(make: MakeAgent) -> None:
    """Raise now what would fail in every simulation: a function that takes no brief."""
    try:
        signature = inspect.signature(make)
    except (TypeError, ValueError):  # of some things written in C nobody knows
        return
    try:
        signature.bind(AgentBrief({}, "", ""))
    except TypeError as error:
        raise AgentImportError(
            f"{qualified_name(make)} cannot be called with a brief: {error}; "
            "write it like: def agent(brief): ..."
        ) from None


def load_agent(reference: str) -> MakeAgent:
    """The function that ``file.py:function`` or ``package.module:function`` names."""
    if "://" in reference:
        raise AgentImportError(
            f"agent is {reference!r}; an agent that speaks chat completions is asked like a model: "
            "--agent-model NAME --agent-args base_url=URL"
        )
    make = load_named(reference, _AGENT)
    if not callable(make):
        place, _, name = reference.rpartition(":")
        raise AgentImportError(f"{name} in {place} is {make!r}; it must be a function of a brief")
    found: MakeAgent = make
    return found


_AGENT = OwnCode(
    "agent", "function", "my_agent.py:function or package.module:function", AgentImportError
)


def check_imports(make: MakeAgent) -> None:
    """Raise now if a function imports what is not installed, which every simulation would need."""
    for module in _late_imports(_code_of(make)):
        if module not in sys.modules and importlib.util.find_spec(module) is None:
            missing = ModuleNotFoundError(f"No module named {module!r}", name=module)
            raise AgentImportError(
                f"{qualified_name(make)} needs {module!r}, which is not installed{way_out(missing)}"
            )


def uses_chat_model(make: MakeAgent) -> bool:
    """Whether it asks its brief for the ``chat_model``."""
    nodes = (node for part in _code_of(make) for node in ast.walk(part))
    return any(isinstance(node, ast.Attribute) and node.attr == "chat_model" for node in nodes)


def _code_of(make: MakeAgent) -> list[ast.AST]:
    """The function, and all that it names of the functions and classes in its file."""
    file = source_of(make)
    try:
        body = ast.parse(file.read_text(encoding="utf-8") if file else "").body
    except (OSError, ValueError, SyntaxError):  # no file of Python's, however it was loaded
        return []
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    parts = {node.name: node for node in body if isinstance(node, kinds)}
    pending, reached = [str(getattr(make, "__qualname__", ""))], dict[str, ast.AST]()
    while pending:
        name = pending.pop()
        if name in parts and name not in reached:
            reached[name] = parts[name]
            nodes = ast.walk(parts[name])
            pending += [node.id for node in nodes if isinstance(node, ast.Name)]
    return list(reached.values())


def _late_imports(parts: list[ast.AST]) -> Iterator[str]:
    """The modules that are imported without being prepared for their absence."""
    pending = list(parts)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        elif not isinstance(node, ast.Try | ast.If):
            pending.extend(ast.iter_child_nodes(node))


_PACKAGE = str(Path(__file__).parents[4])  # maseval
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


_MOST = 5
_HOW = (
    "give your client brief.model.name, brief.model.base_url and brief.model.api_key, or ask "
    "brief.chat_model()"
)


class Rehearsed(NamedTuple):
    """One rehearsed simulation: how often its model was asked, and where it was lost, if it was."""

    simulation: Simulation
    requests: int
    lost: str | None

    def __str__(self) -> str:
        return f"{self.simulation.domain}/{self.simulation.task_id} trial {self.simulation.trial}"


@dataclass
class Rehearsal:
    """Collects what became of each simulation whose model was played by ``player``."""

    player: str
    done: list[Rehearsed] = field(default_factory=list)

    def add(self, report: Report, requests: int) -> None:
        """A simulation is over, in which the model was asked so often."""
        lost = None if kind_of(report) == "pass" else lost_at(report)
        self.done.append(Rehearsed(Simulation.of(report), requests, lost))

    def notes(self) -> list[str]:
        """What to tell whoever rehearsed."""
        if not self.done:
            return []
        if not any(one.requests for one in self.done):
            return [
                f"The agent never asked the rehearsal model in {_simulations(len(self.done))}: it "
                f"asked another model, or none; {_HOW}."
            ]
        return [self._asked(), *self._losses()]

    def _asked(self) -> str:
        total = sum(one.requests for one in self.done)
        told = f"The rehearsal model was asked {total} times in {_simulations(len(self.done))}"
        silent = [str(one) for one in self.done if not one.requests]
        never = f"; never in {len(silent)} of them: {', '.join(silent[:_MOST])}" if silent else ""
        return f"{told}{never}."

    def _losses(self) -> Iterator[str]:
        lost = [one for one in self.done if one.lost]
        if self.player != "gold" or not lost:
            return
        yield (
            f"With gold every task should pass; {len(lost)} of {len(self.done)} were lost on the "
            "way through your agent:"
        )
        yield from (f"  {one}: {one.lost}" for one in lost[:_MOST])
        if len(lost) > _MOST:
            yield f"  and {len(lost) - _MOST} more"


def lost_at(report: Report) -> str:
    """Where the reference solution was lost."""
    if report["error"]:
        return f"{report['status']}: {mapping(report, 'error').get('error_message')}"
    verdict = mapping(next(iter(evaluations(report)), {}), "reward_info")
    checks = map(mapping, entries(verdict.get("action_checks")))
    missing = [check for check in checks if not check.get("action_match")]
    agents = [mapping(check, "action") for check in missing]
    first = next((each for each in agents if each.get("requestor") != "user"), None)
    if first is not None:
        return f"first missing call: {_call(first)}{_instead(report, first)}"
    told = map(mapping, entries(verdict.get("communicate_checks")))
    unsaid = [check.get("info") for check in told if not check.get("met")]
    if unsaid:
        return f"every call arrived, but the customer was not told {unsaid[0]!r}"
    return "every call arrived, but the final state is another: look for additional calls"


def _instead(report: Report, action: Shape) -> str:
    """The first call of the same tool, which has other arguments."""
    for message in entries(recorded_simulation(report).get("messages")):
        for call in map(mapping, entries(mapping(message).get("tool_calls"))):
            if call.get("name") == action.get("name"):
                return f"; instead: {_call(call)}"
    return ""


def _call(call: Shape) -> str:
    arguments = mapping(call, "arguments").items()
    return f"{call.get('name')}({', '.join(f'{key}={text(value)}' for key, value in arguments)})"


def _simulations(number: int) -> str:
    return f"{number} simulations" if number > 1 else "1 simulation"
