"""``maseval tau2 play``: one simulation in which a person plays the agent or the customer.

It is run like every other, into a run folder, by the same rules, and judged in the same way. A
folder may be played into task after task. A conversation that was interrupted is continued.
"""

import shutil
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from maseval.app.results.recording import lines_of
from maseval.app.results.results import RunResult
from maseval.app.running.folder_run import new_folder
from maseval.app.running.options import takes
from maseval.benchmark.tau2.app.results.recorded_setup import RecordedSetup
from maseval.benchmark.tau2.app.running.options import Human, OnResult, PlayOptions, RunOptions
from maseval.benchmark.tau2.app.running.run import PreparedRun
from maseval.benchmark.tau2.app.running.run_benchmark import RecordedStart
from maseval.benchmark.tau2.app.running.setup import ModelSpec, OwnAgent, RunSetup
from maseval.benchmark.tau2.app.running.tasks import domain_name
from maseval.benchmark.tau2.conversation.recording import read_recording
from maseval.benchmark.tau2.formats.message import Requestor, tool_calls_of
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.players.human import Seat
from maseval.core.exceptions import ConfigurationError, RunInterruptedError
from maseval.core.outcome import RecordedReport, Simulation
from maseval.core.report import TaskExecutionStatus
from maseval.runs import RunFolder
from maseval.runs.config_file import is_run_folder

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
    line = next((one for one in lines if simulation in (None, one.simulation)), None)
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


SIDES: Mapping[str, Requestor] = {"agent": "assistant", "user": "user"}
DEFAULT_DOMAIN = "library"
"""The domain that is small, and here without a download."""


class PlayInterruptedError(RunInterruptedError):
    """The person went away in the midst of a simulation, which can be played again."""


@dataclass(frozen=True)
class PlayedRun(PreparedRun):
    """The run of one task, into a folder that may have other tasks already."""

    @cached_property
    def config(self) -> dict[str, object]:
        """The configuration of the folder with this task added."""
        config: dict[str, Any] = dict(super().config)
        if not self.is_resumed:
            return config
        before = RecordedSetup.of(RunFolder.read(self.path).config.values)
        tasks = {
            domain: list(
                dict.fromkeys([*before.tasks.get(domain, ()), *config["tasks"].get(domain, ())])
            )
            for domain in dict.fromkeys([*before.tasks, *config["tasks"]])
        }
        return {**config, "tasks": tasks, "data": {**before.data, **config["data"]}}

    @property
    def is_resumed(self) -> bool:
        """True if the folder is that of a run."""
        return is_run_folder(self.path)


class Play(SimulationThread):
    """A simulation with a person in it: ``seat`` is where that person plays."""

    def __init__(self, prepared: PlayedRun, seat: Seat, simulation: Simulation) -> None:
        super().__init__(prepared.execute, seat.end, simulation=simulation)
        self.seat, self.folder, self.simulation = seat, prepared.path, simulation
        self.other = _other_side(prepared.setup)
        """The name of whoever plays the other side."""
        self._is_new = not prepared.is_resumed

    def interrupt(self) -> None:
        """End it, if it is not over; it is recorded, and the same call plays it again."""
        if self.is_over:
            return
        self.seat.leave(PlayInterruptedError("interrupted by the person who plays"))
        wait_until(lambda: self.is_over)

    def result(self) -> RunResult:
        """Wait for the end and return the result; raises what kept it from being run."""
        wait_until(lambda: self.is_over)
        found = self.run_result()
        assert found is not None  # an end without a result is an error
        return found

    @property
    def has_verdict(self) -> bool:
        """True if it was played to an end that counts; else it can be played again."""
        folder = RunFolder.read(self.folder)
        return self.simulation in folder.recorded and self.simulation not in folder.missing()

    def drop(self) -> bool:
        """Delete the folder, if this play made it; returns whether it is gone."""
        if self._is_new and self.is_over:
            with suppress(OSError):
                shutil.rmtree(self.folder)
        return not self.folder.exists()


@takes(PlayOptions)
def play(options: PlayOptions) -> Play:
    """Let a person play one side of a task; the conversation begins with ``start``.

    In a folder that has been played into, other tasks are added to the run; without ``task_id`` the
    next one that has not been played. What was interrupted there is continued where it was, unless
    ``resume`` is false. ``side`` is ``agent`` or ``user``.
    """
    if options.side not in SIDES:
        raise ConfigurationError(f"side is {options.side!r}; choose one of: {', '.join(SIDES)}")
    _check_other_side(options)
    seat = Seat()
    prepared = PlayedRun.of(_run_options(options, Human(SIDES[options.side], seat)))
    played = _finished_simulations(prepared)
    [(domain, tasks)] = prepared.tasks.items()
    left = [task for task in tasks if Simulation(domain, str(task.id), 0) not in played]
    if not left:
        subject = f"task {tasks[0].id}" if options.task_id else "every task"
        raise ConfigurationError(
            f"{subject} of {domain} has been played in {prepared.path}; choose another task, or "
            "another folder (--output)"
        )
    simulation = Simulation(domain, str(left[0].id), 0)
    start = _interrupted_start(prepared, simulation) if options.resume else None
    prepared = replace(prepared, tasks={domain: left[:1]}, start=start)
    prepared.check()
    if options.output is None:
        path = new_folder(prepared.path)
        prepared = replace(prepared, path=path, options=replace(prepared.options, output=path))
    return Play(prepared, seat, simulation)


def _interrupted_start(prepared: PlayedRun, simulation: Simulation) -> RecordedStart | None:
    """Return the messages of a conversation that was interrupted and can be continued."""
    # An agent of a framework has forgotten what was said.
    if not prepared.is_resumed or isinstance(prepared.setup.agent, OwnAgent):
        return None
    folder = RunFolder.read(prepared.path)
    if simulation not in folder.recorded:
        return None
    report = RecordedReport(folder.report(simulation))
    if report.error.type != PlayInterruptedError.__name__:
        return None
    recorded = report.simulation.raw
    past = list(read_recording(recorded).messages) if recorded else []
    while past and tool_calls_of(past[-1]):  # never answered
        past.pop()
    return RecordedStart(past) if past else None


def _finished_simulations(prepared: PlayedRun) -> Collection[Simulation]:
    if not prepared.is_resumed:
        return ()
    folder = RunFolder.read(prepared.path)
    return folder.recorded.keys() - set(folder.missing())


def _check_other_side(options: PlayOptions) -> None:
    mine, others = ("agent", "user") if options.side == "agent" else ("user", "agent")
    for name in (mine, f"{mine}_model", f"{mine}_args"):
        if getattr(options, name):
            raise ConfigurationError(
                f"{name} is set, but you play the {mine}; choose who plays the other side with "
                f"--{others} or --{others}-model"
            )


def _run_options(options: PlayOptions, human: Human) -> RunOptions:
    return RunOptions(
        **options.shared_with_run(),
        domain=domain_name(options.domain or DEFAULT_DOMAIN),
        task_id=[options.task_id] if options.task_id else (),
        agent=options.agent or ("llm" if options.agent_model else "gold"),
        agent_model=options.agent_model,
        agent_args=options.agent_args,
        concurrency=1,
        human=human,
    )


def _other_side(setup: RunSetup) -> str:
    other = setup.user if isinstance(setup.agent, Human) else setup.agent
    match other:
        case ModelSpec():
            return other.model_id
        case OwnAgent():
            return other.name
        case str() if isinstance(setup.agent, str):
            return f"the scripted agent {other}"
        case _:
            return "a scripted customer, who recites instructions"
