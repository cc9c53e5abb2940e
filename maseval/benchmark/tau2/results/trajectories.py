"""Simulations from trajectories in ATIF: those of ours, and those of other programs.

Ours name their task, domain, release and ending in ``extra.maseval``. Of others, the user names
the task, and whatever else is missing; nothing is guessed. A recorded verdict is only compared.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self, cast

from maseval.benchmark.tau2.domains.releases import RELEASES
from maseval.benchmark.tau2.formats.message import Tau2Message, is_user_stop
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.results.layout import (
    RESULTS_NAME,
    ResultsFormatError,
    layout_of,
    open_json,
)
from maseval.benchmark.tau2.results.reading import ResultsFile
from maseval.benchmark.tau2.results.recorded import Claims
from maseval.core.exceptions import ConfigurationError
from maseval.core.perturbation import PERTURB
from maseval.core.recorded import mapping
from maseval.core.storage import strict_json
from maseval.core.words import text_or_none
from maseval.exchange.atif import (
    Trajectory,
    TrajectoryError,
    extension_of,
    read_trajectory,
    trajectory_files,
)

_NAMED = ("domain", "task_id", "termination_reason")


@dataclass(frozen=True)
class TaskNames:
    """The user's names of tasks: one for all trajectories, or for each by its id or file name."""

    task: str | None = None
    by_name: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    @classmethod
    def of(cls, given: str | None) -> Self:
        """Parse the value of ``--task``: a task's id, or the path of a JSON file."""
        if given is None or not given.endswith(".json"):
            return cls(given)
        try:
            found = strict_json.loads(Path(given).read_bytes())
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"the tasks in {given} cannot be read: {error}") from None
        tasks: dict[str, Mapping[str, object]] = {}
        for name, entry in mapping(found).items():
            told = {"task_id": entry} if isinstance(entry, str) else mapping(entry)
            if not told or (other := told.keys() - {*_NAMED}):
                odd = f"{sorted(other)[0]!r}" if told else repr(entry)
                raise ConfigurationError(
                    f"{given}, {name}: {odd} is not known; give a task id, or an object with "
                    f"{', '.join(_NAMED)}"
                )
            tasks[name] = told
        if not tasks:
            raise ConfigurationError(f"{given} should be an object of tasks by trajectory")
        return cls(None, tasks)

    def about(self, names: Iterable[str | None]) -> Mapping[str, object]:
        """Return what is said of the trajectory with one of these names."""
        if self.task is not None:
            return {"task_id": self.task}
        return next((self.by_name[name] for name in names if name and name in self.by_name), {})


class TrajectoryFile(ResultsFile):
    """Trajectories, read like a results file: one in a file, one a line, or a folder of files."""

    def __init__(self, path: str | os.PathLike[str], task: str | None = None) -> None:
        self.path, self.layout = Path(path), "trajectories"
        self._files_in_folder = trajectory_files(self.path) if self.path.is_dir() else []
        self._names = TaskNames.of(task)

    @cached_property
    def raw_info(self) -> Mapping[str, object]:
        """The agent and the user that all trajectories have in common."""
        found: dict[str, set[str | None]] = {"agent": set(), "model": set(), "user": set()}
        perturb: Mapping[str, Any] = {}
        with suppress(ResultsFormatError):  # reported again when the trajectories are read
            for value in self._values():
                agent, own = mapping(value, "agent"), extension_of(value)
                found["agent"].add(text_or_none(agent.get("name")))
                found["model"].add(text_or_none(agent.get("model_name")))
                found["user"].add(text_or_none(own.get("user_model")))
                perturb = perturb or mapping(own, PERTURB)
        common = {key: each.pop() if len(each) == 1 else None for key, each in found.items()}
        return {
            "agent_info": {"implementation": common["agent"], "llm": common["model"]},
            "user_info": {"implementation": None, "llm": common["user"]},
            PERTURB: perturb,
        }

    @cached_property
    def claims(self) -> Claims:
        return Claims(name=self.path.name, perturb=mapping(self.raw_info, PERTURB) or None)

    def _values(self) -> Iterator[object]:
        if not self.path.is_dir():
            yield from super()._values()
        for file in self._files_in_folder:
            with open_json(file) as stream:
                yield stream.value()

    def _read(self, index: int, value: object) -> dict[str, Any]:
        file = self._files_in_folder[index] if self._files_in_folder else self.path
        root = mapping(value)
        session = text_or_none(root.get("session_id"))
        where = text_or_none(root.get("trajectory_id")) or session or file.name
        try:
            found = read_trajectory(value)
            told = self._names.about((found.id, session, file.name))
            record = _simulation(found, told, file.name)
            version = text_or_none(found.own.get("version"))
            if version is not None and version not in RELEASES:
                releases = ", ".join(RELEASES)
                raise TrajectoryError(f"extra.maseval.version: {version!r} is none of {releases}")
        except TrajectoryError as error:
            raise ResultsFormatError(
                f"{self.path}, trajectory {index} ({where}): {error}"
            ) from None
        domain = text_or_none(told.get("domain") or found.own.get("domain"))
        solo = found.own.get("solo") is True
        report = self._make_report(index, record, domain=domain, solo=solo)
        report["config"]["environment"]["version"] = version
        if found.own.get("lenient") is True:
            report["config"]["benchmark"] = {"tau2": {"lenient_order_ids": True}}
        return report


def read_results(path: str | os.PathLike[str], task: str | None = None) -> ResultsFile:
    """Open a results file, or trajectories; only its kind is determined yet.

    ``task`` names the task of trajectories that do not say it, or a JSON file that does.
    """
    folder = Path(path)
    if folder.is_dir():
        # A results folder of v1.0.1 has a JSON file for each simulation as well.
        is_atif = not (folder / RESULTS_NAME).is_file() and bool(trajectory_files(folder))
    else:
        is_atif = layout_of(folder) == "trajectories"
    return TrajectoryFile(path, task) if is_atif else ResultsFile(path)


def _simulation(found: Trajectory, told: Mapping[str, object], file: str) -> dict[str, Any]:
    """Return the simulation of a trajectory; raise for what nobody says of it."""
    known = mapping(found.own, "simulation") or _describe(found, file)
    if "evaluation" in known:
        raise TrajectoryError("it is of another benchmark; only those of tau2 are judged again")
    record: dict[str, Any] = {
        "messages": found.messages,
        **known,
        **{key: each for key, each in told.items() if key != "domain"},
    }
    # Ours say everything themselves.
    if not found.own:
        _require(record)
    return record


def _describe(found: Trajectory, file: str) -> dict[str, Any]:
    """Return what a stranger's trajectory says of the simulation by itself."""
    times = [each["timestamp"] for each in found.messages if each.get("timestamp")]
    costs = [each["cost"] for each in found.messages if each.get("cost") is not None]
    last = [cast("Tau2Message", each) for each in found.messages[-1:]]
    stopped = any(each["role"] == "user" and is_user_stop(each) for each in last)
    return {
        "id": found.id or file,
        "start_time": times[0] if times else "",
        "end_time": times[-1] if times else "",
        "duration": _seconds(times),
        "termination_reason": TerminationReason.USER_STOP.value if stopped else None,
        "agent_cost": sum(costs) if costs else None,
        # A stranger's record has what the agent asked for, and not what its user cost.
        "user_cost": None,
    }


def _seconds(times: list[str]) -> float:
    try:
        first, last = (datetime.fromisoformat(each) for each in (times[0], times[-1]))
        return (last - first).total_seconds()
    except (IndexError, TypeError, ValueError):
        return 0.0


def _require(record: Mapping[str, object]) -> None:
    missing = {
        "task_id": "its task is not named: give --task ID, or --task FILE.json with a task for "
        "each trajectory",
        "termination_reason": "it does not say how it ended: name a termination_reason, such as "
        "agent_stop, in the file of --task FILE.json",
    }
    words = [each for key, each in missing.items() if record.get(key) is None]
    if words:
        raise TrajectoryError("; ".join(words))
