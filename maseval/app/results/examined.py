"""The findings about simulations: whether a verdict holds, why it is one, and who kept the rules.

``ExaminedRun`` finds them out when they are asked for, and keeps them in the cache folder
(``maseval.data.kept``): by the content of the record, and by the version of all that decides them,
which the benchmark knows; obstacles are cached per configuration of the run. So every command
and page finds them out once.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from maseval.app.benchmarks import BenchmarkSupport, OnProgress, support_for
from maseval.app.results.checklist import Checklist, checklist_of_run
from maseval.app.results.explained import Review, cause_in, misfit, without_words
from maseval.app.results.measured import MeasuredScore, declared_measures, measured_scores
from maseval.app.results.recording import notes_on
from maseval.app.results.run_summary import RunSummary, run_summary
from maseval.core.exceptions import MASEvalError
from maseval.core.finding import Finding
from maseval.core.index_line import IndexLine
from maseval.core.outcome import Outcome, RecordedReport, Simulation
from maseval.core.report import Report, TaskExecutionStatus
from maseval.core.storage.files import JUDGEMENTS, path_about
from maseval.core.storage.redaction import redact
from maseval.core.words import text_or_none
from maseval.data.kept import KeptValues, place_for
from maseval.runs.config_file import LOG
from maseval.runs.labels import LABELS
from maseval.runs.recording import (
    Recording,
    index_line_in,
    report_key,
    simulations_in_order,
)
from maseval.runs.verdict_check import Misstatement, VerdictCheck, VerdictChecker, doubt_in
from maseval.stats import Measure
from maseval.stats.measures import measured

if TYPE_CHECKING:  # most runs are judged by no model
    from maseval.app.results.labelled import JudgedShare

FindingPart = Literal["verdict", "review", "title"]
VERDICT: tuple[FindingPart, ...] = ("verdict",)
REVIEW: tuple[FindingPart, ...] = ("review",)

# What only some tasks and benchmarks have, and JSON only then.
_IF_NAMED = ("cluster", "weight", "measures")
# To read a title from the data loads more than all else of a simulation that is shown again.
TITLE: tuple[FindingPart, ...] = ("title",)
FILE = "findings.jsonl"
# In bytes, from where on it is worth the start of other processes; and batches for each of them.
_WORTH_SHARING, _BATCHES_FOR_EACH = 4 << 20, 4
# What is found out about one batch is in the memory of two processes.
_LARGEST_BATCH = 200


class SimulationFindings(NamedTuple):
    """The findings about a simulation, as far as they were asked for.

    ``verdict`` says how the recorded verdict differs from the recomputed one; there is no review of
    one that does not hold. ``obstacle`` says why it could not be recomputed.
    """

    verdict: Misstatement | None = None
    review: Review | None = None
    title: str | None = None
    obstacle: str | None = None

    @property
    def findings(self) -> Sequence[Finding]:
        return () if self.review is None else self.review.findings


class ExaminedRun:
    """The findings about each simulation of a run or results file; for any number of threads.

    ``support`` is that of the benchmark which the run's own is built on, if it is to answer.
    """

    def __init__(self, folder: Recording, support: BenchmarkSupport | None = None) -> None:
        self.folder, self.support = folder, support or support_for(folder)
        log = folder.path / LOG
        file = log if log.is_file() else folder.path
        self._kept = KeptValues(place_for(file, FILE), self.support.findings_version(folder))

    def _obstacle(self) -> str | None:
        asked = json.dumps(self.folder.config.values, default=str)
        key = hashlib.sha256(asked.encode()).hexdigest()
        known = self._kept.get(key)
        if known is None:
            known = {"obstacle": self.support.verdict_obstacle(self.folder)}
            self._kept.put(key, known)
        return text_or_none(known.get("obstacle"))

    def begin_check(self) -> VerdictCheck | None:
        """Begin to check the recorded verdicts; return None if the benchmark recomputes none.

        Recorded verdicts of results files are never shown, so that there is nothing to check.
        """
        if not (self.folder.path / LOG).is_file() or not self.support.answers("verdict_checker"):
            return None
        return VerdictCheck(self.folder, self._obstacle())

    @cached_property
    def _judged(self) -> Mapping[Simulation, Sequence[Finding]]:
        """The findings of judge models about the simulations, each with how often it was right.

        It is not kept with the rest: another answer, or another measurement, may come any time.
        """
        if not path_about(self.folder.path, JUDGEMENTS).is_file():
            return {}
        from maseval.app.results.judged import judged_findings  # loads what reads answers

        return judged_findings(self.folder, self.support.judged_findings)

    @cached_property
    def _checker(self) -> VerdictChecker | None:
        return self.support.verdict_checker(self.folder)

    def examine(
        self,
        one: Simulation,
        parts: Sequence[FindingPart],
        report: Report | None = None,
        key: str | None = None,
        found: "_Plain | None" = None,
    ) -> SimulationFindings:
        """Return these parts of the findings; ``report`` and its ``key`` if they are at hand.

        ``found`` is what another process found of it.
        """
        key = key or self.folder.content_key(one)
        known = self._kept.get(key) or {}
        if not self._is_complete(known, parts):
            new = found or self._find(one, parts, known, report)
            known = known | new
            # An obstacle may be gone next time, such as data that is not here yet.
            kept = {part: each for part, each in known.items() if part != "obstacle"}
            self._kept.put(key, kept)
        read = {
            part: _READERS[part](known[part]) if part in _READERS else known[part]
            for part in (*parts, "obstacle")
            if part in known
        }
        if "review" in read and (judged := self._judged.get(one)):
            review = read["review"]
            read["review"] = review._replace(findings=(*review.findings, *judged))
        return SimulationFindings(**read)

    def examine_all(
        self, simulations: Sequence[Simulation], parts: Sequence[FindingPart]
    ) -> Iterator[SimulationFindings]:
        """Yield the findings on simulations, in order; all cores find what a large log lacks."""
        keys = {one: self.folder.content_key(one) for one in simulations}
        lacking = [
            one
            for one in simulations
            if not self._is_complete(self._kept.get(keys[one]) or {}, parts)
        ]
        waiting = set(lacking)
        with closing(self._find_elsewhere(lacking, parts)) as elsewhere:
            new: dict[Simulation, _Plain | None] = {}
            for one in simulations:
                if one in waiting and one not in new:
                    new |= next(elsewhere, {})
                yield self.examine(one, parts, key=keys[one], found=new.pop(one, None))

    def _find_elsewhere(
        self, lacking: Sequence[Simulation], parts: Sequence[FindingPart]
    ) -> Generator[Mapping[Simulation, "_Plain | None"], None, None]:
        """Yield what other processes find, some simulations at a time; nothing for small logs.

        They are forks: a record that is open, and what its benchmark needs, cannot be sent. The
        first simulation of each domain is examined here, so that what it loads is loaded once.
        None stands for what raised an error there, and raises it here.
        """
        log, size = self.folder.path / LOG, 0
        if lacking and log.is_file():
            # About that part of the log which is still to be read.
            size = log.stat().st_size * len(lacking) // len(self.folder.recorded)
        if size < _WORTH_SHARING:
            return
        from maseval.core.engine.children import (  # most records are small
            map_in_forks,
            may_fork,
            usable_cores,
        )

        if (cores := usable_cores()) < 2 or not may_fork():
            return
        step = min(_LARGEST_BATCH, max(1, len(lacking) // (_BATCHES_FOR_EACH * cores)))

        def find(some: Sequence[Simulation]) -> list[_Plain]:
            return [self._find(one, parts, {}) for one in some]

        # Reversed, so that the entry that stays is the first simulation of each domain.
        here = [*{one.domain: one for one in reversed(lacking)}.values()]
        yield dict(zip(here, find(here), strict=True))
        rest = [one for one in lacking if one not in here]
        some = (rest[first : first + step] for first in range(0, len(rest), step))
        with closing(map_in_forks(find, some, cores)) as mapped:
            for batch, found in mapped:
                # Not strict, as repeat() never ends.
                yield dict(zip(batch, found or repeat(None), strict=False))

    def _find(
        self,
        one: Simulation,
        parts: Sequence[FindingPart],
        known: "_Plain",
        report: Report | None = None,
    ) -> "_Plain":
        """Return the parts that are not known, and why a verdict could not be recomputed."""
        lacking = {part for part in parts if part not in known}
        report, support = report or self.folder.report(one), self.support
        new: _Plain = {}
        if "title" in lacking:
            new["title"] = support.task_title(report)
        if "verdict" in lacking and self._checker is not None:
            try:
                new["verdict"] = self._checker(report) or self._contradiction(one, report)
            # Such as data that are not here: the verdict stays as recorded, and is shown with the
            # reason.
            except MASEvalError as error:
                new["obstacle"] = str(error)
            # Reasons for a verdict that does not hold would explain what never happened.
            if new.get("verdict") is not None:
                return new
        if "review" in lacking:
            doubt = doubt_in(report)
            if doubt is not None and doubt.is_misfit:
                found = misfit(doubt.text, passed=RecordedReport(report).kind == "pass")
                review = Review([found])
            else:
                review = support.review(report)
            new["review"] = review.to_dict()
        return new

    def _contradiction(self, one: Simulation, report: Report) -> Misstatement | None:
        """Return how a report differs from its index line, which only an edited log has."""
        said = index_line_in(self.folder, one).outcome
        read = RecordedReport(report).outcome
        if (said.kind, said.reward) == (read.kind, read.reward):
            return None
        return Misstatement(f"its index line says {said.kind}, its report {read.kind}", read.passed)

    def _is_complete(self, known: "_Plain", parts: Sequence[FindingPart]) -> bool:
        if "verdict" in parts and known.get("verdict"):
            return True  # there is no review of a verdict that does not hold
        return all(each in known for each in parts)

    def save(self) -> None:
        self._kept.save()


_Plain = dict[str, Any]
"""The parts of a simulation's findings in plain form, as they are kept."""


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "verdict": lambda form: None if form is None else Misstatement(*form),
    "review": Review.read,
}


class RecomputedRun:
    """A run in which the recorded verdicts that do not hold are replaced by recomputed ones.

    Whatever shows numbers of a run takes it from here, so that an edited log has the same numbers
    wherever it is read.
    """

    def __init__(self, recording: Recording, check: VerdictCheck) -> None:
        self._recording, self._differing = recording, check.differing
        self.path, self.config = recording.path, recording.config
        self.damaged, self.planned = recording.damaged, recording.planned
        self.recorded = recording.recorded
        self.notes, self.damage = (list(getattr(recording, n, ())) for n in ("notes", "damage"))
        self.doubt: Any = getattr(recording, "doubt", None)

    def reports(self) -> Iterator[Report]:
        return map(self.report, simulations_in_order(self))

    def report(self, simulation: Simulation) -> Report:
        report = self._recording.report(simulation)
        found = self._differing.get(simulation)
        return report if found is None else _with_verdict(report, found)

    def index_line(self, simulation: Simulation) -> IndexLine:
        if simulation in self._differing:
            return IndexLine.of(RecordedReport(self.report(simulation)))
        return index_line_in(self._recording, simulation)

    def content_key(self, simulation: Simulation) -> str:
        if simulation in self._differing:
            return report_key(self.report(simulation))
        return self._recording.content_key(simulation)


def _with_verdict(report: Report, found: Misstatement) -> Report:
    """Return a report with the recomputed verdict in place of the recorded one."""
    new = cast(Report, {**report, "recorded_reward": RecordedReport(report).reward})
    passed = found.passed
    note = f"recomputed, as the recorded verdict does not hold: {found.text}"
    new["error"] = None
    new["status"] = (
        TaskExecutionStatus.EVALUATION_FAILED if passed is None else TaskExecutionStatus.SUCCESS
    ).value
    # A number, as evaluators write it: rewards are added up.
    verdict = {"passed": passed, "reward": +(passed or False), "note": note}
    checks = {} if found.checks is None else {"reward_info": found.checks}
    measures = {} if found.measures is None else {"measures": dict(found.measures)}
    new["eval"] = [] if passed is None else [{**verdict, **checks, **measures}]
    return new


def outcomes_by(
    recording: Recording, outcomes: Iterable[Outcome], measure: Measure | None
) -> list[Outcome]:
    """Return the outcomes of a run with a measure's value in the place of the verdict, if any."""
    known = list(outcomes)
    if measure is None:
        return known
    if not measure.by_findings:
        return measured(known, measure)
    run, there = ExaminedRun(recording), recording.recorded
    findings = {
        each.simulation: run.examine(each.simulation, REVIEW).findings
        for each in known
        if each.simulation in there
    }
    run.save()
    return measured(known, measure, findings)


@dataclass(frozen=True)
class RunFindings:
    """The findings about all simulations of a run, and what they come to.

    ``folder`` has the verdicts that hold, and ``check`` compares the recorded ones with these.
    ``each`` has what was found about each simulation; ``chosen`` are the lines that were asked for.
    """

    folder: Recording
    lines: Sequence[Outcome]
    check: VerdictCheck | None
    each: Mapping[Simulation, SimulationFindings]
    chosen: Sequence[Outcome] = ()
    examined: ExaminedRun | None = None

    @cached_property
    def findings(self) -> Mapping[Simulation, Sequence[Finding]]:
        """The findings about each simulation; empty if they were not asked for."""
        reviews = ((one, each.review) for one, each in self.each.items())
        return {one: review.findings for one, review in reviews if review is not None}

    def findings_on(self, line: Outcome) -> Sequence[Finding]:
        return self.findings.get(line.simulation, ())

    @property
    def causes(self) -> dict[str, int]:
        """The number of failures by who failed and how, the most frequent first."""
        causes = filter(None, map(cause_in, self.findings.values()))
        return dict(Counter(each.name for each in causes).most_common())

    @property
    def passes(self) -> set[Simulation]:
        return {line.simulation for line in self.lines if line.passed}

    @cached_property
    def scores(self) -> list[MeasuredScore]:
        """The official number, and those beside it that findings, evaluators and labels give."""
        measures = declared_measures(self.folder)
        if not self.findings:
            measures = [each for each in measures if not each.by_findings]
        found = measured_scores(self.lines, self.findings, measures, self.folder.planned)
        if found and self.judged_shares:
            from maseval.app.results.labelled import corrected_scores  # loads statistics

            found += corrected_scores(self.judged_shares, found[-1].domain)
        return found

    @cached_property
    def judged_shares(self) -> "list[JudgedShare]":
        """The numbers that judges counted, corrected where people labelled conversations."""
        path = self.folder.path
        if not support_for(self.folder).has_judged_verdicts and not any(
            path_about(path, name).is_file() for name in (JUDGEMENTS, LABELS)
        ):
            return []
        from maseval.app.results.labelled import judged_shares  # loads statistics

        return judged_shares(self.folder, self.lines)

    @cached_property
    def summary(self) -> RunSummary:
        return run_summary(self.lines, self.folder.planned, self.folder.config)

    @cached_property
    def checklist(self) -> Checklist | None:
        return checklist_of_run(self.folder)

    def to_dict(self) -> dict[str, object]:
        """Return the numbers, and a row for each chosen simulation, as JSON without secrets."""
        return redact(
            {
                "path": str(self.folder.path),
                **self.summary.to_dict(),
                "notes": notes_on(self.folder),
                "verdicts": None if self.check is None else self.check.to_dict(),
                "causes": self.causes,
                **({"rehearsal": self.checklist.to_dict()} if self.checklist else {}),
                "scores": [each.to_dict() for each in self.scores],
                "judged": [each.to_dict() for each in self.judged_shares],
                "simulations": [
                    {**row_of(line), "findings": [e.to_dict() for e in self.findings_on(line)]}
                    for line in self.chosen
                ],
            }
        )


def row_of(line: Outcome) -> dict[str, object]:
    row = line._asdict()
    for name in _IF_NAMED:
        if row[name] == Outcome._field_defaults[name]:
            del row[name]
    row["outcome"] = row.pop("kind")
    del row["reason"]  # which the status says
    return row


def examine_run(
    folder: Recording,
    parts: Sequence[FindingPart] = REVIEW,
    on_progress: OnProgress | None = None,
    *,
    in_brief: bool = False,
) -> RunFindings:
    """Check the verdicts of a run, and find the further parts that are asked for, in one pass.

    ``in_brief`` are findings without what they say, for whoever asks for that one by one: those of
    a large run would fill the memory.
    """

    def shortened(found: SimulationFindings) -> SimulationFindings:
        review = found.review and without_words(found.review) if in_brief else found.review
        return found._replace(review=review)

    run = ExaminedRun(folder)
    checking = run.begin_check()
    found: dict[Simulation, SimulationFindings] = {}
    ordered = simulations_in_order(folder)
    checks = checking is not None and checking.obstacle is None
    every = run.examine_all(ordered, (*VERDICT, *parts) if checks else parts)
    for number, (one, each) in enumerate(zip(ordered, every, strict=True), 1):
        found[one] = shortened(each)
        if checks and checking is not None:
            checking.add(index_line_in(folder, one).outcome, each.verdict, each.obstacle)
        if on_progress is not None:
            on_progress(number, len(ordered))
    run.save()
    check = None if checking is None else checking.finish()
    if check is not None and check.differing:
        folder = RecomputedRun(folder, check)
        run = ExaminedRun(folder)
        # What is found about these is about the verdicts that hold, and no longer about the
        # recorded ones.
        found |= {one: shortened(run.examine(one, parts)) for one in check.differing}
    lines = [index_line_in(folder, one).outcome for one in found]
    return RunFindings(folder, lines, check, found, examined=run)


def recompute_verdicts(folder: Recording) -> tuple[Recording, VerdictCheck | None]:
    """Return a run with the verdicts that hold, and the check of those that are recorded."""
    found = examine_run(folder, ())
    return found.folder, found.check
