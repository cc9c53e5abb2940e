"""SimulationThread: the run of one task, while somebody outside plays one of its sides."""

import threading
import time
from collections.abc import Callable

from maseval.app.results.recording import lines_of, simulation_in
from maseval.app.results.results import RunResult
from maseval.benchmark.tau2.app.running.options import OnResult
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.core.report import TaskExecutionStatus
from maseval.runs import RunFolder, Simulation

_TICK = 0.1
_ENDINGS = {
    TerminationReason.USER_STOP: "the customer has left",
    TerminationReason.AGENT_STOP: "the agent has ended it",
    TerminationReason.MAX_STEPS: "the limit of steps is reached",
    TerminationReason.TOO_MANY_ERRORS: "too many tool calls have failed",
    TerminationReason.TIMEOUT: "the time for it is up",
}


class SimulationThread:
    """Runs a simulation and reports how it ended.

    Args:
        run: Runs it into its folder.
        on_end: Called with how it ended, last of all: the process may be ended by then.
        on_result: Called before that with the result, if there is one.
        simulation: The one of the folder, if there are several.
    """

    def __init__(
        self,
        run: Callable[[], RunResult],
        on_end: Callable[[str], object],
        on_result: OnResult = lambda result, how: None,
        simulation: Simulation | None = None,
    ) -> None:
        self._simulation = simulation
        self._run, self._on_end, self._on_result = run, on_end, on_result
        self._result: RunResult | None = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._play, daemon=True, name="maseval-simulation")
        self._over = threading.Event()

    @property
    def is_over(self) -> bool:
        """True once the simulation has ended and is recorded."""
        return self._over.is_set()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def _play(self) -> None:
        try:
            self._result = self._run()
            how = _describe_end(self._result, self._simulation)
        except Exception as error:  # raised again in the thread that waits
            self._error = error
            how = "the simulation could not be run"
        words = f"The conversation is over: {how}."
        try:
            if self._result is not None:
                self._on_result(self._result, words)
        finally:
            self._on_end(words)
            self._over.set()

    def run_result(self) -> RunResult | None:
        """Return the result; raises what kept the simulation from being run."""
        if self._error is not None:
            raise self._error
        return self._result


def _describe_end(result: RunResult, simulation: Simulation | None) -> str:
    if not result.ran:
        return "it had been held before, and is in the run folder"
    lines = lines_of(RunFolder.read(result.folder))
    line = next((one for one in lines if simulation in (None, simulation_in(one))), None)
    if line is None:
        return "it was interrupted"
    if line.status == TaskExecutionStatus.TASK_TIMEOUT.value:
        return "the time for it is up"
    failed = f"it failed ({line.error or line.status})"
    return _ENDINGS.get(TerminationReason(line.ended), failed) if line.ended else failed


def wait_until(condition: Callable[[], bool]) -> None:
    """Return once the condition holds."""
    # In short naps: on some systems nothing but the end of a wait lets Ctrl-C through.
    while not condition():
        time.sleep(_TICK)
