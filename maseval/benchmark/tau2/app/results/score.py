"""``maseval tau2 score``: recorded conversations judged again, and compared with their record."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple, Unpack

from maseval.app.results.counting import ConventionScore, conventions_in_json
from maseval.app.results.recording import SimulationLine
from maseval.app.running.run_options import chosen_engine
from maseval.benchmark.tau2.app.results.sources import (
    files_below,
    judge_models,
    open_source,
    panel_for,
)
from maseval.benchmark.tau2.domains.releases import RELEASES, release_named
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.rescoring.causes import Cause, causes
from maseval.benchmark.tau2.rescoring.judges import JudgePanel
from maseval.benchmark.tau2.rescoring.remote import score_with_engine
from maseval.benchmark.tau2.rescoring.rescore import RescoredRecord, ScoreElsewhere, rescore_record
from maseval.benchmark.tau2.rescoring.verdict import RescoredSimulation
from maseval.benchmark.tau2.run_metrics import CONVENTIONS, LEFT_OUT, Convention, by_convention
from maseval.core.engine.engines import DEFAULT, AnyEngine, Engine, MappingEngine, ThreadEngine
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.interface.ray.worker_setup import check_data
from maseval.stats.estimation import Estimate


@dataclass(frozen=True)
class Disagreement:
    """A simulation whose verdict differs from the recorded one, and where."""

    task_id: str
    trial: int | None
    differences: Sequence[str]


@dataclass(frozen=True)
class FileScore:
    """One file or run, judged again.

    ``passes`` of ``planned`` simulations passed by the new verdicts: what is missing is a failure.
    ``agreeing`` of ``compared`` recorded verdicts were confirmed. ``causes`` say what is wrong with
    the record, ``marks`` how it was judged if not by the benchmark's tasks.
    """

    path: Path
    found: RescoredRecord

    @property
    def simulations(self) -> int:
        """How many are recorded."""
        return len(self.found.simulations)

    @property
    def judged(self) -> int:
        """How many got a new verdict."""
        return sum(each.reward is not None for each in self.found.simulations)

    @property
    def planned(self) -> int:
        """How many there should be: tasks times trials."""
        return len(self.found.slots)

    @property
    def missing(self) -> list[str]:
        """The planned simulations that are not recorded."""
        return [str(slot) for slot in self.found.missing]

    @property
    def passes(self) -> int:
        """How many passed."""
        return self.found.passed

    @property
    def open(self) -> int:
        """How many only a judge model can decide; they are not among ``passes``."""
        return len(self.found.open)

    @property
    def recorded_passes(self) -> int:
        """How many the record calls passed."""
        return sum(each.passed_as_recorded for each in self.found.simulations)

    @property
    def compared(self) -> int:
        """How many have a recorded and a new verdict."""
        return len(self.found.compared)

    @property
    def agreeing(self) -> int:
        """How many recorded verdicts were confirmed."""
        return sum(each.agrees for each in self.found.simulations)

    @property
    def not_replayable(self) -> int:
        """How many conversations cannot be replayed; they count as failures."""
        return sum(each.fault is not None for each in self.found.simulations)

    @property
    def skipped(self) -> Mapping[str, int]:
        """Why simulations were not compared, and how many."""
        without = sum(each.recorded is None and not each.problem for each in self.found.simulations)
        return self.found.problems | ({"no recorded verdict": without} if without else {})

    @cached_property
    def disagreements(self) -> list[Disagreement]:
        """Every simulation whose verdict differs."""
        return [
            Disagreement(each.named, each.identity.trial, _differences(each))
            for each in self.found.disagreeing
        ]

    @cached_property
    def causes(self) -> list[Cause]:
        """What is wrong with the record, with the evidence."""
        return causes(self.found)

    @property
    def marks(self) -> list[str]:
        """How it was judged, if not by the benchmark's own tasks."""
        return self.found.options.marks

    @property
    def pass_hat(self) -> Mapping[int, Estimate]:
        """pass^k of the planned simulations."""
        return self.found.pass_hat

    @property
    def conventions(self) -> list[ConventionScore]:
        """pass^k of the recorded simulations, without and with infrastructure errors.

        None where a judge must decide.
        """
        return [] if self.open else conventions_of_recount(self.found)

    @property
    def agrees(self) -> bool:
        """Whether something was compared, and nothing is wrong."""
        return bool(self.compared) and not self.causes

    @property
    def panel(self) -> JudgePanel:
        """The judges that were asked, and how far they agree."""
        return self.found.panel

    def to_dict(self) -> dict[str, object]:
        """In JSON's terms."""
        return {
            "path": str(self.path),
            "version": self.found.version,
            "version_from": self.found.record.version_from,
            "marks": self.marks,
            "causes": [cause.to_dict() for cause in self.causes],
            "planned": self.planned,
            "simulations": self.simulations,
            "missing": self.missing,
            "compared": self.compared,
            "agreeing": self.agreeing,
            "passed_as_recorded": self.recorded_passes,
            "passed": self.passes,
            "needs_judge": self.open,
            **self.panel.to_dict(),
            "not_replayable": self.not_replayable,
            "skipped": dict(self.skipped),
            "disagreements": [
                {"task_id": one.task_id, "trial": one.trial, "differences": list(one.differences)}
                for one in self.disagreements
            ],
            **{f"pass^{k}": _in_brief(estimate) for k, estimate in self.pass_hat.items()},
            "conventions": conventions_in_json(self.conventions),
        }


def _in_brief(estimate: Estimate) -> dict[str, float | None]:
    if estimate.bounds is None:
        return estimate.in_brief()
    low, high = estimate.bounds
    return {"value": None, "if_unjudged_fail": low, "if_unjudged_pass": high}


@dataclass(frozen=True)
class UnreadableFile:
    """A file among several that could not be judged, and why."""

    path: Path
    error: Exception

    def to_dict(self) -> dict[str, object]:
        """In JSON's terms."""
        return {"path": str(self.path), "error": str(self.error)}


class Scores(list[FileScore]):
    """The files that were judged, and in ``unreadable`` those that could not be."""

    def __init__(self) -> None:
        super().__init__()
        self.unreadable: list[UnreadableFile] = []


def score(
    files: Sequence[str | os.PathLike[str]],
    *,
    strict: bool = False,
    judge_model: Sequence[str] = (),
    base_url: str | None = None,
    engine: AnyEngine = DEFAULT,
    ray_address: str | None = None,
    processes: int | None = None,
    on_progress: Callable[[int], object] | None = None,
    **scoring: Unpack[ScoringKeywords],
) -> Scores:
    """Judge the simulations of run folders and results files again, by the benchmark's rules.

    Of a folder that is not a run, all results files below it are judged. A file that cannot be
    read does not stop the others; if none can, the first error is raised.

    Args:
        strict: A conversation that cannot be replayed raises what the original raises, and is
            shown as a disagreement; without it the reward is 0.
        judge_model: Models that judge natural-language assertions, where the reward depends on
            them. The first decides; with several, their agreement is reported. Replies are kept
            with the run or beside the file, and nothing is asked twice.
        base_url: The address of an OpenAI-compatible server for the judges.
        engine: Where: in this process, or as the engine of another name, such as ``ray``, does it.
            Files are read, and judges asked, in this process.
        ray_address: For ``ray``: ``local``, ``auto`` or ``ray://HOST:PORT``.
        processes: For ``ray``: how many judge at once; by default one for each core.
        on_progress: Gets the number of simulations judged so far of the file at hand.
        scoring: The fields of ``ScoringOptions``. Without ``data_version``, runs are scored by the
            release that they were made with, files in the form of v1.0.x by v1.0.1, and other
            files by v0.2.0.
    """
    options = ScoringOptions(strict=strict, **scoring)
    models, scores = judge_models(judge_model, base_url), Scores()
    with assessing(chosen_engine(engine, ray_address, processes)) as assessed:
        for file in chain.from_iterable(map(files_below, files)):
            try:
                source = open_source(file)
                found = rescore_record(
                    source.simulations(options.domain, options.data_version),
                    options,
                    panel=panel_for(source, models),
                    on_progress=on_progress,
                    assessed=assessed,
                )
                scores.append(FileScore(source.path, found))
            except (MASEvalError, OSError) as error:
                scores.unreadable.append(UnreadableFile(Path(file), error))
    if scores.unreadable and not scores:
        raise scores.unreadable[0].error
    return scores


def _differences(each: RescoredSimulation) -> list[str]:
    replay = [] if each.fault is None else [f"it cannot be replayed: {each.fault.error}"]
    return [*each.differences, *replay]


@contextmanager
def assessing(engine: Engine) -> Iterator[ScoreElsewhere | None]:
    """How an engine assesses the simulations of a record; None for this process itself.

    An engine that can stay connected from one record to the next does.
    """
    if isinstance(engine, ThreadEngine):  # judging needs the processor alone: threads gain nothing
        yield None
        return
    if not isinstance(engine, MappingEngine):
        raise ConfigurationError(
            f"the engine {type(engine).__name__} can run simulations, but not score recorded "
            "ones: it lacks mapped(); leave it out, or use 'ray'"
        )
    with engine if isinstance(engine, AbstractContextManager) else nullcontext():
        yield score_with_engine(engine, check_data)


MEANINGS: Mapping[Convention, str] = {
    "metrics": "errors left out",
    "leaderboard": "errors counted as failures",
}

_ENDINGS = {reason.value for reason in TerminationReason}


class _CountedSimulation(NamedTuple):
    """A simulation as far as the conventions look at it."""

    domain: str
    task_id: str
    ended: str | None
    passed: bool

    def record(self) -> dict[str, object]:
        """In the form of tau2-bench; what did not end as it knows is stored as an error there."""
        return {
            "task_id": self.task_id,
            "termination_reason": self.ended if self.ended in _ENDINGS else LEFT_OUT,
            "reward_info": {"reward": float(self.passed)},
        }


def conventions_of_lines(
    lines: Iterable[SimulationLine], config: Mapping[str, object]
) -> list[ConventionScore]:
    """Of a run of 1.0.x, or of its results file; none for 0.2.0, which knows no such errors."""
    rules = str(config.get("rules", "")).removeprefix("tau2-bench v").partition("+")[0]
    of_run = rules in RELEASES and RELEASES[rules].rules.metrics.detailed
    every = [
        _CountedSimulation(one.domain, one.task_id, one.ended, one.outcome == "pass")
        for one in lines
        if of_run or one.ended is not None  # of a file, that one is missing
    ]
    return list(_scores(every)) if of_run or _any_error(every) else []


def conventions_of_recount(found: RescoredRecord) -> list[ConventionScore]:
    """The same of simulations that were judged again."""
    every = [
        _CountedSimulation(
            each.slot.domain, each.slot.task_id, each.ending, found.passes[each.slot]
        )
        for each in found.simulations
    ]
    detailed = any(release_named(one.version).rules.metrics.detailed for one in found.simulations)
    return list(_scores(every)) if detailed or _any_error(every) else []


def _any_error(every: Iterable[_CountedSimulation]) -> bool:
    return any(each.ended == LEFT_OUT for each in every)


def _scores(every: Sequence[_CountedSimulation]) -> Iterator[ConventionScore]:
    for domain in dict.fromkeys(each.domain for each in every):
        records = [each.record() for each in every if each.domain == domain]
        metrics = by_convention(records, len(records))
        for name in CONVENTIONS:
            found = metrics[name]
            yield ConventionScore(
                domain,
                name,
                MEANINGS[name],
                found["infra_error_count"],
                found["total_simulations"],
                found["total_tasks"],
                found["pass_hat_ks"],
            )
