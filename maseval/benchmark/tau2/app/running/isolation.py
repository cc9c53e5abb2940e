"""Own agents in processes of their own, for ``--isolate``.

Within one process Python hides nothing: an agent could search frames and memory for the reference
solution. With ``--isolate`` another process loads the agent's file. It is told the policy, the
descriptions of the tools and what the customer says; the task, the database and the evaluator stay
here, and so do the tools, which it calls through a pipe. The two exchange lines of JSON, of which
nothing is executed.

A process serves one simulation after the other. It ends with this one, however that ends, as its
standard input is then closed. One that dies in a simulation is the agent's fault; one that is late
is killed at the deadline.
"""

import hashlib
import json
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from maseval.benchmark.tau2.agent_brief import AgentBrief, AgentGroup
from maseval.benchmark.tau2.app.running.served_agent import AGENTS, MODELS, serve_agent
from maseval.benchmark.tau2.formats.message import SpokenMessage, Tau2Message
from maseval.core.agent import AgentAdapter
from maseval.core.clock import Clock
from maseval.core.context import TaskContext
from maseval.core.exceptions import AgentError, MASEvalError
from maseval.core.messages import MessageHistory
from maseval.core.tool import tool_definition
from maseval.core.tracing import ConfigurableMixin, JsonObject, TraceableMixin
from maseval.core.usage import CostCalculator, TokenUsage, Usage, UsageTrackableMixin

PROCESS = "process"
"""The value of ``isolation`` in the configuration of a run."""

_NO_TOOLS: Mapping[str, Callable[..., str]] = {}
_START = f"from {serve_agent.__module__} import serve_agent; serve_agent()"


class AgentProcessError(AgentError):
    """The process of an isolated agent has ended in the midst of a simulation."""


class AgentProcess:
    """A process that has loaded an agent, from the side of the run."""

    def __init__(self, reference: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        self.end = weakref.finalize(self, _end_process, self._process)
        self.facts: JsonObject = self.order({"load": reference})

    @property
    def is_usable(self) -> bool:
        """True while the process runs."""
        return self._process.poll() is None

    def order(self, order: JsonObject, tools: Mapping[str, Callable[..., str]] = _NO_TOOLS) -> Any:
        """Have something done and return its result; meanwhile the process may call tools."""
        clock = Clock.here()
        left = None if clock is None else clock.remaining
        timer = None if left is None else threading.Timer(left, self._process.kill)
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            self._send(order)
            while "call" in (told := self._receive()):
                tool = tools[told["call"]]
                self._send({"result": tool(**told["arguments"])})
        except (OSError, EOFError, ValueError, LookupError, TypeError) as error:
            self.end()
            if clock is not None:
                clock.check_timeout()
            code = self._process.returncode
            raise AgentProcessError(
                f"the process of the agent ended (exit code {code}) before it answered; what it "
                "printed is on standard error"
            ) from error
        finally:
            if timer is not None:
                timer.cancel()
        if "error" in told:
            raise _rebuild_error(told["error"])
        return told["result"]

    def _send(self, words: JsonObject) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()

    def _receive(self) -> JsonObject:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise EOFError
        told: JsonObject = json.loads(line)
        return told


def _end_process(process: "subprocess.Popen[str]") -> None:
    process.kill()
    for stream in (process.stdin, process.stdout):
        with suppress(OSError):  # what was not sent any more
            if stream is not None:
                stream.close()
    process.wait()


class IsolatedAgent:
    """Makes the agents that ``reference`` names, in processes that are used again and again."""

    def __init__(self, reference: str) -> None:
        self.reference = reference
        first = AgentProcess(reference)
        self._facts, self._idle = first.facts, [first]
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type["IsolatedAgent"], tuple[str]]:
        return IsolatedAgent, (self.reference,)

    @property
    def name(self) -> str:
        """The file and the name of its function."""
        return str(self._facts["name"])

    @property
    def source_sha256(self) -> str | None:
        """The hash of the file."""
        place = self.reference.rpartition(":")[0]
        if not place.endswith(".py"):
            return cast("str | None", self._facts["source_sha256"])
        return hashlib.sha256(Path(place).read_bytes()).hexdigest()

    @property
    def uses_chat_model(self) -> bool:
        """True if it asks its brief for the ``chat_model``."""
        return bool(self._facts["uses_chat_model"])

    def __call__(self, brief: AgentBrief) -> AgentGroup:
        """Make the agents of a simulation; ``close`` their simulation at its end."""
        return IsolatedSimulation(self, self._take(), brief).agents

    def put_back(self, process: AgentProcess) -> None:
        """Keep a process for the next simulation."""
        with self._lock:
            if process.is_usable:
                self._idle.append(process)

    def close(self) -> None:
        """End all processes that wait for a simulation."""
        with self._lock:
            while self._idle:
                self._idle.pop().end()

    def _take(self) -> AgentProcess:
        with self._lock:
            while self._idle:
                if (process := self._idle.pop()).is_usable:
                    return process
        return AgentProcess(self.reference)


class IsolatedSimulation:
    """One simulation of an isolated agent: its adapters here, and what they have reported."""

    def __init__(self, owner: IsolatedAgent, process: AgentProcess, brief: AgentBrief) -> None:
        self._owner, self._process, self._tools = owner, process, brief.tools
        self.prices: CostCalculator | None = None
        self._state: JsonObject = {}
        self._models: dict[str, _RemoteModel] = {}
        made = self._order({"make": _describe_brief(brief)})
        adapters = [self._adapter(*each) for each in made["agents"]]
        self.agents: AgentGroup = (
            [adapters[number] for number in made["asked"]],
            {adapter.name: adapter for adapter in adapters},
        )

    def _adapter(self, name: str, takes_part: bool) -> "IsolatedAgentAdapter":
        return (IsolatedParticipant if takes_part else IsolatedAgentAdapter)(self, name)

    def do(self, name: str, method: str, *arguments: object) -> Any:
        """Call a method of an agent."""
        return self._order({"do": method, "agent": name, "arguments": arguments})

    def report(self, kind: str, category: str, name: str) -> JsonObject:
        """Return the traces, the configuration or the usage of a component there."""
        found: JsonObject = self._state.get(kind, {}).get(category, {}).get(name, {})
        return found

    def close(self) -> None:
        """Give the process back."""
        self._owner.put_back(self._process)

    def _order(self, order: JsonObject) -> Any:
        told = self._process.order(order, self._tools)
        self._state = told["state"]
        for name in self._state["usage"][MODELS]:
            if name not in self._models:
                self._models[name] = _RemoteModel(self, name)
                TaskContext.current().registry.register(MODELS, name, self._models[name])
        return told["result"]


class _RemoteModel(TraceableMixin, ConfigurableMixin, UsageTrackableMixin):
    """A model that an isolated agent asks."""

    def __init__(self, simulation: IsolatedSimulation, name: str) -> None:
        self._simulation, self._name = simulation, name

    def gather_traces(self) -> JsonObject:
        return self._simulation.report("traces", MODELS, self._name)

    def gather_config(self) -> JsonObject:
        return self._simulation.report("config", MODELS, self._name)

    def gather_usage(self) -> Usage:
        usage = Usage.from_dict(self._simulation.report("usage", MODELS, self._name))
        prices, model_id = self._simulation.prices, self.gather_config().get("model_id")
        if prices is not None and isinstance(usage, TokenUsage) and not usage.cost and model_id:
            usage.cost = prices.calculate_cost(usage, str(model_id)) or 0.0
        return usage


class IsolatedAgentAdapter(AgentAdapter):
    """An agent in another process, as the engine sees it."""

    agent: IsolatedSimulation

    def __init__(self, simulation: IsolatedSimulation, name: str) -> None:
        super().__init__(simulation, name)

    def _run_agent(self, query: str) -> Any:
        return self.agent.do(self.name, "run", query)

    def load_messages(self, messages: MessageHistory) -> None:
        self.agent.do(self.name, "load_messages", messages.to_list())

    def use_prices(self, calculator: CostCalculator, model_id: str | None = None) -> None:
        super().use_prices(calculator, model_id)
        self.agent.prices = calculator

    def get_messages(self) -> MessageHistory:
        if self.messages is not None:  # those of the trajectory
            return self.messages
        return MessageHistory(self.agent.report("traces", AGENTS, self.name).get("messages") or [])

    def gather_traces(self) -> JsonObject:
        messages = self.get_messages().to_list()
        told = self.agent.report("traces", AGENTS, self.name)
        return {**super().gather_traces(), **told, "messages": messages}

    def gather_config(self) -> JsonObject:
        told = self.agent.report("config", AGENTS, self.name)
        return {**super().gather_config(), **told, "isolation": PROCESS}

    def _gather_usage(self) -> Usage:
        return Usage.from_dict(self.agent.report("usage", AGENTS, self.name))


class IsolatedParticipant(IsolatedAgentAdapter):
    """An agent in another process that answers one message at a time."""

    def begin(self, history: Sequence[Tau2Message]) -> None:
        self.agent.do(self.name, "begin", list(history))

    def reply(self, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        message: SpokenMessage = self.agent.do(self.name, "reply", list(incoming))
        return message

    def recall(self, incoming: Sequence[Tau2Message], message: SpokenMessage) -> None:
        self.agent.do(self.name, "recall", list(incoming), message)

    def is_stop(self, message: SpokenMessage) -> bool:
        return bool(self.agent.do(self.name, "is_stop", message))


def _describe_brief(brief: AgentBrief) -> JsonObject:
    tools = [
        {**tool_definition(tool, name=name), "doc": tool.__doc__}
        for name, tool in brief.tools.items()
    ]
    return {
        "tools": tools,
        "policy": brief.policy,
        "domain": brief.domain,
        "model": asdict(brief.model),
        "seed": brief.seed,
        "args": dict(brief.args),
    }


def _rebuild_error(told: JsonObject) -> MASEvalError:
    """Return the error of the other process as an error of the same kind, if it is one of ours."""
    kind = next((each for each in _error_kinds() if each.__name__ == told["kind"]), AgentError)
    error = kind.__new__(kind)
    Exception.__init__(error, told["message"])
    vars(error).update({"suggestion": None, **told["fields"]})
    error.add_note(f"In the process of the agent:\n{told['traceback']}")
    return error


def _error_kinds() -> list[type[MASEvalError]]:
    kinds: list[type[MASEvalError]] = [MASEvalError]
    for kind in kinds:
        kinds.extend(kind.__subclasses__())
    return kinds
