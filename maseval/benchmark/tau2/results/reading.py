"""Results files: what tau2-bench wrote, and what we wrote, one simulation at a time.

Four forms are recognised by their content, packed with gzip or not:

* a results file of tau2-bench v0.2.0 or v1.0.x: one object with ``info``, ``tasks`` and
  ``simulations``, in any order;
* a folder of v1.0.x: the same object in ``results.json``, each simulation in a file of its own;
* one object a line that holds a ``simulation``, and may hold its ``domain`` and verdict;
* trajectories in ATIF: one in a file, one a line, or a folder of files.

After tau2-bench v0.2.0, src/tau2/data_model/simulation.py (MIT, Sierra Research).
"""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2.conversation.recording import is_full_duplex
from maseval.benchmark.tau2.data import VARIANT_MARK
from maseval.benchmark.tau2.domains import DOMAINS
from maseval.benchmark.tau2.formats.simulation import RawTask, RewardInfo, RunInfo, SimulationForm
from maseval.benchmark.tau2.results.layout import (
    NOT_SUPPORTED,
    RESULTS_NAME,
    REWARD_INFO,
    RUN_INFO,
    SIMULATION,
    TASK,
    JsonFile,
    JsonStreamError,
    Layout,
    ResultsFormatError,
    abbreviate,
    check_form,
    is_trial,
    layout_of,
    listed_simulations,
    member_names,
    open_json,
    simulation_files,
)
from maseval.benchmark.tau2.results.trajectories import TaskNames, simulation_of_trajectory
from maseval.core.outcome import MOST_SIMULATIONS
from maseval.core.recorded import mapping
from maseval.core.storage.redaction import redact
from maseval.core.storage.strict_json import MAX_DEPTH, is_shallow
from maseval.core.words import count_of, text_or_none
from maseval.exchange.atif import TrajectoryError, extension_of, trajectory_files

logger = logging.getLogger(__name__)

OnMalformed = Callable[[ResultsFormatError], object]

_SOLO_AGENT = "llm_agent_solo"
_VOICE_USER = "voice_streaming_user_simulator"
_SIDES = "agent", "user"
_END = object()


def recorded_domain(info: Mapping[str, object]) -> str | None:
    """Return the domain that the ``info`` of a results file names, with the way it searches.

    The original has a field for that; files that we once wrote have it in the name.
    """
    name = mapping(info, "environment_info").get("domain_name")
    if not isinstance(name, str):
        return None
    plain = DOMAINS.get(name)
    retrieval = info.get("retrieval_config")
    if plain is None or retrieval is None or retrieval == plain.retrieval:
        return name
    variant = f"{name}{VARIANT_MARK}{retrieval}"
    return variant if variant in DOMAINS else name


@dataclass(frozen=True)
class RecordedSimulation:
    """A simulation of a file, with what the file says about it elsewhere.

    ``verdict`` is the simulation's own ``reward_info``, or the one beside it. ``version`` is the
    release by which it was run, and ``lenient`` says that its tools were: trajectories of ours
    record both.
    """

    simulation: SimulationForm
    domain: str | None
    solo: bool = False
    verdict: RewardInfo | None = None
    version: str | None = None
    lenient: bool = False


class ResultsFile:
    """A results file, or folder, that may be larger than memory. Iterating gives the simulations.

    Each iteration reads the file from the start. A file that is cut off gives its whole
    simulations and then a ``ResultsFormatError``.
    """

    def __init__(self, path: str | os.PathLike[str], task: str | None = None) -> None:
        self.path, self._named = Path(path), task
        self._trajectories: list[Path] = []
        if self.path.is_dir() and not (self.path / RESULTS_NAME).is_file():
            self._trajectories = trajectory_files(self.path)
        if self.path.is_dir() and not self._trajectories:
            self.path /= RESULTS_NAME
        layout = layout_of(self._trajectories[0] if self._trajectories else self.path)
        if layout is None:
            raise ResultsFormatError(
                f"{self.path}: neither a results file (an object with 'simulations') nor lines "
                "that hold a simulation, nor trajectories in ATIF"
            )
        self.layout: Layout = layout

    def __iter__(self) -> Iterator[SimulationForm]:
        return (recorded.simulation for recorded in self.records())

    @cached_property
    def info(self) -> RunInfo:
        """The run's ``info``, which a file of lines does not have, without keys and passwords."""
        info = self._member("info")
        if info is None:
            raise ResultsFormatError(f"{self.path}, info: missing")
        return check_form(RUN_INFO, self.raw_info or info, f"{self.path}, info")

    @cached_property
    def raw_info(self) -> Mapping[str, object]:
        """``info`` in the form of the file, which forks may have changed.

        Public files have had the keys of their authors in it: nothing may show those.
        """
        return redact(mapping(self._member("info")))

    @cached_property
    def tasks(self) -> dict[str, RawTask]:
        """The tasks in the file, by id; lines have none."""
        tasks = self._member("tasks") or []
        if not isinstance(tasks, list):
            text = f"{self.path}, tasks: should be a list, found {abbreviate(tasks)}"
            raise ResultsFormatError(text)
        forms = [
            check_form(TASK, task, f"{self.path}, tasks[{index}]")
            for index, task in enumerate(tasks)
        ]
        return {form["id"]: form for form in forms}

    def records(self, on_malformed: OnMalformed | None = None) -> Iterator[RecordedSimulation]:
        """Yield each simulation with its domain, mode and verdict.

        A simulation that is not in v0.2.0's form goes to ``on_malformed`` as an error, without
        which the error is raised. An error in the file itself is always raised.
        """
        read = {"lines": self._from_line, "trajectories": self._from_trajectory}.get(
            self.layout, self._from_results
        )
        for index, value in enumerate(self._values()):
            if index == MOST_SIMULATIONS:
                text = f"{self.path} holds more than {MOST_SIMULATIONS:,} simulations; split it"
                raise ResultsFormatError(text)
            try:
                recorded = read(index, value)
            except ResultsFormatError as error:
                if on_malformed is None:
                    raise
                on_malformed(error)
            else:
                yield recorded

    def _member(self, wanted: str) -> Any:
        """Return one part of a results file, read no further than needed."""
        if self.layout == "lines":
            return None
        if self.layout == "trajectories":
            return self._common_info if wanted == "info" else None
        with open_json(self.path) as stream:
            for key in stream.members():
                if key == wanted:
                    value = stream.value()
                    if not is_shallow(value, MAX_DEPTH):
                        text = f"{self.path}, {wanted}: nested more than {MAX_DEPTH} levels deep"
                        raise ResultsFormatError(text)
                    return value
                stream.skip()
        return None

    def _values(self) -> Iterator[object]:
        if self.layout == "directory" or self._trajectories:
            yield from self._files()
            return
        count = 0
        try:
            with JsonFile(self.path) as stream:
                lines = iter(lambda: stream.value() if stream.peek() else _END, _END)
                whole = self.layout == "results"
                for value in listed_simulations(stream, self.path) if whole else lines:
                    yield value
                    count += 1
        except JsonStreamError as error:
            text = f"{self.path}, after {count_of(count, 'whole simulation')}: {error}"
            raise ResultsFormatError(text) from error

    def _files(self) -> Iterator[object]:
        files = self._trajectories
        if not files:
            files = simulation_files(self.path, self._member("simulation_index"))
        for file in files:
            with open_json(file) as stream:
                yield stream.value()

    def _from_results(self, index: int, value: object) -> RecordedSimulation:
        domain, solo, voice = self._setting
        if voice:
            raise ResultsFormatError(f"{self.path}, simulation {index}: {NOT_SUPPORTED}")
        return self._make_record(index, value, domain=domain, solo=solo)

    @cached_property
    def _setting(self) -> tuple[str | None, bool, bool]:
        """The domain, whether the agent worked alone, and whether they talked, as the file says."""
        try:
            info = mapping(self._member("info"))
        except ResultsFormatError as error:  # reported again after all before it is read
            logger.warning("%s; the simulations come without their domain", error)
            info = {}
        if (domain := recorded_domain(info)) is None:
            return None, False, False
        agent, user = (mapping(info, f"{side}_info").get("implementation") for side in _SIDES)
        voice = info.get("audio_native_config") is not None or user == _VOICE_USER
        return domain, agent == _SOLO_AGENT, voice

    @cached_property
    def form(self) -> str:
        """The release whose form the first simulation has, ``1.0.1`` or ``0.2.0``."""
        if self.layout == "directory":
            return "1.0.1"
        if self.layout == "trajectories":
            return "0.2.0"
        try:
            first = next(self._values(), None)
            if first is not None:
                later = "mode" in mapping(first)
            else:
                with open_json(self.path) as stream:
                    later = "simulation_index" in set(member_names(stream))
        except ResultsFormatError:  # reported again when the simulations are read
            return "0.2.0"
        return "1.0.1" if later else "0.2.0"

    @cached_property
    def _common_info(self) -> Mapping[str, object]:
        """The agent and the user that all trajectories have in common."""
        names: dict[str, set[str | None]] = {"agent": set(), "model": set(), "user": set()}
        with suppress(ResultsFormatError):  # reported again when the trajectories are read
            for value in self._values():
                agent, own = mapping(value, "agent"), extension_of(value)
                names["agent"].add(text_or_none(agent.get("name")))
                names["model"].add(text_or_none(agent.get("model_name")))
                names["user"].add(text_or_none(own.get("user_model")))
        known = {key: each.pop() if len(each) == 1 else None for key, each in names.items()}
        return {
            "agent_info": {"implementation": known["agent"], "llm": known["model"]},
            "user_info": {"implementation": None, "llm": known["user"]},
        }

    @cached_property
    def _names(self) -> TaskNames:
        return TaskNames.of(self._named)

    def _from_trajectory(self, index: int, value: object) -> RecordedSimulation:
        file = self._trajectories[index].name if self._trajectories else self.path.name
        name = mapping(value).get("trajectory_id") or mapping(value).get("session_id")
        where = f"{self.path}, trajectory {index} ({name or file})"
        try:
            found = simulation_of_trajectory(value, self._names, file)
        except TrajectoryError as error:
            raise ResultsFormatError(f"{where}: {error}") from None
        record = self._make_record(index, found.simulation, domain=found.domain, solo=found.solo)
        return replace(record, version=found.version, lenient=found.lenient)

    def _from_line(self, index: int, value: Any) -> RecordedSimulation:
        match value:
            case {"simulation": simulation}:
                return self._make_record(
                    index,
                    simulation,
                    domain=value.get("domain"),
                    solo=bool(value.get("solo")),
                    verdict=value.get("reward_info"),
                )
            case {"messages": _}:
                return self._make_record(index, value)
            case _:
                text = f"{self.path}, line {index}: holds no simulation, but {abbreviate(value)}"
                raise ResultsFormatError(text)

    def _make_record(
        self,
        index: int,
        value: object,
        *,
        domain: str | None = None,
        solo: bool = False,
        verdict: object = None,
    ) -> RecordedSimulation:
        named = f" (id {value['id']!r})" if isinstance(value, dict) and "id" in value else ""
        where = f"{self.path}, simulation {index}{named}"
        if isinstance(value, Mapping) and is_full_duplex(value):
            raise ResultsFormatError(f"{where}: {NOT_SUPPORTED}")
        try:
            simulation = check_form(SIMULATION, value, where)
            if (trial := simulation.get("trial")) is not None and not is_trial(trial):
                raise ResultsFormatError(
                    f"{where}, trial: should be from 0 to {MOST_SIMULATIONS - 1:,}, "
                    f"found {abbreviate(trial)}"
                )
        except ResultsFormatError as error:
            known = mapping(value)
            error.details.update({key: known.get(key) for key in ("task_id", "trial")})
            raise
        recorded = simulation.get("reward_info")
        if verdict is not None:
            recorded = check_form(REWARD_INFO, verdict, f"{where}, reward_info")
        return RecordedSimulation(simulation, domain, solo, recorded)


def read_results(path: str | os.PathLike[str], task: str | None = None) -> ResultsFile:
    """Open a results file; only its kind is determined yet.

    ``task`` names the task of trajectories that do not say it, or a JSON file that does.
    """
    return ResultsFile(path, task)
