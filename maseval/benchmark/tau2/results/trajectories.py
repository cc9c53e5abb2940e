"""Simulations from trajectories in ATIF: those of ours, and those of other programs.

Ours name their task, domain, release and ending in ``extra.maseval``. Of others, the user names
the task, and whatever else is missing; nothing is guessed. A recorded verdict is only compared.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

from maseval.benchmark.tau2.domains.releases import RELEASES
from maseval.benchmark.tau2.formats.message import Tau2Message, is_user_stop
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.core.exceptions import ConfigurationError
from maseval.core.recorded import mapping
from maseval.core.storage import strict_json
from maseval.core.words import text_or_none
from maseval.exchange.atif import Trajectory, TrajectoryError, read_trajectory

_NAMED = ("domain", "task_id", "trial", "termination_reason")


class ImportedSimulation(NamedTuple):
    """A simulation, not checked yet, and its world."""

    simulation: Mapping[str, object]
    domain: str | None
    solo: bool
    version: str | None
    lenient: bool


@dataclass(frozen=True)
class TaskNames:
    """What the user says of trajectories: one task for all, or for each by its id or file name."""

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


def simulation_of_trajectory(value: object, names: TaskNames, file: str) -> ImportedSimulation:
    """Read a trajectory as a simulation; raise ``TrajectoryError`` for what nobody says of it."""
    found = read_trajectory(value)
    told = names.about((found.id, text_or_none(mapping(value).get("session_id")), file))
    known = mapping(found.own, "simulation") or _describe(found, file)
    record: dict[str, Any] = {"messages": found.messages, **known}
    record |= {key: each for key, each in told.items() if key != "domain"}
    if not found.own:
        _require(record)
    version = text_or_none(found.own.get("version"))
    if version is not None and version not in RELEASES:
        releases = ", ".join(RELEASES)
        raise TrajectoryError(f"extra.maseval.version: {version!r} is none of {releases}")
    domain = told.get("domain") or found.own.get("domain")
    flags = (found.own.get(key) is True for key in ("solo", "lenient"))
    solo, lenient = flags
    return ImportedSimulation(record, text_or_none(domain), solo, version, lenient)


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
