"""The process of an own agent under ``--isolate``: it loads the agent, and does what it is told.

Its orders come from ``isolation``, as lines of JSON on standard input, and its answers go back on
standard output. The tools that the agent calls are questions among those answers.
"""

import json
import os
import queue
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from inspect import Parameter, Signature
from signal import SIG_IGN
from typing import Any, TextIO

from maseval.app.running.own_code import qualified_name, source_sha256, title_of
from maseval.benchmark.tau2.agent_brief import AgentBrief, AgentModel, make_agents
from maseval.benchmark.tau2.app.running.own_agents import (
    attribute_errors,
    check_imports,
    check_signature,
    load_agent,
    uses_chat_model,
)
from maseval.benchmark.tau2.conversation.participants import takes_part
from maseval.core.agent import AgentAdapter
from maseval.core.context import TaskContext
from maseval.core.engine.process import end_signals
from maseval.core.event_loop import settle
from maseval.core.exceptions import AgentError, MASEvalError
from maseval.core.messages import MessageHistory
from maseval.core.model import ModelAdapter, resolve_model
from maseval.core.storage import strict_json
from maseval.core.tracing import JsonObject

AGENTS, MODELS = "agents", "models"
"""The categories of what is traced in this process, and asked for from the other."""


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
            self._context.registry.register(AGENTS, name, agent)
        return {
            "agents": [(name, takes_part(one)) for name, one in self._agents.items()],
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
    return TaskContext.current().registry.register(MODELS, register_name, model)


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
