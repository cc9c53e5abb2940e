"""BenchmarkSupport: the answers of a benchmark to the commands that take any run.

A run's configuration names its benchmark. A package that has one offers its support by an entry
point of the group ``maseval.benchmarks``; tau2 and MACS do the same. The name of the entry point is
the benchmark's name in the configuration, or the package or module that holds the benchmark; its
value is an object of a subclass of ``BenchmarkSupport``.

A support that cannot be loaded is an error for the runs of its own benchmark only. Where all
benchmarks are asked, it is left out with a warning in the log.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeVar

from maseval.app.results.clean import PolicyCheck, RunCompliance, run_compliance
from maseval.app.results.counting import ConventionScore
from maseval.app.results.sound import SoundCheck
from maseval.app.results.task_names import TaskName
from maseval.app.results.user_faults import UserCheck
from maseval.core.exceptions import ConfigurationError, ResultFileError
from maseval.core.lazy import find_entry_points
from maseval.core.outcome import RecordedReport, SimulationLine, TaskKey
from maseval.core.recorded import entries, mapping
from maseval.core.report import Report
from maseval.core.scoring_options import ScoringOptions
from maseval.report.index import TaskFindings
from maseval.runs import RunFolder, Simulation
from maseval.runs.config import UNTIL
from maseval.runs.config_file import LOG
from maseval.runs.recording import Recording
from maseval.runs.verdict_check import RunCheck, VerdictCheck, VerdictChecker
from maseval.stats import Outcome, outcomes_of
from maseval.stats.failure_labels import Label, LabelSummary, summarise_labels

GROUP = "maseval.benchmarks"
"""The group of entry points by which packages offer the support of their benchmarks."""

OnProgress = Callable[[int, int], object]
"""Called with how many simulations have been explained, and of how many."""

OnScored = Callable[[int], object]
"""Called with the number of simulations scored so far."""

T = TypeVar("T")
_log = logging.getLogger(__name__)


class BenchmarkSupportError(ConfigurationError):
    """The support of a benchmark cannot be loaded."""


class Section(NamedTuple):
    """One part of an explanation; ``lines`` keep their own indentation."""

    title: str
    lines: Sequence[str] = ()


@dataclass(frozen=True)
class Diagnosis:
    """The reason why a simulation failed: a label with its evidence."""

    label: Label

    @property
    def name(self) -> str:
        """The label in short: ``agent: wrong arguments`` and the like."""
        return f"{self.label.who}: {self.label.what}"

    def sections(self) -> list[Section]:
        """Return the diagnosis in words."""
        return [Section(f"{self.name} (rule: {self.label.rule})", self.label.evidence)]

    def for_page(self) -> dict[str, object]:
        """Return the diagnosis in the form that the HTML report shows."""
        label = self.label
        return {"label": {"name": self.name, "rule": label.rule, "evidence": list(label.evidence)}}


class WorldTimeline(Protocol):
    """The databases of a simulation after each of its messages."""

    def to_dict(self) -> Mapping[str, object]:
        """Return the form that the viewer shows."""

    def search_form(self, words: str, message: int | None) -> Mapping[str, object]:
        """Return the records with these words in them after a message, or at the start."""


@dataclass(frozen=True)
class RunDiagnosis:
    """The diagnosis of every simulation of a run, None for those that passed."""

    found: Mapping[Simulation, Diagnosis | None]
    labels: LabelSummary

    @property
    def user_faults(self) -> set[Simulation]:
        """The simulations that the user failed."""
        return {one for one, each in self.found.items() if each and each.label.who == "user"}


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
    """The answers of a benchmark to the commands; each has a default that adds nothing."""

    def answers(self, question: str) -> bool:
        """Return True if the benchmark has its own answer to a question, a method's name."""
        return getattr(type(self), question) is not getattr(BenchmarkSupport, question)

    # Failures: for ``show``, ``report``, ``plots`` and the viewer.

    def diagnosis(self, report: Report) -> Diagnosis | None:
        """Return the reason why a simulation failed; None if it passed, or nobody can tell."""
        return None

    def run_diagnosis(
        self, folder: Recording, on_progress: OnProgress | None
    ) -> RunDiagnosis | None:
        """Return the diagnosis of every simulation, or None if this benchmark has none."""
        if not self.answers("diagnosis"):
            return None
        found: dict[Simulation, Diagnosis | None] = {}
        for number, report in enumerate(folder.reports(), 1):
            found[Simulation.of(report)] = self.diagnosis(report)
            if on_progress is not None:
                on_progress(number, len(folder.recorded))
        labels = summarise_labels(None if each is None else each.label for each in found.values())
        return RunDiagnosis(found, labels)

    def explanation_obstacle(self, folder: Recording) -> str | None:
        """Return why the failures of a run cannot be explained here; None if they can."""
        return None

    def policy_check(self, report: Report) -> PolicyCheck | None:
        """Return which rules of the policy a simulation broke; None if there are no such rules."""
        return None

    def compliance(self, folder: Recording) -> RunCompliance | None:
        """Return the policy check of every simulation, or None if this benchmark has none."""
        if not self.answers("policy_check"):
            return None
        lines, found = [], {}
        for report in folder.reports():
            lines.append(RecordedReport(report).line)
            check = self.policy_check(report)
            if check is not None:
                found[Simulation.of(report)] = check
        return run_compliance(lines, folder.planned, found) if found else None

    def sound_check(self, report: Report) -> SoundCheck | None:
        """Return the sound verdict on a simulation; None if the benchmark has no such verdicts."""
        return None

    def sound_checks(self, folder: Recording) -> dict[Simulation, SoundCheck] | None:
        """Return the sound verdict on every simulation, or None if this benchmark has none."""
        if not self.answers("sound_check"):
            return None
        checks = ((Simulation.of(each), self.sound_check(each)) for each in folder.reports())
        return {one: check for one, check in checks if check is not None}

    def user_check(self, report: Report, diagnosis: Diagnosis | None) -> UserCheck | None:
        """Return the faults of the simulated user; None if there is none, or nobody can look.

        ``diagnosis`` is the reason why the simulation failed, if it did.
        """
        return None

    def user_checks(
        self, folder: Recording, diagnosed: RunDiagnosis | None
    ) -> dict[Simulation, UserCheck]:
        """Return the faults of the simulated user in every simulation that had one."""
        found = {}
        for report in folder.reports() if self.answers("user_check") else ():
            one = Simulation.of(report)
            reason = None if diagnosed is None else diagnosed.found.get(one)
            check = self.user_check(report, reason)
            if check is not None:
                found[one] = check
        return found

    def timeline(self, report: Report) -> WorldTimeline | None:
        """Return the state of the world after each message; None if there is no such world."""
        return None

    def task_title(self, report: Report) -> str | None:
        """Return a sentence about the task of a simulation, if there is one."""
        return None

    def findings(self, folder: Recording) -> TaskFindings:
        """Return faults of the tasks of a run themselves, by domain and id."""
        return {}

    def viewer_features(self, play: object | None = None) -> Sequence[Any]:
        """Return the parts that the viewer gets, each a ``maseval.view.Feature``.

        ``play`` are the options with which tasks may be played in the page, if that was asked for;
        a benchmark offers to play if they are its own.
        """
        return ()

    # Numbers: for ``show``, ``report``, ``compare`` and tables.

    def version(self, config: Mapping[str, object]) -> str | None:
        """Return the release or rules that a run used, for a column of its table."""
        found = config.get("rules") or config.get("version")
        return None if found is None else str(found)

    def warnings(self, config: Mapping[str, object]) -> Sequence[str]:
        """Return sentences that must accompany the numbers of a run."""
        return ()

    def conventions(
        self, folder: Recording, lines: Sequence[SimulationLine]
    ) -> Sequence[ConventionScore]:
        """Return the numbers in each way that the benchmark has to count errors."""
        return ()

    def settings(self, folder: RunFolder) -> dict[str, object]:
        """Return a run's configuration, as it is compared with that of others."""
        return {k: v for k, v in folder.config.without_notes().items() if k != UNTIL}

    def run_outcomes(
        self, folder: RunFolder, options: ScoringOptions, on_progress: OnScored | None = None
    ) -> RecordedOutcomes:
        """Return the outcomes of a run's finished simulations."""
        outcomes, settings = outcomes_of(folder.reports()), self.settings(folder)
        data = mapping(folder.config.values, "data")
        names = {TaskName(one.domain, one.task_id) for one in folder.planned}
        # Where the data has a hash for each task, tasks are compared one by one.
        tasks = {TaskKey(*name): str(data[str(name)]) for name in names if str(name) in data}
        if tasks:
            settings.pop("data")
        return RecordedOutcomes(outcomes, len(folder.planned), settings, folder.notes, tasks)

    # Results files of the benchmark's own: for every command that takes a run.

    def holds_results(self, path: Path) -> bool:
        """Return True for a results file of this benchmark; read no further than needed."""
        return False

    def recording(self, path: Path, options: ScoringOptions) -> Recording | None:
        """Open a results file like a run; return None if it is not one of this benchmark."""
        return None

    def recorded_outcomes(
        self, path: Path, options: ScoringOptions, on_progress: OnScored | None = None
    ) -> RecordedOutcomes | None:
        """Return the outcomes in a results file; None if it is not one of this benchmark."""
        return None

    # Trust: for ``show``, ``report``, the viewer, ``bundle`` and ``unbundle``.

    def verdict_checker(self, folder: Recording) -> VerdictChecker | None:
        """Return a function that recomputes the verdict of a run's report; None if there is none.

        It returns how the recorded verdict differs from the new one, or None if it holds.
        """
        return None

    def verdict_obstacle(self, folder: Recording) -> str | None:
        """Return why the verdicts of a run cannot be recomputed here; None if they can."""
        return None

    def certificate(self, folder: RunFolder) -> str | None:
        """Return a record of the run's recomputed numbers, if the benchmark has such a thing."""
        return None

    def certificate_differences(self, certificate: Path, folder: RunFolder) -> list[str]:
        """Return the differences between a run and its certificate."""
        return []

    def other_data(self, folder: RunFolder) -> list[str]:
        """Return the differences between the data here and the data that a run was made with."""
        return []


def complete_report(
    report: Report,
    title: str | None,
    diagnosis: Diagnosis | None,
    policy: PolicyCheck | None,
    sound: SoundCheck | None,
    user: UserCheck | None = None,
) -> dict[str, object]:
    """Return a report with all that pages show of it beside the record: labels and reasons."""
    shown: dict[str, object] = {**report, "title": title}
    form = {} if diagnosis is None else diagnosis.for_page()
    labels = [] if diagnosis is None else [diagnosis.name]
    if policy is not None:
        labels.append(policy.name)
        if lines := policy.lines():
            section = {"title": policy.name.capitalize(), "lines": lines}
            form["sections"] = [*entries(form.get("sections")), section]
    if sound is not None and sound.name is not None:
        labels.append(sound.name)
        section = {"title": sound.name.capitalize(), "lines": [*filter(None, [sound.reason])]}
        form["sections"] = [*entries(form.get("sections")), section]
    if user is not None:
        labels += user.labels
        if lines := user.lines():
            section = {"title": "The simulated user", "lines": lines}
            form["sections"] = [*entries(form.get("sections")), section]
    if labels:
        shown["labels"] = labels
    return {**shown, "explanation": form} if form else shown


def begin_check(folder: Recording) -> RunCheck | None:
    """Begin to check the recorded verdicts of a run; None if its benchmark recomputes none.

    Nothing that is recorded is shown of a results file, so that there is nothing to check.
    """
    if not (folder.path / LOG).is_file():
        return None
    support = support_for(folder)
    check = support.verdict_checker(folder)
    return None if check is None else RunCheck(folder.path, check, support.verdict_obstacle(folder))


def check_verdicts(folder: Recording) -> VerdictCheck | None:
    """Check the recorded verdicts of a run; None if its benchmark recomputes none."""
    checking = begin_check(folder)
    if checking is None:
        return None
    for report in folder.reports():
        checking.add(report)
    return checking.finish()


def support_for(folder: Recording) -> BenchmarkSupport:
    """Return the support of a run's benchmark; raise if it cannot be loaded."""
    return support_by_name(folder.config.values.get("benchmark"))


def support_by_name(benchmark: object) -> BenchmarkSupport:
    """Return the support of a benchmark, as a run's configuration names it."""
    offered = {each.name: each for each in find_entry_points(GROUP)}
    name = str(benchmark)
    while name and name not in offered:
        # package.module:Name is also found as package.module, and as package.
        name = name.rpartition(":" if ":" in name else ".")[0]
    return _load(offered[name]) if name else BenchmarkSupport()


def all_support() -> Iterator[BenchmarkSupport]:
    """Yield the support of every installed benchmark, each once; log which cannot be loaded."""
    offered = {each.value: each for each in find_entry_points(GROUP)}
    for each in offered.values():
        try:
            yield _load(each)
        except BenchmarkSupportError as error:
            warn_once(str(error))


def read_results(path: Path, read: Callable[[BenchmarkSupport], T | None]) -> T:
    """Let the benchmark of a results file read it; raise if no benchmark can."""
    every = list(all_support())
    for support in every:
        if support.holds_results(path) and (found := read(support)) is not None:
            return found
    for support in every:  # nobody knows it, so that one of them says what is wrong with it
        if (found := read(support)) is not None:
            return found
    raise ResultFileError(f"{path} is not a results file of any benchmark that is installed")


@cache
def _load(offered: EntryPoint) -> BenchmarkSupport:
    where = (
        f"the support of benchmark {offered.name!r} ({offered.value}, an entry point of {GROUP})"
    )
    try:
        found = offered.load()
    except Exception as error:  # code of another package, which may fail in any way
        raise BenchmarkSupportError(
            f"{where} cannot be loaded: {type(error).__name__}: {error}; repair or uninstall its "
            "package"
        ) from error
    if not isinstance(found, BenchmarkSupport):
        raise BenchmarkSupportError(f"{where} is {found!r}; it must be a BenchmarkSupport object")
    return found


@cache
def warn_once(message: str) -> None:
    """Log a warning that was not logged before."""
    _log.warning(message)
