"""A results file of tau2-bench as a run to look at, with every verdict recomputed.

The numbers are those of ``maseval tau2 score``: planned is every task of the file times its number
of trials, and a simulation that is not in the file, is a copy or cannot be judged is not passed.
What becomes of one depends on all, so each is judged once and then laid aside on disk: the file may
be larger than memory.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, cast

from maseval.app.results.finding import UnknownSimulationError
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.environment import tool_types
from maseval.benchmark.tau2.rescoring.causes import causes
from maseval.benchmark.tau2.rescoring.record import PlannedTrial, RecordItem, open_record
from maseval.benchmark.tau2.rescoring.rescore import RescoredRecord
from maseval.benchmark.tau2.rescoring.verdict import RescoredSimulation
from maseval.benchmark.tau2.results import ResultsFile, read_results
from maseval.core.exceptions import ConfigurationError
from maseval.core.report import Report, TaskExecutionStatus
from maseval.core.scoring_options import ScoringOptions
from maseval.core.shapes import Shape, mapping, text_or_none
from maseval.core.storage.files import Scratch
from maseval.report.simulations import report_of_simulation
from maseval.runs import Simulation
from maseval.runs.config import RunConfig
from maseval.runs.log import DamagedRecord

JUDGED_BY = "judged_by"
"""Where the task of a report has the one it was judged by, if that is not the benchmark's."""


class _Tried(NamedTuple):
    """A simulation that was judged again, without its conversation, which lies at ``place``."""

    judged: RescoredSimulation
    domain: Domain
    solo: bool
    version: str | None
    place: int


class _LaidAside(NamedTuple):
    """What of a simulation is on disk: all of it, its verdict, and the task it was judged by."""

    simulation: Mapping[str, Any]
    verdict: Mapping[str, Any] | None
    task: Mapping[str, Any] | None
    recorded_reward: float | None


class ResultsRun:
    """The simulations of a results file, read and judged when they are first asked for."""

    damaged: tuple[DamagedRecord, ...] = ()

    def __init__(self, path: Path, options: ScoringOptions | None = None) -> None:
        self.path = path
        self._options = options or ScoringOptions()
        self._file: ResultsFile = read_results(path)

    @cached_property
    def config(self) -> RunConfig:
        """What the file says of the run, and the release by which it was judged."""
        tasks: dict[str, dict[str, None]] = {}
        for one in self.planned:
            tasks.setdefault(one.domain, {})[one.task_id] = None
        settings: dict[str, object] = {
            "benchmark": "tau2",
            "tasks": {domain: list(ids) for domain, ids in tasks.items()},
            "trials": 1 + max(one.trial for one in self.planned),
            "version": self._recount.version,
        }
        for side in ("agent", "user"):
            given = mapping(self._info, f"{side}_info")
            settings[side] = text_or_none(given.get("llm") or given.get("implementation"))
        return RunConfig.of(settings)

    @property
    def _info(self) -> Shape:
        return {} if self._file.layout == "lines" else self._file.raw_info

    @cached_property
    def _found(self) -> tuple[RescoredRecord, Mapping[PlannedTrial, list[_Tried]]]:
        """Everything in the file judged again, by the trial that it is."""
        options = self._options
        whole = open_record(self._file, options.domain, version=options.data_version)
        recount = RescoredRecord(whole, options)
        tried: dict[PlannedTrial, list[_Tried]] = defaultdict(list)
        for item in whole.items:
            one = self._tried(recount, item)
            tried[one.judged.slot].append(one)
        if not tried:
            raise ConfigurationError(f"{self.path} holds no simulation; there is nothing to show")
        return recount, tried

    def _tried(self, recount: RescoredRecord, item: RecordItem) -> _Tried:
        again = recount.judge(item)
        verdict = item.recorded if recount.options.as_recorded else again.verdict.reward_info
        recorded = mapping(item.recorded).get("reward")
        place = self._aside.put([item.simulation, verdict, again.task, recorded])
        return _Tried(again.simulation, item.domain, item.solo, item.version, place)

    @cached_property
    def _aside(self) -> Scratch:
        return Scratch()

    @property
    def _recount(self) -> RescoredRecord:
        return self._found[0]

    def _report(self, slot: PlannedTrial) -> Report:
        """The report on a planned simulation; on one that is missing, it says so."""
        recount, tried = self._found
        if slot not in tried:
            return _absent(slot)
        chosen = self._decisive(tried[slot])
        kept = _LaidAside(*self._aside.get(chosen.place))
        simulation = {
            **kept.simulation,
            **{"task_id": slot.task_id, "trial": slot.trial, "reward_info": kept.verdict},
        }
        task = kept.task or recount.known_tasks(chosen.domain).raw(slot.task_id)
        embedded = recount.record.tasks.get(chosen.judged.named)
        report = report_of_simulation(simulation, domain=slot.domain, task=task or embedded)
        report |= _ended(recount, slot, chosen.judged)
        report["config"] = self._configuration(chosen)
        report["recorded_reward"] = kept.recorded_reward
        if kept.task is not None:
            report["task"] = {**mapping(report, "task"), JUDGED_BY: kept.task}
        return cast("Report", report)

    def _decisive(self, several: list[_Tried]) -> _Tried:
        """Of several in one place, one that did not pass, if there is."""
        passed = self._recount.passed_alone
        return next((each for each in several if not passed(each.judged)), several[0])

    def _configuration(self, tried: _Tried) -> dict[str, object]:
        """What the file says of all simulations, where reports of ours have it."""
        models = {
            f"{side}_model": {"model_id": name}
            for side in ("agent", "user")
            if (name := mapping(self._info, f"{side}_info").get("llm"))
        }
        world = {
            "domain": tried.domain.name,
            "solo": tried.solo,
            "version": tried.version,
            "tool_types": tool_types(tried.domain),
        }
        return {"environment": world, "models": models}

    @cached_property
    def planned(self) -> list[Simulation]:
        """Every simulation that should be there."""
        return [Simulation(*slot) for slot in dict.fromkeys(self._recount.slots)]

    @property
    def recorded(self) -> list[Simulation]:
        """The same: what is missing has a report that says so."""
        return self.planned

    def reports(self) -> Iterator[Report]:
        """One report for each simulation, one in memory at a time."""
        return (self._report(PlannedTrial(*one)) for one in self.planned)

    def report(self, simulation: Simulation) -> Report:
        """The report on one simulation."""
        if simulation not in self._known:
            raise UnknownSimulationError(f"{self.path} has no {simulation}")
        return self._report(PlannedTrial(*simulation))

    @cached_property
    def _known(self) -> frozenset[Simulation]:
        return frozenset(self.planned)

    @cached_property
    def notes(self) -> list[str]:
        """What is wrong with the file, by whose rules it was judged, and what was confirmed."""
        recount = self._recount
        how = [] if recount.options.as_recorded else [f"rewards recomputed from {self.path.name}"]
        confirmed = sum(each.agrees for each in recount.simulations)
        return [
            *recount.options.marks,
            *map(str, causes(recount)),
            *how,
            f"judged by tau2-bench {recount.version} ({recount.record.version_from})",
            f"{confirmed} of {len(recount.compared)} recorded verdicts confirmed",
        ]


def _ended(
    recount: RescoredRecord, slot: PlannedTrial, judged: RescoredSimulation
) -> dict[str, object]:
    """The status of a simulation where its end alone does not give it: the recount decides."""
    if recount.passes[slot]:
        return {"status": TaskExecutionStatus.SUCCESS.value, "error": None}
    original = recount.copy_of(judged)
    if original is not None:
        words = f"a copy of {original.identity.where}, which counts as a failure"
        return _without_verdict("duplicated simulation", words)
    if judged.problem and not judged.ending:
        return _without_verdict("no verdict", judged.problem)
    return {}


def _without_verdict(kind: str, words: str) -> dict[str, object]:
    error = {"error_type": kind, "error_message": words}
    return {"status": TaskExecutionStatus.SETUP_FAILED.value, "error": error, "eval": []}


def _absent(slot: PlannedTrial) -> Report:
    """The report on a simulation that the file should hold and does not."""
    named: dict[str, Any] = {"task_id": slot.task_id, "trial": slot.trial}
    bare = report_of_simulation(named, domain=slot.domain)
    absent = _without_verdict("missing", "this simulation is not in the file")
    return cast("Report", {**bare, **absent, "started_at": ""})
