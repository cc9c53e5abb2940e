"""The current repetition: its clock, its components, and what has been said in it.

Whoever watches a run asks ``Conversations`` from another thread; repetitions do nothing for it.
"""

import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, ParamSpec, TypeVar

from maseval.core.clock import Clock, acting_agent, acting_as
from maseval.core.exceptions import NoRepetitionError
from maseval.core.messages import Message, text_of
from maseval.core.registry import ComponentRegistry, UsageTotals
from maseval.core.task.task import RepetitionKey
from maseval.core.tracing import JsonObject

P = ParamSpec("P")
R = TypeVar("R")


class TaskContext(Clock):
    """One repetition's clock and components.

    Code inside a repetition gets it from ``TaskContext.current()``, for example to stop early with
    ``check_timeout()``. Async code inherits it; pass a function to a bare thread or an executor as
    ``TaskContext.bind(function)``.
    """

    def __init__(
        self,
        deadline: float | None = None,
        *,
        registry: ComponentRegistry | None = None,
        simulation: tuple[str, int] | None = None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(deadline, simulation=simulation, stopping=stopping)
        self.registry = (
            registry if registry is not None else ComponentRegistry(totals=UsageTotals())
        )

    @staticmethod
    def current() -> "TaskContext":
        """Return the repetition in which this code runs."""
        context = Clock.here()
        if not isinstance(context, TaskContext):
            raise NoRepetitionError(
                "no repetition is running here; call this from a setup hook, run_agents or an "
                "evaluator, and hand functions to threads as TaskContext.bind(function)"
            )
        return context

    @staticmethod
    def bind(function: Callable[P, R]) -> Callable[P, R]:
        """``function`` bound to the repetition and the agent here, in whichever thread it runs."""
        # Now, and not in the thread, which inherits neither of them.
        context, agent = TaskContext.current(), acting_agent()

        @functools.wraps(function)
        def bound(*args: P.args, **kwargs: P.kwargs) -> R:
            with context.active(), acting_as(agent):
                return function(*args, **kwargs)

        return bound


class Said(NamedTuple):
    """The last message of a conversation, and how many there were."""

    role: str
    text: str
    messages: int


class Conversations:
    """The conversations of a run that are going on in this process; may be asked from any thread.

    Each step below is one operation of a dict, which needs no lock.
    """

    def __init__(self) -> None:
        self._here: dict[RepetitionKey, ComponentRegistry] = {}

    def __reduce__(self) -> tuple[type["Conversations"], tuple[()]]:
        """Another process has conversations of its own."""
        return Conversations, ()

    @contextmanager
    def open(self, key: RepetitionKey, registry: ComponentRegistry) -> Iterator[None]:
        """While the context is open, the repetition runs in this process."""
        self._here[key] = registry
        try:
            yield
        finally:
            # A repetition that ran out of time may outlive the beginning of its next attempt.
            if self._here.get(key) is registry:
                self._here.pop(key, None)

    def last(self, key: RepetitionKey) -> Said | None:
        """Return the last message of a repetition; None if unknown."""
        registry = self._here.get(key)
        return None if registry is None else last_said(registry)


def _messages_of(participant: object) -> Any:
    ask = getattr(participant, "get_messages", None)
    return ask() if callable(ask) else getattr(participant, "messages", None)


def last_said(registry: ComponentRegistry) -> Said | None:
    """Return the latest message of all agents and the user; None before there is one."""
    answers = map(_last_of, registry.components_in("user", "agents").values())
    known = [answer for answer in answers if answer is not None]
    if not known:
        return None
    _, last = max(known, key=lambda answer: answer[0])
    return last._replace(messages=max(said.messages for _, said in known))


def _last_of(participant: object) -> tuple[str, Said] | None:
    """Return the last message of an agent or a user, with its timestamp."""
    try:
        messages = _messages_of(participant)
        if not messages:
            return None
        last: Message = messages[-1]
        calls = [call["function"] for call in last.get("tool_calls") or ()]
        text = text_of(last) or ", ".join(f"{call['name']}({call['arguments']})" for call in calls)
        return last.get("timestamp") or "", Said(last["role"], text, len(messages))
    except Exception:  # a framework's memory, read while the framework writes to it
        return None


_CALLBACKS = "callbacks"


class BenchmarkComponents:
    """The registries of one benchmark.

    Code inside a repetition has the repetition's. The hooks of callbacks have that of the whole
    run, whose components are reported with every repetition. Outside a run, as in a notebook or a
    unit test, there is one that lasts; only its callbacks take part in runs.
    """

    def __init__(
        self, totals: UsageTotals, benchmark_config: Callable[[], Mapping[str, object]]
    ) -> None:
        self._totals = totals
        self._benchmark_config = benchmark_config
        self._by_hand = ComponentRegistry(totals=totals)
        self._of_run: ComponentRegistry | None = None
        self._run_thread: threading.Thread | None = None

    def here(self) -> ComponentRegistry:
        """Return the registry of the code that asks; a bare thread in a run has none."""
        if not isinstance(Clock.here(), TaskContext):
            if self._of_run is None:
                return self._by_hand
            # The hooks of callbacks are called in the thread that runs the benchmark.
            if self._run_thread is threading.current_thread():
                return self._of_run
        return TaskContext.current().registry

    def configs(self) -> JsonObject:
        registry = self.here()
        if registry is self._by_hand:  # only now: the machine's facts take a while to find out
            registry.update_benchmark_config(self._benchmark_config())
        return registry.collect_configs()

    @contextmanager
    def whole_run(self, callbacks: Iterable[object]) -> Iterator[ComponentRegistry]:
        """Yield the registry of a run that takes place in this thread."""
        shared = self.shared_registry(callbacks)
        self._of_run, self._run_thread = shared, threading.current_thread()
        try:
            yield shared
        finally:
            shared.collect_usage()
            shared.close()
            self._of_run = self._run_thread = None

    def shared_registry(self, callbacks: Iterable[object]) -> ComponentRegistry:
        """Return a registry for several repetitions, with the callbacks that gather traces."""
        shared = ComponentRegistry(self._benchmark_config(), totals=self._totals)
        for key, component in self._by_hand.components_in(_CALLBACKS).items():
            shared.register(*key, component)
        for callback in callbacks:
            shared.include(_CALLBACKS, callback)
        return shared
