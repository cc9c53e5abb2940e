"""``maseval tau2 play``: one simulation in which a person plays the agent or the customer.

It is run like every other, into a run folder, by the same rules, and judged in the same way.
"""

import shutil
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any

from maseval.app.results.recording import line_of
from maseval.app.results.results import RunResult
from maseval.app.running.options import takes
from maseval.benchmark.tau2.app.running.cast import CastBenchmark
from maseval.benchmark.tau2.app.running.options import ConversationOptions, PlayOptions, RunOptions
from maseval.benchmark.tau2.app.running.participants import ModelSpec, OwnAgent, SeatedHuman
from maseval.benchmark.tau2.app.running.run import PreparedRun, run_prepared
from maseval.benchmark.tau2.app.running.simulation_thread import SimulationThread, wait_until
from maseval.benchmark.tau2.app.running.tasks import named_domain
from maseval.benchmark.tau2.conversation.continuation import Continuation
from maseval.benchmark.tau2.conversation.recording import read_recording
from maseval.benchmark.tau2.formats.message import Requestor, Tau2Message, tool_calls_of
from maseval.benchmark.tau2.players.human import Seat
from maseval.benchmark.tau2.results.reports import environment_of
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.outcome import OutcomeKind
from maseval.core.shapes import mapping
from maseval.runs import RunFolder, Simulation
from maseval.runs.config_file import CONFIG
from maseval.server import ModelServer

SIDES: Mapping[str, Requestor] = {"agent": "assistant", "user": "user"}
DEFAULT_DOMAIN = "library"
"""Small, and here without a download."""


class PlayInterruptedError(MASEvalError):
    """The person went away in the midst of a simulation, which can be played again."""

    fatal_for_run = True


@dataclass(frozen=True)
class PlayedRun(PreparedRun):
    """The run of one task, into a folder that may have other tasks already."""

    @cached_property
    def config(self) -> dict[str, object]:
        """The configuration of the folder with this task added."""
        config = super().config
        if not self.is_resumed:
            return config
        before = RunFolder.read(self.path).config.values
        return {
            **config,
            "tasks": _merged(mapping(before, "tasks"), mapping(config, "tasks")),
            "data": {**mapping(before, "data"), **mapping(config, "data")},
        }

    @property
    def is_resumed(self) -> bool:
        """Whether the folder is that of a run."""
        return (self.path / CONFIG).exists()


def _merged(before: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, list[str]]:
    domains = dict.fromkeys([*before, *added])
    return {
        name: list(dict.fromkeys([*before.get(name, ()), *added.get(name, ())])) for name in domains
    }


class Play:
    """A simulation with a person in it: ``seat`` is where that person plays."""

    def __init__(
        self,
        prepared: PlayedRun,
        seat: Seat,
        simulation: Simulation,
        past: Sequence[Tau2Message] = (),
    ) -> None:
        self.seat = seat
        self.folder = prepared.path
        self.simulation = simulation
        self.other = _other_side(prepared)
        """Who plays the other side."""
        self._is_new = not prepared.is_resumed
        self._thread = SimulationThread(
            lambda: run_prepared(prepared, partial(_benchmark, prepared, past)),
            seat.end,
            simulation=simulation,
        )

    @property
    def is_over(self) -> bool:
        """Whether it has ended and is recorded."""
        return self._thread.is_over

    def start(self) -> None:
        """Begin the conversation, in a thread of its own."""
        self._thread.start()

    def interrupt(self) -> None:
        """End it now; what happened is recorded, and the same call plays it again."""
        self.seat.leave(PlayInterruptedError("interrupted by the person who plays"))
        wait_until(lambda: self.is_over)

    def result(self) -> RunResult:
        """What became of it, once it is over; raises what kept it from being run."""
        wait_until(lambda: self.is_over)
        found = self._thread.outcome()
        assert found is not None  # an end without a result is an error
        return found

    @property
    def has_verdict(self) -> bool:
        """Whether it was played to an end that counts; else it can be played again."""
        folder = RunFolder.read(self.folder)
        return self.simulation in folder.recorded and self.simulation not in folder.missing()

    @property
    def outcome(self) -> OutcomeKind | None:
        """Whether it passed, once it is over; None if nothing was recorded."""
        folder = RunFolder.read(self.folder)
        if self.simulation not in folder.recorded:
            return None
        return line_of(folder.report(self.simulation)).outcome

    def drop(self) -> bool:
        """Delete what was recorded, if this play made the folder; says whether it did."""
        if self._is_new and self.is_over:
            with suppress(OSError):
                shutil.rmtree(self.folder)
        return not self.folder.exists()


def _benchmark(
    prepared: PlayedRun, past: Sequence[Tau2Message], server: ModelServer | None
) -> CastBenchmark:
    """The usual one, whose conversation begins with the ``past`` if there is any."""
    benchmark = CastBenchmark(prepared.setup, server, prepared.prices)
    if past:
        benchmark.orchestrator = partial(Continuation, past=past)
    return benchmark


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
    human = SeatedHuman(SIDES[options.side], seat)
    prepared = PlayedRun.of(RunOptions(**_run_options(options), human=human))
    played = _played(prepared)
    [(domain, tasks)] = prepared.tasks.items()
    left = [task for task in tasks if Simulation(domain, str(task.id), 0) not in played]
    if not left:
        named = f"task {tasks[0].id}" if options.task_id else "every task"
        raise ConfigurationError(
            f"{named} of {domain} has been played in {prepared.path}; choose another task, or "
            "another folder (--output)"
        )
    prepared = replace(prepared, tasks={domain: left[:1]})
    prepared.check()
    simulation = Simulation(domain, str(left[0].id), 0)
    past = _interrupted(prepared, simulation) if options.resume else []
    return Play(prepared, seat, simulation, past)


def _interrupted(prepared: PlayedRun, simulation: Simulation) -> list[Tau2Message]:
    """What was said and done in a conversation that can be continued."""
    # An agent of a framework has forgotten what was said.
    if not prepared.is_resumed or isinstance(prepared.setup.agent, OwnAgent):
        return []
    folder = RunFolder.read(prepared.path)
    if simulation not in folder.recorded:
        return []
    report = folder.report(simulation)
    if mapping(report, "error").get("error_type") != PlayInterruptedError.__name__:
        return []
    recorded = mapping(environment_of(report), "simulation")
    past = list(read_recording(recorded).messages) if recorded else []
    while past and tool_calls_of(past[-1]):  # never answered
        past.pop()
    return past


def _played(prepared: PlayedRun) -> Collection[Simulation]:
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


def _run_options(options: PlayOptions) -> dict[str, Any]:
    return {
        **{each.name: getattr(options, each.name) for each in fields(ConversationOptions)},
        "domain": named_domain(options.domain or DEFAULT_DOMAIN),
        "task_id": [options.task_id] if options.task_id else (),
        "agent": options.agent or ("llm" if options.agent_model else "gold"),
        "agent_model": options.agent_model,
        "agent_args": options.agent_args,
        "concurrency": 1,
    }


def _other_side(prepared: PlayedRun) -> str:
    setup = prepared.setup
    other = setup.user if isinstance(setup.agent, SeatedHuman) else setup.agent
    match other:
        case ModelSpec():
            return other.model_id
        case OwnAgent():
            return other.name
        case str() if isinstance(setup.agent, str):
            return f"the scripted agent {other}"
        case _:
            return "a scripted customer, who recites instructions"
