"""Where a benchmark's components are registered: with a repetition, a whole run, or by hand."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from maseval.core.clock import Clock
from maseval.core.context import TaskContext
from maseval.core.registry import ComponentRegistry, UsageTotals
from maseval.core.tracing import JsonObject

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
        """The registry of the code that asks; a bare thread in a run has none."""
        if not isinstance(Clock.here(), TaskContext):
            if self._of_run is None:
                return self._by_hand
            if self._run_thread is threading.current_thread():
                return self._of_run
        return TaskContext.current().registry

    def configs(self) -> JsonObject:
        """The configuration of all components here."""
        registry = self.here()
        if registry is self._by_hand:  # only now: the machine's facts take a while to find out
            registry.update_benchmark_config(self._benchmark_config())
        return registry.collect_configs()

    @contextmanager
    def whole_run(self, callbacks: Iterable[object]) -> Iterator[ComponentRegistry]:
        """The registry of a run that takes place in this thread."""
        shared = self.shared(callbacks)
        self._of_run, self._run_thread = shared, threading.current_thread()
        try:
            yield shared
        finally:
            shared.collect_usage()
            shared.close()
            self._of_run = self._run_thread = None

    def shared(self, callbacks: Iterable[object]) -> ComponentRegistry:
        """The components of several repetitions: callbacks that gather traces of their own."""
        shared = ComponentRegistry(self._benchmark_config(), totals=self._totals)
        shared.include_all_of(self._by_hand, _CALLBACKS)
        for callback in callbacks:
            shared.include(_CALLBACKS, callback)
        return shared
