"""What a benchmark adds to the commands that take any run, such as ``report`` and ``show``.

A run's configuration names its benchmark. To let one contribute, subclass ``BenchmarkSupport`` and
name the module here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Protocol

from maseval.app.results.counting import ConventionScore, LabelCounts
from maseval.app.results.recording import SimulationLine
from maseval.app.results.task_names import TaskName
from maseval.core.outcome import TaskKey
from maseval.core.report import Report
from maseval.core.scoring_options import ScoringOptions
from maseval.core.shapes import mapping
from maseval.report.index import TaskFindings
from maseval.runs import RunFolder, Simulation
from maseval.runs.folder import Recording
from maseval.stats import Outcome, outcomes_of

_SUPPORT = {
    "tau2": "maseval.benchmark.tau2.app.results.support",
    "macs": "maseval.benchmark.macs.app.support",
}
_PACKAGE = "maseval.benchmark."

OnProgress = Callable[[int, int], object]
"""Called with how many simulations have been explained, and of how many."""

OnScored = Callable[[int], object]
"""Called with the number of simulations scored so far."""


class Section(NamedTuple):
    """One part of an explanation; ``lines`` keep their own indentation."""

    title: str
    lines: Sequence[str] = ()


class Diagnosis(Protocol):
    """Who failed in a simulation, and why."""

    @property
    def name(self) -> str:
        """The label: ``agent: wrong arguments`` and the like."""

    def sections(self) -> list[Section]:
        """In words."""

    def for_page(self) -> dict[str, object]:
        """In the form that the HTML report shows."""


class WorldTimeline(Protocol):
    """What a simulation's databases were like after each message."""

    def to_dict(self) -> Mapping[str, object]:
        """In the form that the viewer shows."""

    def search_form(self, words: str, message: int | None) -> Mapping[str, object]:
        """The records with these words in them after a message, or at the start."""


@dataclass(frozen=True)
class RunDiagnosis:
    """The diagnosis of every simulation of a run, None for those that passed."""

    found: Mapping[Simulation, Diagnosis | None]
    labels: LabelCounts


class RecordedOutcomes(NamedTuple):
    """The outcomes of a results file or a run, of how many planned, and under which settings.

    ``notes`` say what is wrong with the record. ``tasks`` has a hash of each task's content, as
    far as it is known.
    """

    outcomes: Sequence[Outcome]
    planned: int
    config: Mapping[str, object]
    notes: Sequence[str] = ()
    tasks: Mapping[TaskKey, str] = MappingProxyType({})


class BenchmarkSupport:
    """What the commands ask of a run's benchmark; this one has nothing to add."""

    def diagnosis(self, report: Report) -> Diagnosis | None:
        """Why a simulation failed."""
        return None

    def run_diagnosis(
        self, folder: Recording, on_progress: OnProgress | None
    ) -> RunDiagnosis | None:
        """Why the simulations of a run failed."""
        return None

    def explanation_obstacle(self, folder: Recording) -> str | None:
        """Why the failures of a run cannot be explained here; None if they can."""
        return None

    def timeline(self, report: Report) -> WorldTimeline | None:
        """The state of the world after each message; None if there is no such world."""
        return None

    def conventions(
        self, folder: Recording, lines: Sequence[SimulationLine]
    ) -> Sequence[ConventionScore]:
        """The run's numbers in each way that the benchmark has to count errors, if it has any."""
        return ()

    def task_title(self, report: Report) -> str | None:
        """What the task of a simulation is about, in a sentence; None if nobody says."""
        return None

    def findings(self, folder: Recording) -> TaskFindings:
        """What is wrong with the tasks of a run themselves, by domain and id."""
        return {}

    def certificate(self, folder: RunFolder) -> str | None:
        """A record of the run's recomputed numbers; None if the benchmark has no such thing."""
        return None

    def certificate_differences(self, certificate: Path, folder: RunFolder) -> list[str]:
        """Where a run is not what a certificate says."""
        return []

    def other_data(self, folder: RunFolder) -> list[str]:
        """Where the data of the benchmark that is here differs from what a run was made with."""
        return []

    def settings(self, folder: RunFolder) -> dict[str, object]:
        """A run's configuration, as it is compared with that of others."""
        return folder.config.without_notes()

    def holds_results(self, path: Path) -> bool:
        """Whether it is a results file of the benchmark's own; reads no further than needed."""
        return False

    def recording(self, path: Path, options: ScoringOptions) -> Recording | None:
        """A results file of the benchmark's own as a run to look at; None if it is not one."""
        return None

    def recorded_outcomes(
        self, path: Path, options: ScoringOptions, on_progress: OnScored | None = None
    ) -> RecordedOutcomes | None:
        """What a results file of the benchmark's own holds; None if it is not one."""
        return None

    def run_outcomes(
        self, folder: RunFolder, options: ScoringOptions, on_progress: OnScored | None = None
    ) -> RecordedOutcomes:
        """The outcomes of a run's finished simulations."""
        outcomes, settings = outcomes_of(folder.reports()), self.settings(folder)
        tasks = _fingerprints(folder)
        if tasks:
            settings.pop("data")
        return RecordedOutcomes(outcomes, len(folder.planned), settings, tasks=tasks)


def _fingerprints(folder: RunFolder) -> dict[TaskKey, str]:
    """The hash of each task's content, where ``data`` has one for each task."""
    data = mapping(folder.config.values, "data")
    named = {TaskName(one.domain, one.task_id) for one in folder.planned}
    return {TaskKey(*name): str(data[str(name)]) for name in named if str(name) in data}


def support_for(folder: Recording) -> BenchmarkSupport:
    """What the benchmark of a run adds."""
    name = str(folder.config.values.get("benchmark"))
    if name.startswith(_PACKAGE):  # named like any other: maseval.benchmark.macs...:NAME
        name = name.removeprefix(_PACKAGE).partition(".")[0].partition(":")[0]
    home = _SUPPORT.get(name)
    return BenchmarkSupport() if home is None else _load(home)


def all_support() -> Iterator[BenchmarkSupport]:
    """What each known benchmark adds."""
    return map(_load, _SUPPORT.values())


def _load(home: str) -> BenchmarkSupport:
    support: BenchmarkSupport = import_module(home).SUPPORT
    return support
