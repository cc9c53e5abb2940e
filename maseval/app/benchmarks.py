"""BenchmarkSupport: the answers of a benchmark to the commands that take any run.

A run's configuration names its benchmark. A package that has one offers its support by an entry
point of the group ``maseval.benchmarks``; tau2 and MACS do the same. The name of the entry point is
the benchmark's name in the configuration, or the package or module that holds the benchmark; its
value is an object of a subclass of ``BenchmarkSupport``.

A support that cannot be loaded is an error for the runs of its own benchmark only. Where all
benchmarks are asked, it is left out with a warning in the log.
"""

import logging
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from maseval.app.results.explained import Review
from maseval.core.exceptions import ConfigurationError, ResultFileError
from maseval.core.finding import Finding
from maseval.core.harm import HarmFound
from maseval.core.lazy import find_entry_points
from maseval.core.outcome import Outcome, Simulation, TaskKey
from maseval.core.recorded import mapping
from maseval.core.report import Report
from maseval.core.scoring_options import ScoringOptions
from maseval.runs.config import UNTIL
from maseval.runs.recording import Recording, outcomes_in
from maseval.runs.verdict_check import VerdictChecker
from maseval.stats import Measure

if TYPE_CHECKING:  # for pages and for entry points, which most commands do not load
    from importlib.metadata import EntryPoint

    from maseval.core.judge import Question
    from maseval.core.judge_record import Judgement
    from maseval.exchange.atif_writing import Conversation
    from maseval.report.index import TaskFindings

GROUP = "maseval.benchmarks"
"""The group of entry points by which packages offer the support of their benchmarks."""

OnProgress = Callable[[int, int], object]
"""Called with how many simulations are done, and of how many; 0 if that is not known."""

_log = logging.getLogger(__name__)


class BenchmarkSupportError(ConfigurationError):
    """The support of a benchmark cannot be loaded."""


class RecordedOutcomes(NamedTuple):
    """The outcomes of a run or results file, of how many planned, and under which settings.

    ``recording`` is what they were read from, with the verdicts that hold. ``notes`` say what is
    wrong with it. ``tasks`` has a hash of each task's content, as far as it is known. ``unlisted``
    are further tasks of the split that the record should hold. ``measure`` is what stands in the
    place of the verdict, if another number was asked for.
    """

    recording: Recording
    outcomes: Sequence[Outcome]
    planned: int
    config: Mapping[str, object]
    notes: Sequence[str] = ()
    tasks: Mapping[TaskKey, str] = MappingProxyType({})
    unlisted: Sequence[TaskKey] = ()
    measure: Measure | None = None


class JudgedShareKind(NamedTuple):
    """A share that answers decide: a conversation counts if its answer is one of ``counts``.

    With ``of_all``, it is one of all conversations with a verdict, else of those that are asked
    about.
    """

    name: str
    counts: Sequence[str]
    of_all: bool = False


JudgeAnswers = Mapping[Simulation, str | None]
"""The answer of a judge about each conversation that it was asked about; None if undecided."""


class LabelQuestion(NamedTuple):
    """A question that a judge and people answer about conversations, each with one word.

    ``name`` is that of the judge's question, ``text`` what people are asked, ``asked_of`` tells
    which conversations it is about.
    """

    name: str
    text: str
    answers: Sequence[str]
    asked_of: Callable[[Outcome], bool]
    shares: Sequence[JudgedShareKind]


class JudgeRequest(NamedTuple):
    """The parts that fill a question's template, and what the evidence is compared with."""

    parts: Mapping[str, str]
    subject: object = None


@dataclass(frozen=True)
class LabelledCase:
    """A conversation of which it is known what a judge should answer.

    ``pair`` names the case together with the one that it is compared with, if there is one.
    ``broken`` says whether there is something to be found, and ``finds`` whether an answer, in the
    form of its question, finds it; ``is_exact`` whether an answer that does is right in detail, as
    in the message it names. ``group`` is its domain, ``weight`` what a breach weighs, and ``style``
    the way of speaking.
    """

    id: str
    pair: str
    group: str
    weight: str
    style: str
    broken: bool
    request: Callable[[], JudgeRequest] = field(compare=False)
    finds: Callable[[Mapping[str, Any]], bool] = field(compare=False)
    is_exact: Callable[[Mapping[str, Any]], bool] | None = field(default=None, compare=False)


class ExportedPath(NamedTuple):
    """A file or folder in the form of the original benchmark, and what must be said about it."""

    path: Path
    notes: Sequence[str] = ()


class BenchmarkSupport:
    """The answers of a benchmark to the commands; each has a default that adds nothing."""

    def answers(self, question: str) -> bool:
        """Return True if the benchmark has its own answer to a question, a method's name."""
        # An overridden method is an answer, so that no support has to list what it answers.
        return getattr(type(self), question) is not getattr(BenchmarkSupport, question)

    # Failures: for ``show``, ``report`` and the viewer.

    def review(self, report: Report, *, explain_pass: bool = False) -> Review:
        """Return all that was found about a simulation: who failed, which rules were broken, ...

        The verdict on a failure is explained, and with ``explain_pass`` also that on a pass.
        """
        return Review()

    def made(self, folder: Recording) -> bool:
        """Return True for a run of a benchmark that is built on this one."""
        return False

    def findings_version(self, folder: Recording) -> object:
        """Return all that decides reviews and obstacles beside the record, as JSON.

        While it is the same, reviews of the same report are kept for the next command, and
        obstacles for the same configuration. None if they cannot be, as when code that nobody
        knows decides them.
        """
        return None

    def timeline(self, report: Report) -> Mapping[str, object] | None:
        """Return the state of the world after each message, as pages show it; None without one."""
        return None

    def task_title(self, report: Report) -> str | None:
        """Return a sentence about the task of a simulation, if there is one."""
        return None

    def limits(self, folder: Recording) -> Sequence[str]:
        """Return what the rules of the policy do not look for in a run."""
        return [no_rules(name) for name in dict.fromkeys(one.domain for one in folder.planned)]

    def policies(self, folder: Recording) -> Mapping[str, Sequence[str]]:
        """Return the rules that agents are told to obey, by domain, as Markdown.

        There may be several for a domain, the usual one first.
        """
        return {}

    def task_findings(self, folder: Recording) -> "TaskFindings":
        """Return faults of the tasks of a run themselves, by domain and id."""
        return {}

    # Numbers: for ``show``, ``report``, ``compare`` and tables.

    def version(self, config: Mapping[str, object]) -> str | None:
        """Return the release or rules that a run used, for a column of its table."""
        found = config.get("rules") or config.get("version")
        return None if found is None else str(found)

    def warnings(self, config: Mapping[str, object]) -> Sequence[str]:
        """Return sentences that must accompany the numbers of a run."""
        return ()

    def measures(self, folder: Recording) -> Sequence[Measure]:
        """Return the numbers of the benchmark: beside the official one, and which that is."""
        return ()

    def harm(self, report: Report) -> HarmFound | None:
        """Return what the databases prove that a simulation did wrong; None if nobody can tell."""
        return None

    # Judges: for ``judge``, and wherever numbers are shown.

    has_judged_verdicts = False
    """True if a judge gives the verdicts, so that every run has what it counted."""

    def label_questions(self, folder: Recording) -> Sequence[LabelQuestion]:
        """Return the questions that people can answer beside a judge."""
        return ()

    def judges(self, folder: Recording, about: str) -> Mapping[str, JudgeAnswers]:
        """Return what each judge answered to one of the ``label_questions``, by its name."""
        return {}

    def calibration(self, folder: Recording, about: str, judge: str) -> str | None:
        """Return how far a judge was right where that was measured, in words."""
        return None

    def settings(self, folder: Recording) -> dict[str, object]:
        """Return a run's configuration, as it is compared with that of others."""
        return {k: v for k, v in folder.config.without_notes().items() if k != UNTIL}

    def run_outcomes(
        self, folder: Recording, options: ScoringOptions, on_progress: OnProgress | None = None
    ) -> RecordedOutcomes:
        """Return the outcomes of the finished simulations of a run or results file."""
        outcomes, settings = outcomes_in(folder), self.settings(folder)
        data = mapping(folder.config.values, "data")
        names = {one.task for one in folder.planned}
        # Where the data has a hash for each task, tasks are compared one by one.
        tasks = {name: str(data[str(name)]) for name in names if str(name) in data}
        if tasks:
            settings.pop("data")
        notes = list(getattr(folder, "notes", ()))
        return RecordedOutcomes(folder, outcomes, len(folder.planned), settings, notes, tasks)

    # Results files of the benchmark's own: for every command that takes a run.

    def holds_results(self, path: Path) -> bool:
        """Return True for a results file of this benchmark; read no further than needed."""
        return False

    public_name: str | None = None
    """The name by which public collections of results know the benchmark."""

    exports: str | None = None
    """The name of the form in which ``export`` writes runs, for ``maseval export --format``."""

    def export(
        self, run: str | os.PathLike[str], output: Path | None, *, overwrite: bool
    ) -> Sequence[ExportedPath]:
        """Write a run as the files of the original benchmark, by default into its folder."""
        raise NotImplementedError

    def conversations(self, folder: Recording) -> "Iterator[Conversation] | None":
        """Return the recorded conversations for ``maseval export --format atif``.

        None if they are to be made of the reports, as for any benchmark.
        """
        return None

    def score(self, files: Sequence[str | os.PathLike[str]], **options: Any) -> Any:
        """Judge recorded conversations again, and compare with the recorded rewards."""
        raise NotImplementedError

    def recording(
        self, path: Path, options: ScoringOptions, on_progress: OnProgress | None = None
    ) -> Recording | None:
        """Open a results file like a run; return None if it is not one of this benchmark."""
        return None

    # Judges: for ``judge ask``, ``judge calibrate``, and whatever shows their answers.

    def judge_question(self, about: str) -> "Question[Any]":
        """Return a question to a judge by its name, such as ``policy`` or ``cause``."""
        raise ConfigurationError(f"this benchmark has no question {about!r} for a judge")

    def judge_request(self, report: Report, about: str) -> JudgeRequest | None:
        """Return what to ask about a simulation; None if there is nothing to ask about.

        The judge of the policy sees neither verdict nor reference solution.
        """
        return None

    def judged_findings(self, judgement: "Judgement") -> Sequence[Finding]:
        """Return the claims of a judge's answer as findings of the grade ``judged``."""
        return ()

    def labelled_cases(
        self,
        about: str,
        domains: Collection[str] = (),
        file: Path | None = None,
        recordings: Iterable[Recording] = (),
    ) -> Sequence[LabelledCase]:
        """Return conversations with known answers: of the package, or of a file of one's own.

        ``recordings`` are public ones that readings are about, which no package may hold.
        """
        return ()

    # Trust: for ``show``, ``report``, the viewer, ``bundle`` and ``unbundle``.

    def verdict_checker(self, folder: Recording) -> VerdictChecker | None:
        """Return a function that recomputes the verdict of a run's report; None if there is none.

        It returns how the recorded verdict differs from the new one, or None if it holds.
        """
        return None

    def verdict_obstacle(self, folder: Recording) -> str | None:
        """Return why the verdicts of a run cannot be recomputed here; None if they can."""
        found = self.other_data(folder)
        return f"rewards as recorded, not recomputed: {found[0]}" if found else None

    def other_data(self, folder: Recording) -> list[str]:
        """Return the differences between the data here and the data that a run was made with."""
        return []


def no_rules(domain: str) -> str:
    """Say that nobody can tell who kept the policy of a domain."""
    return f"the domain {domain} has no rules: its passes cannot be checked"


def support_for(folder: Recording) -> BenchmarkSupport:
    """Return the support of a run's benchmark; raise if it cannot be loaded."""
    return support_by_name(folder.config.values.get("benchmark"))


_LACKING = {
    "review": "has no findings about conversations",
    "score": "cannot judge recorded conversations again",
    "judge_request": "has no questions for a judge",
}


def support_that_answers(
    folder: Recording,
    question: Literal["review", "score", "judge_request"],
    *,
    built_on: bool = False,
) -> BenchmarkSupport:
    """Return the support of a run's benchmark if it answers a question, else raise.

    With ``built_on`` also that of the benchmark which the run's own is built on.
    """
    own = support_for(folder)
    # Loading the other benchmarks takes a while, and most runs have an answer of their own.
    others = all_support() if built_on and not own.answers(question) else ()
    for each in (own, *(each for each in others if each.made(folder))):
        if each.answers(question):
            return each
    raise ConfigurationError(
        f"{folder.path} is a run of {folder.config.values.get('benchmark')}, which "
        f"{_LACKING[question]}; `maseval show {folder.path}` shows the run"
    )


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
    # By value: a support that is offered under two names must not be asked twice.
    offered = {each.value: each for each in find_entry_points(GROUP)}
    for each in offered.values():
        try:
            yield _load(each)
        except BenchmarkSupportError as error:
            warn_once(str(error))


def read_results(
    path: Path, options: ScoringOptions, on_progress: OnProgress | None = None
) -> Recording:
    """Let the benchmark of a results file open it like a run; raise if no benchmark can."""
    # If nobody knows it, one of them says what is wrong with it.
    for support in sorted(all_support(), key=lambda each: not each.holds_results(path)):
        if (found := support.recording(path, options, on_progress)) is not None:
            return found
    raise ResultFileError(f"{path} is not a results file of any benchmark that is installed")


@cache
def _load(offered: "EntryPoint") -> BenchmarkSupport:
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


# The cache is what makes it warn once: the same message never comes this far again.
@cache
def warn_once(message: str) -> None:
    _log.warning(message)
