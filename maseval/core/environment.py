"""Environment: the world an agent acts in, and the tools it acts with."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from maseval.core.exceptions import ConfigurationError
from maseval.core.tracing import ConfigurableMixin, JsonObject, TraceableMixin


class Environment(ABC, TraceableMixin, ConfigurableMixin):
    """A fresh world for one repetition, created from the task's environment data.

    ``state`` is the return value of :meth:`setup_state` and ``tools`` maps names to tools; the
    benchmark decides their types. The data may also be passed as ``environment_data``; callbacks
    have the hooks of an ``EnvironmentCallback``.
    """

    state: Any
    tools: dict[str, Any]

    def __init__(
        self,
        task_data: dict[str, object] | None = None,
        callbacks: Iterable[Any] | None = None,
        *,
        environment_data: dict[str, object] | None = None,
    ) -> None:
        data = only_one(task_data, environment_data)
        self.callbacks: list[Any] = list(callbacks or ())
        for callback in self.callbacks:
            callback.on_setup_start(self)
        # By position: subclasses name the parameter as they like.
        self.state = self.setup_state(data)
        self._equip()
        for callback in self.callbacks:
            callback.on_setup_end(self)

    def _equip(self) -> None:
        self.tools = self.create_tools()

    @abstractmethod
    def setup_state(self, task_data: dict[str, Any]) -> object:
        """Return the initial state."""

    @abstractmethod
    def create_tools(self) -> dict[str, Any]:
        """Return the tools by name; called once, after the state is set up."""

    def get_tools(self) -> dict[str, Any]:
        return self.tools

    def get_tool(self, name: str) -> Any | None:
        return self.tools.get(name)

    def gather_traces(self) -> JsonObject:
        return {
            **super().gather_traces(),
            "tool_count": len(self.tools),
            "tools": {name: _traces_of(tool) for name, tool in self.tools.items()},
        }

    def gather_config(self) -> JsonObject:
        return {
            **super().gather_config(),
            "tool_count": len(self.tools),
            "tool_names": list(self.tools),
        }


def only_one(
    task_data: dict[str, Any] | None, environment_data: dict[str, Any] | None
) -> dict[str, Any]:
    """Return the data of a task's environment, by whichever of its two names it was given."""
    if task_data is not None and environment_data is not None:
        raise ConfigurationError(
            "task_data and environment_data are two names for one thing; give only one of them"
        )
    data = environment_data if task_data is None else task_data
    return {} if data is None else data


def _traces_of(tool: Any) -> JsonObject:
    """Return a tool's traces: its own, its invocations, those of its simulator, or none."""
    if hasattr(tool, "gather_traces"):
        traces: JsonObject = tool.gather_traces()
        return traces
    kind = type(tool).__name__
    if hasattr(getattr(tool, "history", None), "to_list"):
        invocations = tool.history.to_list()
        return {"type": kind, "invocations": invocations, "total_invocations": len(invocations)}
    if hasattr(getattr(tool, "simulator", None), "gather_traces"):
        return {"type": kind, "simulator_traces": tool.simulator.gather_traces()}
    return {"type": kind, "has_tracing": False}
