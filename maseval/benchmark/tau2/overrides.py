"""Hooks of ``Tau2Environment`` that a subclass overrides, carried out in a live run.

``create_tools`` and ``create_user_tools`` may add, wrap or leave out tools; ``get_response``,
``make_tool_call``, ``to_json_str`` and ``sync_tools`` may do something else than the original. A
verdict is about the original's tools all the same. So a second world, which no override touches,
follows the live one: every call that reaches a tool of the original is made there as well. Where
the live answer or the live databases differ from that world's, the tool message carries
``override``: the calls that reached the original's tools, with its answers, and whether something
else wrote. Replay makes those calls in the place of the recorded one. A message with the original's
own answer carries nothing.
"""

import copy
from collections.abc import Callable, Mapping
from functools import cache, partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Protocol, cast

from maseval.benchmark.tau2.domains.base import ToolKitBase
from maseval.benchmark.tau2.formats.message import (
    OVERRIDE,
    Override,
    Requestor,
    Tau2ToolCall,
    ToolAnswer,
    ToolMessage,
    tool_message,
)
from maseval.benchmark.tau2.world.world import World, WorldState, collides, text_or_error
from maseval.core.exceptions import ConfigurationError
from maseval.core.tool import tool_definition

_HOOKS = (
    "create_tools",
    "create_user_tools",
    "get_response",
    "make_tool_call",
    "make_user_tool_call",
    "to_json_str",
    "sync_tools",
)
_WORLD = "is the world's own; override setup_state, create_tools or create_user_tools instead"
_STAGE = (
    "is not called in a run: a task's stage is set, and its end judged, in worlds of the original; "
    "override setup_state instead"
)
_REFUSED = {
    **dict.fromkeys(("db", "toolkit", "user_toolkit"), _WORLD),
    **dict.fromkeys(("set_state", "run_env_function_call", "run_env_assertion"), _STAGE),
}
# Tools that can be recorded; other objects, such as a framework's own tools, are left alone.
_FUNCTIONS = (FunctionType, MethodType, BuiltinFunctionType, partial)

Tool = Callable[..., Any]


@cache
def overrides(kind: type, name: str) -> bool:
    """Return True if a method of a class is not maseval's own."""
    owner = next(each for each in kind.__mro__ if name in vars(each))
    return not owner.__module__.startswith("maseval.")


@cache
def overridden_hooks(mine: type) -> list[str]:
    """Return the hooks that a subclass overrides; refuse those that could not be followed."""
    for name, reason in _REFUSED.items():
        if overrides(mine, name):
            raise ConfigurationError(f"{mine.__name__} overrides {name}, which {reason}")
    return [name for name in _HOOKS if overrides(mine, name)]


class HookedEnvironment(Protocol):
    """The part of an environment by which overrides are carried out."""

    world: World

    def make_tool_call(
        self, tool_name: str, requestor: Requestor = "assistant", **kwargs: Any
    ) -> Any: ...
    def make_user_tool_call(self, tool_name: str, **kwargs: Any) -> Any: ...
    def get_response(
        self,
        tool_name: str,
        requestor: Requestor = "assistant",
        tool_call_id: str = "",
        **kwargs: Any,
    ) -> Mapping[str, Any]: ...
    def to_json_str(self, resp: object) -> str: ...
    def sync_tools(self) -> None: ...


class Overrides:
    """Answers the calls of an environment whose class overrides hooks.

    ``tools`` are each side's tools as the override returns them; a side without any has the
    original's. ``plain`` are those among them that the override left as they were.
    """

    def __init__(self, hooks: list[str], environment: HookedEnvironment, original: World) -> None:
        self.hooks = hooks
        self._environment = environment
        self._original = original
        self._reached: list[dict[str, Any]] | None = None
        self._make = self._call_original
        self.tools: dict[Requestor, Mapping[str, Tool]] = {}
        self.plain: set[Tool] = set()

    @property
    def is_answering(self) -> bool:
        """True while an overridden tool works: calls that it makes are part of its answer."""
        return self._reached is not None

    def recording_tools(
        self,
        side: Requestor,
        toolkit: ToolKitBase[Any] | None,
        record: Callable[[str, Tool, Requestor], Tool],
    ) -> dict[str, Tool]:
        """Return one side's tools as functions that record their calls."""
        known, tools = toolkit.tools if toolkit else {}, dict(self.tools[side])
        for name, tool in tools.items():
            if isinstance(tool, _FUNCTIONS) and tool not in self.plain:
                # A wrapper that does not describe itself is described as what it wraps.
                described = tool if tool.__doc__ or name not in known else known[name]
                tools[name] = record(name, described, side)
        return tools

    def definitions(self, original: list[dict[str, Any]], side: Requestor) -> list[dict[str, Any]]:
        """Return the definitions of one side's tools; those that are added describe themselves."""
        tools = self.tools.get(side)
        if tools is None:
            return original
        known = {each["function"]["name"]: each for each in original}
        return [known.get(name) or tool_definition(tools[name], name=name) for name in tools]

    def respond(self, call: Tau2ToolCall) -> ToolMessage:
        """Answer a call through the overridden hooks."""
        if self.is_answering:
            # An overridden ``get_response`` that asks the original's comes here again, and now
            # means the tool.
            make, self._make = self._make, self._call_original
            return tool_message(call, text_or_error(make, call))
        before = self._states()
        reached: list[dict[str, Any]] = []
        self._reached = reached
        try:
            content, error = self._answer(call)
        finally:
            self._reached, self._make = None, self._call_original
        only = reached[0] if len(reached) == 1 else {}
        if only.get("content") == content:  # a tool that a wrapper calls returns errors as texts
            error = only["error"]
        message = tool_message(call, (content, error))
        wrote = self._has_written(before)
        same = {**call, "content": content, "error": error}
        if not wrote and only and all(same[key] == only[key] for key in only):
            return message
        override: Override = {"tool": call["name"], "calls": reached, "wrote": wrote}
        return cast(ToolMessage, {**message, OVERRIDE: override})

    def reach(self, name: str, requestor: Requestor, arguments: Mapping[str, Any]) -> Any:
        """Call a tool of the original, in both worlds."""
        if self._reached is not None:
            call: Tau2ToolCall = {
                "name": name,
                "arguments": copy.deepcopy(dict(arguments)),
                "requestor": requestor,
            }
            content, error = self._original.answer(call)
            self._reached.append({**call, "content": content, "error": error})
        return self._environment.world.call(name, requestor, arguments)

    def settle(self) -> None:
        """Synchronise both worlds, as the loop does after every step."""
        self._environment.sync_tools()
        self._original.settle()

    def _answer(self, call: Tau2ToolCall) -> ToolAnswer:
        if "get_response" not in self.hooks or collides(call["arguments"]):
            return text_or_error(self._call_tool, call)
        self._make = self._call_tool  # for the original's, which answers the call itself
        arguments = copy.deepcopy(call["arguments"])
        made = partial(self._environment.get_response, call["name"], call["requestor"], call["id"])
        try:
            answer = made(**arguments)
        except Exception as exception:  # a tool called by a model: its error is an answer
            return f"Error: {exception}", True
        return answer["content"], bool(answer["error"])

    def _call_tool(self, call: Tau2ToolCall) -> Any:
        name, tools = call["name"], self.tools.get(call["requestor"])
        if tools is None:
            return self._call_original(call)
        if name not in tools:
            raise ValueError(f"Tool '{name}' not found.")
        if tools[name] in self.plain:
            return self._call_original(call)
        # A tool may change what it is given, and the record must not change with it.
        result = tools[name](**copy.deepcopy(call["arguments"]))
        self._environment.sync_tools()
        return self._environment.to_json_str(result)

    def _call_original(self, call: Tau2ToolCall) -> Any:
        name, requestor, arguments = call["name"], call["requestor"], call["arguments"]
        if collides(arguments):  # such a name cannot be passed on through a hook
            return self.reach(name, requestor, arguments)
        if requestor == "user":
            result = self._environment.make_user_tool_call(name, **arguments)
        else:
            result = self._environment.make_tool_call(name, requestor=requestor, **arguments)
        self._environment.sync_tools()
        return self._environment.to_json_str(result)

    def _states(self) -> tuple[WorldState, WorldState]:
        return self._environment.world.state(), self._original.state()

    def _has_written(self, before: tuple[WorldState, WorldState]) -> bool:
        """Return True if the live databases changed by something else than the original's tools."""
        (live_then, original_then), (live, original) = before, self._states()
        parted = live_then == original_then and live != original
        return parted or (original_then == original and live_then != live)
