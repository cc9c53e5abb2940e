"""``maseval tau2 play``: one simulation in which a person plays the agent or the customer.

It is run like every other, into a run folder, by the same rules, and judged in the same way. A
folder may be played into task after task. A conversation that was interrupted is continued.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from maseval.app.results.recording import lines_of
from maseval.app.results.results import RunResult
from maseval.app.running.options import takes
from maseval.benchmark.tau2.app.results.support import RecordedSetup
from maseval.benchmark.tau2.app.running.options import PlayOptions, RunOptions
from maseval.benchmark.tau2.app.running.prepared import OwnAgent, RecordedStart
from maseval.benchmark.tau2.app.running.run import Tau2Run
from maseval.benchmark.tau2.conversation.recording import read_recording
from maseval.benchmark.tau2.formats.message import Requestor, tool_calls_of
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.players.human import Person, PlayInterruptedError, SeatView
from maseval.core.engine.engines import CallingThreadEngine
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import RecordedReport, Simulation
from maseval.core.report import TaskExecutionStatus
from maseval.runs import RunFolder
from maseval.runs.config_file import is_run_folder

_ENDINGS = {
    TerminationReason.USER_STOP: "the customer has left",
    TerminationReason.AGENT_STOP: "the agent has ended it",
    TerminationReason.MAX_STEPS: "the step limit is reached",
    TerminationReason.TOO_MANY_ERRORS: "too many tool calls have failed",
    TerminationReason.TIMEOUT: "the time limit is reached",
}


def describe_end(result: RunResult, simulation: Simulation | None = None) -> str:
    """Return how the conversation of a run ended; ``simulation`` says which, if it has several."""
    return f"The conversation is over: {_ending(result, simulation)}."


def _ending(result: RunResult, simulation: Simulation | None) -> str:
    if not result.ran:
        return "it took place earlier, and is in the run folder"
    lines = lines_of(RunFolder.read(result.folder))
    line = next((one for one in lines if simulation in (None, one.simulation)), None)
    if line is None:
        return "it was interrupted"
    if line.status == TaskExecutionStatus.TASK_TIMEOUT.value:
        return "the time limit is reached"
    failed = f"it failed ({line.error or line.status})"
    return _ENDINGS.get(TerminationReason(line.ended), failed) if line.ended else failed


SIDES: dict[str, Requestor] = {"agent": "assistant", "user": "user"}
DEFAULT_DOMAIN = "library"
"""The domain that is small, and here without a download."""


@dataclass(frozen=True)
class PlayedRun(Tau2Run):
    """The run of one task, into a folder that may have other tasks already."""

    @cached_property
    def folder(self) -> RunFolder | None:
        """The folder as it was before, if it was named and has been played into."""
        named = self.options.output is not None and is_run_folder(self.path)
        return RunFolder.read(self.path) if named else None

    @cached_property
    def config(self) -> dict[str, object]:
        """The configuration of the folder with this task added."""
        config: dict[str, Any] = dict(super().config)
        if self.folder is None:
            return config
        before = RecordedSetup.of(self.folder.config.values)
        tasks = {
            domain: list(
                dict.fromkeys([*before.tasks.get(domain, ()), *config["tasks"].get(domain, ())])
            )
            for domain in dict.fromkeys([*before.tasks, *config["tasks"]])
        }
        return {**config, "tasks": tasks, "data": {**before.data, **config["data"]}}


class PlayedTask(NamedTuple):
    """A simulation with a person in it: how it ended, and what the person saw at last.

    Without a verdict, the same call to ``play`` continues it.
    """

    run: RunResult
    simulation: Simulation
    has_verdict: bool
    ending: str
    view: SeatView | None


@takes(PlayOptions)
def play(options: PlayOptions) -> PlayedTask:
    """Let a person play one side of a task, in this thread.

    ``ask`` is called for each message of the person. If it raises ``KeyboardInterrupt``, the
    simulation is recorded as far as it came. In a folder that has been played into, other tasks are
    added to the run; without ``task_id`` the next one that has not been played. What was
    interrupted there is continued where it was. ``side`` is ``agent`` or ``user``.
    """
    if options.side not in SIDES:
        raise ConfigurationError(f"side is {options.side!r}; choose one of: {', '.join(SIDES)}")
    _check_other_side(options)
    person = Person(SIDES[options.side], options.ask)
    run_options = RunOptions.of(
        options,
        domain=options.domain or DEFAULT_DOMAIN,
        task_id=[options.task_id] if options.task_id else (),
        agent=options.agent or ("llm" if options.agent_model else "gold"),
        concurrency=1,
        engine=CallingThreadEngine(),
        human=person,
    )
    prepared = PlayedRun.of(run_options)
    folder = prepared.folder
    played = folder.recorded.keys() - set(folder.missing()) if folder else ()
    [(domain, tasks)] = prepared.tasks.items()
    left = [task for task in tasks if Simulation(domain, str(task.id), 0) not in played]
    if not left:
        subject = f"task {tasks[0].id}" if options.task_id else "every task"
        raise ConfigurationError(
            f"{subject} of {domain} has been played in {prepared.path}; choose another task, or "
            "another folder (--output)"
        )
    simulation = Simulation(domain, str(left[0].id), 0)
    # An agent of a framework has forgotten what was said.
    forgets = isinstance(prepared.agent, OwnAgent)
    start = None if folder is None or forgets else _interrupted_start(folder, simulation)
    prepared = replace(prepared, tasks={domain: left[:1]}, start=start)
    prepared.check()
    result = prepared.execute()
    folder = RunFolder.read(result.folder)
    judged = simulation in folder.recorded and simulation not in folder.missing()
    return PlayedTask(result, simulation, judged, describe_end(result, simulation), person.view)


def _interrupted_start(folder: RunFolder, simulation: Simulation) -> RecordedStart | None:
    """Return the messages of a conversation that was interrupted and can be continued."""
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


def _check_other_side(options: PlayOptions) -> None:
    mine, others = ("agent", "user") if options.side == "agent" else ("user", "agent")
    for name in (mine, f"{mine}_model", f"{mine}_args"):
        if getattr(options, name):
            raise ConfigurationError(
                f"{name} is set, but you play the {mine}; choose who plays the other side with "
                f"--{others} or --{others}-model"
            )
