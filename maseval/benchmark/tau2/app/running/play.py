"""``maseval tau2 play``: one simulation in which a person plays the agent or the customer.

It is run like every other, into a run folder, by the same rules, and judged in the same way. A
folder may be played into task after task. A conversation that was interrupted is continued.
"""

import shutil
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from maseval.app.results.recording import lines_of
from maseval.app.results.results import RunResult
from maseval.app.running.folder_run import new_folder
from maseval.app.running.options import takes
from maseval.benchmark.tau2.app.results.recorded_setup import RecordedSetup
from maseval.benchmark.tau2.app.running.options import Human, PlayOptions, RunOptions
from maseval.benchmark.tau2.app.running.run import PreparedRun
from maseval.benchmark.tau2.app.running.run_benchmark import RecordedStart
from maseval.benchmark.tau2.app.running.setup import ModelSpec, OwnAgent, RunSetup
from maseval.benchmark.tau2.app.running.tasks import domain_name
from maseval.benchmark.tau2.conversation.recording import read_recording
from maseval.benchmark.tau2.formats.message import Requestor, tool_calls_of
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.players.human import AskPerson, PlayInterruptedError, Seat
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


SIDES: Mapping[str, Requestor] = {"agent": "assistant", "user": "user"}
DEFAULT_DOMAIN = "library"
"""The domain that is small, and here without a download."""


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


class Play:
    """A simulation with a person in it, which ``run`` asks for the moves."""

    def __init__(self, prepared: PlayedRun, seat: Seat, simulation: Simulation) -> None:
        self._prepared = prepared
        self.seat, self.folder, self.simulation = seat, prepared.path, simulation
        self.other = _other_side(prepared.setup)
        """The name of whoever plays the other side."""
        self._is_new = not prepared.is_resumed
        self.ending: str | None = None
        """The words that say how it ended; None until then."""

    def run(self, ask: AskPerson) -> RunResult:
        """Play in this thread until the end; ``ask`` is called for each move of the person.

        If it raises ``KeyboardInterrupt``, the simulation is recorded as far as it came, and the
        same call to ``play`` continues it.
        """
        self.seat.ask = ask
        result = self._prepared.execute()
        self.ending = describe_end(result, self.simulation)
        return result

    @property
    def has_verdict(self) -> bool:
        """True if it was played to an end that counts; else it can be played again."""
        folder = RunFolder.read(self.folder)
        return self.simulation in folder.recorded and self.simulation not in folder.missing()

    def drop(self) -> bool:
        """Delete the folder, if this play made it; returns whether it is gone."""
        if self._is_new:
            with suppress(OSError):
                shutil.rmtree(self.folder)
        return not self.folder.exists()


@takes(PlayOptions)
def play(options: PlayOptions) -> Play:
    """Let a person play one side of a task; the conversation begins with ``run``.

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
        engine=CallingThreadEngine(),
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
