"""``maseval score``: recorded conversations judged again, and compared with their record.

With several releases (``--under``), the same conversations are judged under each, and the changes
from the first are listed. A file that cannot be read does not stop the others. Runs and recounts of
1.0.x also get their numbers in both of its conventions for infrastructure errors: its metrics leave
them out, its leaderboard counts them as failures.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

from maseval.app.results.questions import Files, FilesRead
from maseval.app.results.variants import ConventionScore, conventions_in_json
from maseval.benchmark.tau2.app.results.conventions import count_conventions
from maseval.benchmark.tau2.app.results.sources import judge_for, open_source, simulations_in
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.benchmark.tau2.metrics import LEFT_OUT
from maseval.benchmark.tau2.rescoring.findings import record_findings
from maseval.benchmark.tau2.rescoring.releases import ReleaseTotals, ScoredUnder
from maseval.benchmark.tau2.rescoring.releases import score_under as score_one_under
from maseval.benchmark.tau2.rescoring.rescore import RescoredRecord, rescore_record
from maseval.benchmark.tau2.rescoring.verdict import NEEDS_JUDGE
from maseval.benchmark.tau2.scoring.judge import RememberingJudge
from maseval.core.engine.engines import (
    PROCESSES,
    AnyEngine,
    Engine,
    MappingEngine,
    ThreadEngine,
    chosen_engine,
)
from maseval.core.exceptions import ConfigurationError
from maseval.core.finding import Finding
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.stats.summary import Estimate


class FileScore:
    """One file or run, judged again.

    Of the ``planned`` simulations, ``verdicts`` have a new verdict, and ``passes`` passed; of the
    others, which ``shortfall`` accounts for, ``open`` ones wait for a judge. The record calls
    ``recorded_passes`` passed. ``agreeing`` of ``compared`` recorded verdicts were confirmed.
    ``not_replayable`` conversations count as failures. ``marks`` say how it was judged, if not by
    the benchmark's tasks.
    """

    def __init__(self, path: Path, found: RescoredRecord) -> None:
        self.path, self.found = path, found
        self.planned = len(found.slots)
        self.simulations = len(found.simulations)
        self.missing = [str(slot) for slot in found.missing]
        self.judged = sum(each.reward is not None for each in found.simulations)
        self.passes = found.passed
        self.verdicts = sum(passed is not None for passed in found.passes.values())
        self.open = sum(each.reason == NEEDS_JUDGE for each in found.outcomes)
        self.shortfall = None if found.summary is None else found.summary.shortfall
        self.recorded_passes = sum(each.passed_as_recorded for each in found.simulations)
        self.compared = len(found.compared)
        self.agreeing = sum(each.agrees for each in found.simulations)
        self.not_replayable = sum(each.fault is not None for each in found.simulations)
        self.marks = found.options.marks
        self.judge = found.model

    @property
    def skipped(self) -> Mapping[str, int]:
        """The reasons why simulations were not compared, with their numbers."""
        without = sum(each.recorded is None and not each.problem for each in self.found.simulations)
        return self.found.problems | ({"no recorded verdict": without} if without else {})

    @cached_property
    def disagreements(self) -> list[dict[str, Any]]:
        """Every simulation whose verdict differs, and where."""
        found = []
        for each in self.found.disagreeing:
            replay = [] if each.fault is None else [f"it cannot be replayed: {each.fault.error}"]
            named = {"task_id": each.slot.task_id, "trial": each.identity.trial}
            found.append({**named, "differences": [*each.differences, *replay]})
        return found

    @cached_property
    def findings(self) -> list[Finding]:
        """The faults of the record, with the evidence."""
        return record_findings(self.found)

    @property
    def over_split(self) -> dict[str, float] | None:
        """The range of pass^1 over whole splits, with their tasks; None if no task is missing."""
        if not (unlisted := self.found.unlisted):
            return None
        missing = sum(len(absent) for _, _, absent in unlisted.values())
        tasks = missing + len({slot.task for slot in self.found.slots})
        worst, best = self.found.bounds_over_split(self.found.domains)
        return {"tasks": tasks, "missing": missing, "worst": worst, "best": best}

    @property
    def pass_hat(self) -> Mapping[int, Estimate]:
        """pass^k of what has a verdict."""
        return self.found.pass_hat

    @property
    def conventions(self) -> list[ConventionScore]:
        """pass^k without and with infrastructure errors, which 0.2.0 does not know.

        None where a judge must decide.
        """
        found = self.found
        knows_errors = any(
            each.ending == LEFT_OUT or release_named(each.version).rules.detailed_metrics
            for each in found.simulations
        )
        if self.open or not knows_errors:
            return []
        return count_conventions(
            (each.slot.domain, each.slot.task_id, each.ending, found.passes[each.slot] is True)
            for each in found.simulations
        )

    @property
    def agrees(self) -> bool:
        """True if something was compared, and the record has no fault; a caution is none."""
        return bool(self.compared) and all(each.weight == "remark" for each in self.findings)

    def to_dict(self) -> dict[str, object]:
        return {
            "path": str(self.path),
            "version": self.found.version,
            "version_from": self.found.record.version_from,
            "marks": self.marks,
            "findings": [each.to_dict() for each in self.findings],
            "planned": self.planned,
            "simulations": self.simulations,
            "missing": self.missing,
            "compared": self.compared,
            "agreeing": self.agreeing,
            "passed_as_recorded": self.recorded_passes,
            "verdicts": self.verdicts,
            "passed": self.passes,
            "needs_judge": self.open,
            **_judge_in_json(self.judge),
            "not_replayable": self.not_replayable,
            "skipped": dict(self.skipped),
            "disagreements": self.disagreements,
            **{f"pass^{k}": estimate.in_brief() for k, estimate in self.pass_hat.items()},
            "over_split": self.over_split,
            "conventions": conventions_in_json(self.conventions),
        }


def _judge_in_json(judge: RememberingJudge | None) -> dict[str, object]:
    if judge is None:
        return {}
    used = {"model": judge.model_id, "asked": judge.asked, "remembered": judge.remembered}
    return {"judges": [used]}


class FileUnder:
    """One file or run under several releases; the others are compared with the first.

    ``scores`` has the numbers under each release, and ``totals`` the number of changed verdicts
    under each but the first.
    """

    def __init__(self, path: Path, found: ScoredUnder) -> None:
        self.path, self.found = path, found
        self.scores = {name: FileScore(path, each) for name, each in found.recounts.items()}
        self.totals = found.totals
        self.changes = found.changes
        """Returns the simulations whose verdict changes under a release, or needs a judge."""

    @property
    def findings(self) -> list[Finding]:
        """The faults of the record under every release."""
        kinds = [{one.kind for one in each.findings} for each in self.scores.values()]
        common = set.intersection(*kinds) - {"not recomputed"}
        return [each for each in self.scores[self.found.first].findings if each.kind in common]

    def to_dict(self) -> dict[str, object]:
        return {
            "path": str(self.path),
            "compared_with": self.found.first,
            "findings": [each.to_dict() for each in self.findings],
            "releases": {name: _numbers(each) for name, each in self.scores.items()},
            "totals": {name: each.to_dict() for name, each in self.totals.items()},
            **_judge_in_json(next(iter(self.found.recounts.values())).model),
            "changes": {
                name: [each.to_dict() for each in self.changes(name)] for name in self.totals
            },
        }


def _numbers(score: FileScore) -> dict[str, object]:
    kept = ("planned", "simulations", "verdicts", "passed", "needs_judge", "not_replayable")
    every = score.to_dict().items()
    return {key: value for key, value in every if key in kept or key.startswith("pass^")}


class ScoresUnder(FilesRead[FileUnder]):
    """The files that were judged under several releases."""

    @property
    def totals(self) -> dict[str, ReleaseTotals]:
        """The number of changed verdicts in all files together."""
        early = sum(each.found.ended_early for each in self)
        return {
            name: ReleaseTotals.of([one for each in self for one in each.found.every[name]], early)
            for name in (self[0].totals if self else ())
        }

    def to_dict(self) -> dict[str, object]:
        return {
            "files": [each.to_dict() for each in [*self, *self.unreadable]],
            "totals": {name: each.to_dict() for name, each in self.totals.items()},
        }


def score(
    files: Files,
    *,
    strict: bool = False,
    judge_model: str | None = None,
    base_url: str | None = None,
    engine: AnyEngine = PROCESSES,
    processes: int | None = None,
    on_progress: Callable[[int], object] | None = None,
    **scoring: Unpack[ScoringKeywords],
) -> FilesRead[FileScore]:
    """Judge the simulations of run folders and results files again, by the benchmark's rules.

    Of a folder that is not a run, all results files below it are judged. A file that cannot be
    read does not stop the others; if none can, the first error is raised.

    Args:
        strict: A conversation that cannot be replayed raises what the original raises, and is
            shown as a disagreement; without it the reward is 0.
        judge_model: Model that judges natural-language assertions, where the reward depends on
            them. Replies are kept with the run or beside the file, and nothing is asked twice.
        base_url: The address of an OpenAI-compatible server for the judge.
        engine: Where: ``processes`` of this machine, which read large files in parts, or
            ``threads`` for this process alone. A judge is asked in this process.
        processes: How many judge at once; by default one for each core.
        on_progress: Gets the number of simulations judged so far of the file at hand.
        scoring: The fields of ``ScoringOptions``. Without ``data_version``, runs are scored by the
            release that they were made with, files in the form of v1.0.x by v1.0.1, and other
            files by v0.2.0.
    """
    options = ScoringOptions(strict=strict, **scoring)
    scores = FilesRead[FileScore]()
    with _connected(chosen_engine(engine, None, processes)) as connected:

        def judge(file: str | os.PathLike[str]) -> FileScore:
            source = open_source(file)
            found = rescore_record(
                simulations_in(source, options.domain, options.data_version),
                options,
                judge=judge_for(source, judge_model, base_url),
                on_progress=on_progress,
                engine=connected,
            )
            return FileScore(source if isinstance(source, Path) else source.path, found)

        scores.add_files(files, judge)
    return scores


@contextmanager
def _connected(engine: Engine) -> Iterator[MappingEngine | None]:
    """Yield an engine that stays connected from one record to the next, if it can.

    None is this process.
    """
    if isinstance(engine, ThreadEngine):  # judging needs the processor alone: threads gain nothing
        yield None
        return
    if not isinstance(engine, MappingEngine):
        raise ConfigurationError(
            f"the engine {type(engine).__name__} can run simulations, but not score recorded "
            "ones: it lacks mapped(); leave it out, or use 'processes'"
        )
    with engine if isinstance(engine, AbstractContextManager) else nullcontext():
        yield engine


def score_under(
    files: Files,
    versions: Sequence[str],
    *,
    domain: str | None = None,
    strict: bool = False,
    embedded_tasks: bool = False,
    remap_tasks: bool = False,
    judge_model: str | None = None,
    base_url: str | None = None,
    on_progress: Callable[[int], object] | None = None,
) -> ScoresUnder:
    """Judge the simulations of run folders and results files under several releases.

    Files are found and read as by ``score``, and the other arguments are those of ``score``.

    Args:
        versions: The releases, such as ``0.2.0``, ``1.0.1`` or ``1.0.1+tasks.0.2.0``; changes are
            from the first to each of the others.
        strict: Replay as the original does in a run, also under releases that can be lenient.
        embedded_tasks: Judge by the tasks in the file: only the rules are those of the releases.
    """
    options = ScoringOptions(False, embedded_tasks, remap_tasks, domain, strict=strict)
    scores = ScoresUnder()

    def judge(file: str | os.PathLike[str]) -> FileUnder:
        source = open_source(file)
        found = score_one_under(
            lambda version: simulations_in(source, options.domain, version),
            versions,
            options=options,
            judge=judge_for(source, judge_model, base_url),
            on_progress=on_progress,
        )
        return FileUnder(source if isinstance(source, Path) else source.path, found)

    scores.add_files(files, judge)
    return scores
