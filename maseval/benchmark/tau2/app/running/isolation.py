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
import os
import queue
import subprocess
import sys
import threading
import traceback
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from inspect import Parameter, Signature
from pathlib import Path
from signal import SIG_IGN
from typing import Any, TextIO, cast

from maseval.app.running.own_code import qualified_name, source_sha256, title_of
from maseval.benchmark.tau2.agent_brief import AgentBrief, AgentGroup, AgentModel, make_agents
from maseval.benchmark.tau2.app.running.own_agents import (
    attribute_errors,
    check_imports,
    check_signature,
    load_agent,
    uses_chat_model,
)
from maseval.benchmark.tau2.conversation.participants import Participant
from maseval.benchmark.tau2.formats.message import SpokenMessage, Tau2Message
from maseval.core.agent import AgentAdapter
from maseval.core.clock import Clock
from maseval.core.context import TaskContext
from maseval.core.engine.process import end_signals
from maseval.core.event_loop import settle
from maseval.core.exceptions import AgentError, MASEvalError
from maseval.core.messages import MessageHistory
from maseval.core.model import ModelAdapter, resolve_model
from maseval.core.storage import strict_json
from maseval.core.tool import tool_definition
from maseval.core.tracing import ConfigurableMixin, JsonObject, TraceableMixin
from maseval.core.usage import CostCalculator, TokenUsage, Usage, UsageTrackableMixin

PROCESS = "process"
"""The value of ``isolation`` in the configuration of a run."""

_NO_TOOLS: Mapping[str, Callable[..., str]] = {}
_START = f"from {__name__} import serve_agent; serve_agent()"
_AGENTS, _MODELS = "agents", "models"


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
        for name in self._state["usage"][_MODELS]:
            if name not in self._models:
                self._models[name] = _RemoteModel(self, name)
                TaskContext.current().registry.register(_MODELS, name, self._models[name])
        return told["result"]


class _RemoteModel(TraceableMixin, ConfigurableMixin, UsageTrackableMixin):
    """A model that an isolated agent asks."""

    def __init__(self, simulation: IsolatedSimulation, name: str) -> None:
        self._simulation, self._name = simulation, name

    def gather_traces(self) -> JsonObject:
        return self._simulation.report("traces", _MODELS, self._name)

    def gather_config(self) -> JsonObject:
        return self._simulation.report("config", _MODELS, self._name)

    def gather_usage(self) -> Usage:
        usage = Usage.from_dict(self._simulation.report("usage", _MODELS, self._name))
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
        return MessageHistory(self.agent.report("traces", _AGENTS, self.name).get("messages") or [])

    def gather_traces(self) -> JsonObject:
        messages = self.get_messages().to_list()
        told = self.agent.report("traces", _AGENTS, self.name)
        return {**super().gather_traces(), **told, "messages": messages}

    def gather_config(self) -> JsonObject:
        told = self.agent.report("config", _AGENTS, self.name)
        return {**super().gather_config(), **told, "isolation": PROCESS}

    def _gather_usage(self) -> Usage:
        return Usage.from_dict(self.agent.report("usage", _AGENTS, self.name))


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


# The side of the agent, in its process.


def serve_agent() -> None:
    """Be the process of an agent, until standard input is closed."""
    orders, results = (
        os.fdopen(os.dup(0), encoding="utf-8"),
        os.fdopen(os.dup(1), "w", encoding="utf-8"),
    )
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)  # what the agent prints must not pass for an answer
    # Ctrl-C reaches this process too, but what is running shall be finished.
    with end_signals(SIG_IGN):
        _AgentSide(orders, results).serve()


class _AgentSide:
    """Loads an agent, and does what it is told to do with it."""

    def __init__(self, orders: TextIO, results: TextIO) -> None:
        self._orders, self._results = orders, results
        self._inbox: queue.SimpleQueue[JsonObject] = queue.SimpleQueue()
        self._one_call = threading.Lock()
        self._is_turn = False
        self._make: Any = None
        self._context = TaskContext()
        self._agents: dict[str, AgentAdapter] = {}

    def serve(self) -> None:
        """Do one thing after the other."""
        threading.Thread(target=self._read, daemon=True, name="maseval-orders").start()
        while True:
            order = self._inbox.get()
            with self._one_call:
                self._is_turn = True
            try:
                told: JsonObject = {"result": self._carry_out(order)}
            except BaseException as error:  # whatever the agent raises ends only its simulation
                told = {"error": _describe_error(error)}
            with self._one_call:
                self._is_turn = False
                self._send(told)

    def _read(self) -> None:
        for line in self._orders:
            self._inbox.put(json.loads(line))
        os._exit(0)  # nobody is there any more, whatever the agent is doing

    def _send(self, told: JsonObject) -> None:
        try:
            self._results.write(strict_json.dumps(told) + "\n")
            self._results.flush()
        except OSError:
            os._exit(0)

    def call(self, name: str, arguments: JsonObject) -> str:
        """Have a tool called, and return its answer."""
        with self._one_call:
            if not self._is_turn:
                raise AgentError("a tool was called after the agent had answered")
            self._send({"call": name, "arguments": arguments})
            return str(self._inbox.get()["result"])

    def _carry_out(self, order: JsonObject) -> object:
        if "load" in order:
            return self._load(order["load"])
        if "make" in order:
            with ExitStack() as open_:
                result: object = self._make_agents(order["make"], open_)
        else:
            with self._context.active(), attribute_errors(self._make):
                result = self._do(self._agents[order["agent"]], order["do"], order["arguments"])
        return {"result": result, "state": self._collect_state()}

    def _load(self, reference: str) -> JsonObject:
        self._make = load_agent(reference)
        check_signature(self._make)
        check_imports(self._make)
        return {
            "name": qualified_name(self._make),
            "source_sha256": source_sha256(self._make),
            "uses_chat_model": uses_chat_model(self._make),
        }

    def _make_agents(self, brief: JsonObject, open_: ExitStack) -> JsonObject:
        self._context = TaskContext()
        open_.enter_context(self._context.active())
        open_.enter_context(attribute_errors(self._make))
        tools = [_RemoteTool(self.call, each) for each in brief.pop("tools")]
        model = AgentModel(**brief.pop("model"))
        given = AgentBrief(
            {tool.__name__: tool for tool in tools}, **brief, model=model, resolve=register_model
        )
        asked, traced = make_agents(self._make, given, title_of(self._make))
        every = list(dict.fromkeys([*asked, *traced.values()]))
        names = {id(agent): name for name, agent in traced.items()}
        self._agents = {names.get(id(agent), agent.name): agent for agent in every}
        for name, agent in self._agents.items():
            self._context.registry.register(_AGENTS, name, agent)
        return {
            "agents": [(name, isinstance(one, Participant)) for name, one in self._agents.items()],
            "asked": [every.index(agent) for agent in asked],
        }

    def _do(self, agent: Any, method: str, arguments: list[Any]) -> object:
        if method == "load_messages":
            arguments = [MessageHistory(arguments[0])]
        result = settle(getattr(agent, method)(*arguments))
        if method == "run" and result is not None:
            return str(result)
        return result

    def _collect_state(self) -> JsonObject:
        registry = self._context.registry
        return {
            "traces": registry.collect_traces(),
            "config": registry.collect_configs(),
            "usage": registry.collect_usage(),
        }


class _RemoteTool:
    """A tool of the environment, as the agent sees it."""

    def __init__(self, call: Callable[[str, JsonObject], str], described: JsonObject) -> None:
        self._call = call
        self.__doc__ = described.pop("doc")
        self.definition = described
        function = described["function"]
        self.__name__ = self.__qualname__ = function["name"]
        schema = function["parameters"]
        self._names = list(schema["properties"])
        required = schema.get("required", ())
        self.__signature__ = Signature(
            [
                Parameter(
                    name,
                    Parameter.POSITIONAL_OR_KEYWORD,
                    default=Parameter.empty if name in required else None,
                )
                for name in sorted(self._names, key=lambda name: name not in required)
            ],
            return_annotation=str,
        )

    def __call__(self, *args: object, **kwargs: object) -> str:
        extra = [f"argument_{number}" for number in range(len(self._names) + 1, len(args) + 1)]
        given = dict(zip([*self._names, *extra], args, strict=False))
        return self._call(self.__name__, given | kwargs)


def register_model(model_id: str, *, register_name: str, **options: Any) -> ModelAdapter:
    """Make a model of an own agent, and count it in the current repetition.

    This is no method: an agent that is handed it must not find the benchmark and its tasks in it.
    """
    model = resolve_model(model_id, **options)
    return TaskContext.current().registry.register(_MODELS, register_name, model)


def _describe_error(error: BaseException) -> JsonObject:
    fields = vars(error) if isinstance(error, MASEvalError) else {}
    message = str(error) if isinstance(error, MASEvalError) else repr(error)
    kind = type(error).__name__ if isinstance(error, MASEvalError) else AgentError.__name__
    return {
        "kind": kind,
        "message": message,
        "fields": {"message": message, "component": None, "details": {}, **_plain(fields)},
        "traceback": "".join(traceback.format_exception(error)),
    }


def _plain(fields: Mapping[str, object]) -> JsonObject:
    plain = {key: value for key, value in fields.items() if not key.startswith("_")}
    told: JsonObject = json.loads(strict_json.dumps(plain))
    return told
