"""The simulation that a branch continues: its beginning, and the settings of its run.

It is found in a run folder or in a results file of tau2-bench. An agent of the user's own is never
loaded from a record, since loading runs code.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from maseval.app.results.finding import trial_numbered, trials_named
from maseval.app.results.recording import name_of
from maseval.app.results.task_names import TaskName
from maseval.benchmark.tau2.app.results.recorded_setup import RecordedSetup
from maseval.benchmark.tau2.app.results.sources import SimulationSource, open_source, simulation_id
from maseval.benchmark.tau2.conversation.continuation import beginning_until, checksum
from maseval.benchmark.tau2.conversation.recording import read_recording
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.benchmark.tau2.formats.message import Tau2Message
from maseval.benchmark.tau2.players.agent import PLAYERS
from maseval.benchmark.tau2.results import read_results
from maseval.benchmark.tau2.results.reports import Tau2Report
from maseval.core.exceptions import ConfigurationError
from maseval.runs import RunFolder, Simulation


@dataclass(frozen=True)
class OriginConversation:
    """A recorded simulation, its release, and the settings of its run as options of a run.

    ``ended`` is False if it broke off, as by a failing provider.
    """

    simulation: Simulation
    messages: Sequence[Tau2Message]
    ended: bool
    version: str
    solo: bool
    settings: Mapping[str, object]


@dataclass(frozen=True)
class Origin:
    """A recorded simulation up to message ``at``."""

    run: str
    recorded: OriginConversation
    at: int
    past: Sequence[Tau2Message]

    def to_config(self) -> dict[str, object]:
        """Return the origin for the configuration of the run that continues it."""
        one = self.recorded.simulation
        return {
            "run": self.run,
            "task": str(TaskName(one.domain, one.task_id)),
            "trial": one.trial,
            "at": self.at,
            "messages": len(self.past),
            "sha256": checksum(self.past),
        }


def find_origin(
    run: str | os.PathLike[str],
    task: str,
    trial: int | None,
    at: int,
    *,
    domain: str | None = None,
    data_version: str | None = None,
) -> Origin:
    """Find a simulation of a run or of a results file, up to message ``at``."""
    source = open_source(run)
    if source.folder is None:
        name, recorded = source.path.name, _find_in_file(source, task, trial, domain, data_version)
    else:
        name, recorded = name_of(source.folder), _find_in_run(source.folder, task, trial)
    if not recorded.messages:
        raise ConfigurationError(f"{recorded.simulation} has no messages to continue")
    past = beginning_until(recorded.messages, at, ended=recorded.ended)
    return Origin(name, recorded, at, past)


def _find_in_run(folder: RunFolder, task: str, trial: int | None) -> OriginConversation:
    trials = trials_named(task, folder.planned, folder.recorded, folder.path)
    chosen = trials[0] if trial is None else trial_numbered(trial, trials)
    report, setup = Tau2Report(folder.report(chosen)), RecordedSetup.of(folder.config.values)
    simulation = report.simulation.raw
    if not simulation:
        raise ConfigurationError(
            f"{chosen} has no recorded conversation; `maseval show {folder.path}` shows why"
        )
    recording = read_recording(simulation)
    return OriginConversation(
        chosen,
        recording.messages,
        recording.termination_reason is not None,
        report.release.name,
        report.solo,
        _run_settings(setup),
    )


def _find_in_file(
    source: SimulationSource,
    task: str,
    trial: int | None,
    domain: str | None,
    data_version: str | None,
) -> OriginConversation:
    every = [simulation_id(item) for item in source.simulations(domain, data_version).items]
    trials = trials_named(task, every, every, source.path)
    chosen = trials[0] if trial is None else trial_numbered(trial, trials)
    items = source.simulations(domain, data_version).items
    item = next(each for each in items if simulation_id(each) == chosen)
    if item.problem is not None:
        raise ConfigurationError(f"{chosen} cannot be continued: it is {item.problem}")
    messages = read_recording(item.simulation, messages_required=False).messages
    settings = _file_settings(RecordedSetup.of_file(read_results(source.path)))
    version = release_named(item.version).name
    return OriginConversation(chosen, messages, True, version, item.solo, settings)


def _run_settings(setup: RecordedSetup) -> dict[str, object]:
    """Return the settings of a run folder as options of the run that continues it."""
    agent, user = setup.agent, setup.user
    options = dict(setup.limits)
    if setup.mode is not None:
        options["mode"] = setup.mode
    if setup.texts in ("original", "ours"):
        options["texts"] = setup.texts
    if setup.judge:
        options["judge_model"] = setup.judge
    if agent.player is not None:
        noise = {} if agent.error_rate is None else {"error_rate": agent.error_rate}
        options |= {"agent": agent.player, "agent_args": noise}
    elif agent.function is not None:
        options["agent_function"] = agent.function
    elif agent.model:
        prompt = {} if agent.prompt is None else {"agent_prompt": agent.prompt}
        options |= agent.model_options("agent") | prompt
    if user.model:
        return options | user.model_options("user")
    return options | ({"user": user.player} if user.player else {})


def _file_settings(setup: RecordedSetup) -> dict[str, object]:
    """Return the settings of a results file as options; it names no texts and no judge."""
    options = dict(setup.limits)
    if setup.agent.player in PLAYERS:
        options["agent"] = setup.agent.player
    elif setup.agent.model:
        options |= setup.agent.model_options("agent")
    return options | (setup.user.model_options("user") if setup.user.model else {})
