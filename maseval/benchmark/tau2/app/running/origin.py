"""The simulation that a branch continues: its beginning, and how its run was set up."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from maseval.app.results.finding import trial_numbered, trials_named
from maseval.app.results.recording import name_of
from maseval.app.results.task_names import TaskName
from maseval.benchmark.tau2.app.results.sources import SimulationSource, open_source
from maseval.benchmark.tau2.conversation.continuation import beginning_until, checksum
from maseval.benchmark.tau2.conversation.recording import read_recording
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.benchmark.tau2.formats.message import Tau2Message
from maseval.benchmark.tau2.players.scripts import PLAYERS
from maseval.benchmark.tau2.rescoring.record import RecordItem
from maseval.benchmark.tau2.results import read_results
from maseval.benchmark.tau2.results.reports import environment_of, release_of_report
from maseval.core.exceptions import ConfigurationError
from maseval.core.shapes import Shape, mapping, number, text_or_none
from maseval.core.storage.redaction import REDACTED
from maseval.runs import RunFolder, Simulation

TAU2 = "tau2"
"""What the configuration of a run calls this benchmark."""


class NothingToBranchError(ConfigurationError):
    """The simulation has no conversation that could be continued."""


@dataclass(frozen=True)
class Recalled:
    """A recorded simulation, by which release it was run, and how its run was set up.

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
    """A simulation up to one of its messages."""

    run: str
    recalled: Recalled
    at: int
    past: Sequence[Tau2Message]

    def to_config(self) -> dict[str, object]:
        """For the configuration of the run that continues it."""
        one = self.recalled.simulation
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
    """A simulation of a run or of a results file, up to message ``at``."""
    source = open_source(run)
    if source.folder is None:
        recalled = _in_file(source, task, trial, domain, data_version)
    else:
        recalled = _in_run(source.folder, task, trial)
    if not recalled.messages:
        raise NothingToBranchError(f"{recalled.simulation} has no messages to continue")
    past = beginning_until(recalled.messages, at, ended=recalled.ended)
    return Origin(_name(source), recalled, at, past)


def _name(source: SimulationSource) -> str:
    return source.path.name if source.folder is None else name_of(source.folder)


def _in_run(folder: RunFolder, task: str, trial: int | None) -> Recalled:
    trials = trials_named(task, folder.planned, folder.recorded, folder.path)
    chosen = trials[0] if trial is None else trial_numbered(trial, trials)
    report = folder.report(chosen)
    recorded = mapping(environment_of(report), "simulation")
    if not recorded:
        if folder.config.values.get("benchmark", TAU2) != TAU2:
            raise NothingToBranchError(
                f"{folder.path} is a run of another benchmark; only a conversation of tau2 can be "
                "continued"
            )
        raise NothingToBranchError(
            f"{chosen} has no recorded conversation; `maseval show {folder.path}` shows why"
        )
    environment = mapping(report, "config", "environment")
    recording = read_recording(recorded)
    return Recalled(
        chosen,
        recording.messages,
        recording.termination_reason is not None,
        release_of_report(report).name,
        bool(environment.get("solo")),
        _settings(folder.config.values),
    )


def _in_file(
    source: SimulationSource,
    task: str,
    trial: int | None,
    domain: str | None,
    data_version: str | None,
) -> Recalled:
    every = [_named(item) for item in source.simulations(domain, data_version).items]
    trials = trials_named(task, every, every, source.path)
    chosen = trials[0] if trial is None else trial_numbered(trial, trials)
    items = source.simulations(domain, data_version).items
    item = next(each for each in items if _named(each) == chosen)
    if item.problem is not None:
        raise NothingToBranchError(f"{chosen} cannot be continued: it is {item.problem}")
    version = release_named(item.version).name
    messages = read_recording(item.simulation, messages_required=False).messages
    return Recalled(chosen, messages, True, version, item.solo, _file_settings(source.path))


def _named(item: RecordItem) -> Simulation:
    simulation = item.simulation
    return Simulation(item.domain.name, str(simulation["task_id"]), simulation.get("trial") or 0)


def _settings(config: Shape) -> dict[str, object]:
    """How a run of ours was set up, as options of the run that continues it."""
    names = ("max_steps", "max_errors", "seed", "mode")
    texts, judge = mapping(config, "texts").get("name"), mapping(config, "judge").get("model")
    found = {name: config[name] for name in names if name in config}
    found |= {"texts": texts} if texts in ("original", "ours") else {}
    found |= {"judge_model": judge} if judge else {}
    return found | _agent(mapping(config, "agent")) | _user(config.get("user"))


def _agent(given: Shape) -> dict[str, object]:
    if "player" in given:
        noise = {"error_rate": given["error_rate"]} if "error_rate" in given else {}
        return {"agent": given["player"], "agent_args": noise}
    if "function" in given:
        return {"agent_function": given["function"]}
    prompt = {"agent_prompt": given["prompt"]} if "prompt" in given else {}
    return {"agent": "llm", **_model("agent", given), **prompt} if given.get("model") else {}


def _user(given: object) -> dict[str, object]:
    if isinstance(given, Mapping):
        return {"user": "llm", **_model("user", mapping(given))}
    return {"user": given} if given else {}


def _model(role: str, given: Shape) -> dict[str, object]:
    known = {**mapping(given, "args"), **mapping(given, "options")}
    args = {name: value for name, value in known.items() if REDACTED not in str(value)}
    return {f"{role}_model": given["model"], f"{role}_args": args}


def _file_settings(path: Path) -> dict[str, object]:
    """How the run of a results file was set up, as far as the file says."""
    file = read_results(path)
    info = {} if file.layout == "lines" else file.raw_info
    found: dict[str, object] = {}
    for name in ("max_steps", "max_errors", "seed"):
        if (limit := number(info.get(name))) is not None:
            found[name] = int(limit)
    for role in ("agent", "user"):
        found |= _side(role, mapping(info, f"{role}_info"))
    return found


def _side(role: str, given: Shape) -> dict[str, object]:
    kind, model = given.get("implementation"), text_or_none(given.get("llm"))
    if kind in PLAYERS and role == "agent":
        return {"agent": kind}
    if model is None:
        return {}
    asked = {"model": model, "args": mapping(given, "llm_args")}
    return {role: "llm", **_model(role, asked)}
