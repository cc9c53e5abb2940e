"""Results files: what tau2-bench wrote, and what we wrote, one simulation at a time.

Three forms are recognised by their content, packed with gzip or not:

* a results file of tau2-bench v0.2.0 or v1.0.x: one object with ``info``, ``tasks`` and
  ``simulations``, in any order;
* a folder of v1.0.x: the same object in ``results.json``, each simulation in a file of its own;
* one object a line that holds a ``simulation``, and may hold its ``domain`` and verdict.

After tau2-bench v0.2.0, src/tau2/data_model/simulation.py (MIT, Sierra Research).
"""

import logging
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from maseval.benchmark.tau2.conversation.recording import is_full_duplex
from maseval.benchmark.tau2.data import VARIANT_MARK
from maseval.benchmark.tau2.domains import DOMAINS
from maseval.benchmark.tau2.domains.releases import DEFAULT_RELEASE
from maseval.benchmark.tau2.formats.simulation import RawTask, RunInfo, SimulationForm
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
from maseval.benchmark.tau2.results.recorded import (
    BY_DEFAULT,
    BY_FORM,
    Claims,
    OnMalformed,
    report_of_malformed,
    report_of_recorded,
)
from maseval.benchmark.tau2.world.state.records import hash_json
from maseval.core.outcome import MOST_SIMULATIONS
from maseval.core.recorded import mapping, whole_number
from maseval.core.report import Report
from maseval.core.storage.redaction import redact
from maseval.core.storage.strict_json import MAX_DEPTH, is_shallow
from maseval.core.words import count_of, text_or_none

logger = logging.getLogger(__name__)

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


class ResultsFile:
    """A results file, or folder, that may be larger than memory. Iterating gives the simulations.

    Its reports are judged like those of a run of our own.

    Each iteration reads the file from the start. A file that is cut off gives its whole
    simulations and then a ``ResultsFormatError``.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if self.path.is_dir():
            self.path /= RESULTS_NAME
        layout = layout_of(self.path)
        if layout is None:
            raise ResultsFormatError(
                f"{self.path}: neither a results file (an object with 'simulations') nor lines "
                "that hold a simulation, nor trajectories in ATIF"
            )
        self.layout: Layout = layout

    def __iter__(self) -> Iterator[SimulationForm]:
        for report in self.reports():
            yield cast(SimulationForm, report["traces"]["environment"]["simulation"])

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
        tasks = self._member("tasks") or []
        if not isinstance(tasks, list):
            raise ResultsFormatError(
                f"{self.path}, tasks: should be a list, found {abbreviate(tasks)}"
            )
        forms = [
            check_form(TASK, task, f"{self.path}, tasks[{index}]")
            for index, task in enumerate(tasks)
        ]
        return {form["id"]: form for form in forms}

    @cached_property
    def claims(self) -> Claims:
        """The claims of the file about itself, with a hash of all its settings; lines make none."""
        if self.layout == "lines":
            return Claims(name=self.path.name)
        # Forks write the form of v0.2.0, too; only a later one says something.
        is_later = self.form != DEFAULT_RELEASE.name
        info = self.raw_info
        trials = whole_number(info.get("num_trials"))
        sides = {side: mapping(info, f"{side}_info") for side in _SIDES}
        return Claims(
            name=self.path.name,
            domain_name=recorded_domain(info),
            tasks=self.tasks,
            policy=text_or_none(mapping(info, "environment_info").get("policy")),
            num_trials=trials if trials is not None and trials > 0 else None,
            version=self.form if is_later else None,
            version_from=BY_FORM if is_later else BY_DEFAULT,
            seed=whole_number(info.get("seed")),
            setup={
                **{
                    side: {key: text_or_none(given.get(key)) for key in ("implementation", "llm")}
                    for side, given in sides.items()
                },
                **{key: info.get(key) for key in ("max_steps", "max_errors", "seed", "num_trials")},
                "info_sha256": hash_json(info),
            },
        )

    def reports(self, on_malformed: OnMalformed | None = None) -> Iterator[Report]:
        """Yield a report for each simulation, with the verdict that is recorded.

        A simulation that is not in v0.2.0's form goes to ``on_malformed`` as an error, without
        which the error is raised. An error in the file itself is always raised.
        """
        for index, value in enumerate(self._values()):
            # A packed file of a few kilobytes may hold simulations without end.
            if index == MOST_SIMULATIONS:
                raise ResultsFormatError(
                    f"{self.path} holds more than {MOST_SIMULATIONS:,} simulations; split it"
                )
            try:
                report = self._read(index, value)
            except ResultsFormatError as error:
                if on_malformed is None:
                    raise
                on_malformed(error)
                task_id = error.details.get("task_id")
                if task_id is None:
                    continue
                # As it stands in the file, which may be anything.
                trial = error.details.get("trial")
                domain = text_or_none(error.details.get("domain"))
                report = report_of_malformed(task_id, trial if is_trial(trial) else None, domain)
            yield cast(Report, report)

    def _member(self, wanted: str) -> Any:
        """Return one part of a results file, read no further than needed."""
        if self.layout == "lines":
            return None
        with open_json(self.path) as stream:
            for key in stream.members():
                if key == wanted:
                    value = stream.value()
                    if not is_shallow(value, MAX_DEPTH):
                        raise ResultsFormatError(
                            f"{self.path}, {wanted}: nested more than {MAX_DEPTH} levels deep"
                        )
                    return value
                stream.skip()
        return None

    def _values(self) -> Iterator[object]:
        if self.layout == "directory":
            yield from self._files()
            return
        count = 0
        try:
            with JsonFile(self.path) as stream:
                # One object after the other, whatever white space is between them.
                lines = iter(lambda: stream.value() if stream.peek() else _END, _END)
                whole = self.layout == "results"
                for value in listed_simulations(stream, self.path) if whole else lines:
                    yield value
                    count += 1
        except JsonStreamError as error:
            raise ResultsFormatError(
                f"{self.path}, after {count_of(count, 'whole simulation')}: {error}"
            ) from error

    def _files(self) -> Iterator[object]:
        files = simulation_files(self.path, self._member("simulation_index"))
        for file in files:
            with open_json(file) as stream:
                yield stream.value()

    def _read(self, index: int, value: object) -> dict[str, Any]:
        if self.layout == "lines":
            return self._from_line(index, value)
        domain, solo, voice = self._setting
        if voice:
            raise ResultsFormatError(f"{self.path}, simulation {index}: {NOT_SUPPORTED}")
        return self._make_report(index, value, domain=domain, solo=solo)

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
        try:
            first = next(self._values(), None)
            if first is not None:
                # v1.0.1 writes this key into every simulation, and v0.2.0 does not know it.
                later = "mode" in mapping(first)
            else:
                with open_json(self.path) as stream:
                    later = "simulation_index" in set(member_names(stream))
        except ResultsFormatError:  # reported again when the simulations are read
            return "0.2.0"
        return "1.0.1" if later else "0.2.0"

    def _from_line(self, index: int, value: Any) -> dict[str, Any]:
        match value:
            case {"simulation": simulation}:
                return self._make_report(
                    index,
                    simulation,
                    domain=value.get("domain"),
                    solo=bool(value.get("solo")),
                    verdict=value.get("reward_info"),
                )
            case {"messages": _}:
                return self._make_report(index, value)
            case _:
                raise ResultsFormatError(
                    f"{self.path}, line {index}: holds no simulation, but {abbreviate(value)}"
                )

    def _make_report(
        self,
        index: int,
        value: object,
        *,
        domain: str | None = None,
        solo: bool = False,
        verdict: object = None,
    ) -> dict[str, Any]:
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
            error.details["domain"] = domain
            raise
        beside = None
        if verdict is not None:
            beside = check_form(REWARD_INFO, verdict, f"{where}, reward_info")
        return report_of_recorded(
            cast(Mapping[str, object], simulation),
            domain=domain,
            solo=solo,
            verdict=cast("Mapping[str, object] | None", beside),
        )
