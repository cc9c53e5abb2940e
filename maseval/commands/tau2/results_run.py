"""A results file of tau2-bench as a run to look at, with every verdict recomputed.

The numbers are those of ``maseval tau2 score``: planned is every task of the file times its number
of trials, and a simulation that is not in the file, is a copy or cannot be judged is not passed.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, cast

from maseval.benchmark.tau2.results import ResultsFile, read_results
from maseval.benchmark.tau2.trust.recount.causes import causes
from maseval.benchmark.tau2.trust.recount.recount import Recount, Retrial
from maseval.benchmark.tau2.trust.recount.slots import PlannedTrial
from maseval.benchmark.tau2.trust.recount.sources import Item, collection
from maseval.benchmark.tau2.trust.recount.ways import Ways
from maseval.benchmark.tau2.world.inventory import tool_types
from maseval.commands.benchmarks import OutcomeOptions
from maseval.commands.finding import UnknownSimulationError
from maseval.core.exceptions import ConfigurationError
from maseval.core.report import Report, TaskExecutionStatus
from maseval.core.shapes import Shape, mapping, text_or_none
from maseval.report.simulations import report_of_simulation
from maseval.runs import Simulation
from maseval.runs.config import RunConfig
from maseval.runs.log import DamagedRecord

JUDGED_BY = "judged_by"
"""Where the task of a report has the one it was judged by, if that is not the benchmark's."""


class _Tried(NamedTuple):
    """A simulation of the file, and what judging it again gave."""

    item: Item
    again: Retrial


class ResultsRun:
    """The simulations of a results file, read and judged when they are first asked for."""

    damaged: tuple[DamagedRecord, ...] = ()

    def __init__(self, path: Path, options: OutcomeOptions | None = None) -> None:
        self.path = path
        self._options = options or OutcomeOptions()
        self._file: ResultsFile = read_results(path)

    @cached_property
    def config(self) -> RunConfig:
        """What the file says of the run, and the release by which it was judged."""
        tasks: dict[str, dict[str, None]] = {}
        for one in self._reports:
            tasks.setdefault(one.domain, {})[one.task_id] = None
        settings: dict[str, object] = {
            "benchmark": "tau2",
            "tasks": {domain: list(ids) for domain, ids in tasks.items()},
            "trials": 1 + max(one.trial for one in self._reports),
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
    def _found(self) -> tuple[Recount, Mapping[PlannedTrial, list[_Tried]]]:
        """Everything in the file judged again, by the trial that it is."""
        options = self._options
        whole = collection(self._file, options.domain, version=options.data_version)
        recount = Recount(
            whole, Ways(options.as_recorded, options.embedded_tasks, options.remap_tasks)
        )
        tried: dict[PlannedTrial, list[_Tried]] = defaultdict(list)
        for item in whole.items:
            again = recount.judge(item)
            tried[again.judged.slot].append(_Tried(item, again))
        if not tried:
            raise ConfigurationError(f"{self.path} holds no simulation; there is nothing to show")
        return recount, tried

    @property
    def _recount(self) -> Recount:
        return self._found[0]

    @cached_property
    def _reports(self) -> dict[Simulation, Report]:
        """The report on each planned simulation; for one that is missing, it says so."""
        recount, tried = self._found
        return {
            Simulation(*slot): self._report(slot, tried[slot]) if slot in tried else _absent(slot)
            for slot in recount.slots
        }

    def _report(self, slot: PlannedTrial, several: list[_Tried]) -> Report:
        """Of several in one place, the one that decides: one that did not pass, if there is."""
        recount = self._recount
        chosen = next(
            (each for each in several if not recount.passed_alone(each.again.judged)), None
        )
        item, again = chosen or several[0]
        verdict = item.recorded if recount.ways.as_recorded else again.verdict.reward_info
        simulation = {
            **item.simulation,
            **{"task_id": slot.task_id, "trial": slot.trial, "reward_info": verdict},
        }
        task = again.task or recount.known(item.domain).raw(slot.task_id)
        embedded = recount.whole.tasks.get(again.judged.named)
        report = report_of_simulation(simulation, domain=slot.domain, task=task or embedded)
        report |= _ended(recount, slot, again)
        report["config"] = self._configuration(item)
        report["recorded_reward"] = mapping(item.recorded).get("reward")
        if again.task is not None:
            report["task"] = {**mapping(report, "task"), JUDGED_BY: again.task}
        return cast("Report", report)

    def _configuration(self, item: Item) -> dict[str, object]:
        """What the file says of all simulations, where reports of ours have it."""
        models = {
            f"{side}_model": {"model_id": name}
            for side in ("agent", "user")
            if (name := mapping(self._info, f"{side}_info").get("llm"))
        }
        world = {
            "domain": item.domain.name,
            "solo": item.solo,
            "version": item.version,
            "tool_types": tool_types(item.domain),
        }
        return {"environment": world, "models": models}

    @property
    def planned(self) -> list[Simulation]:
        """Every simulation that should be there."""
        return list(self._reports)

    @property
    def recorded(self) -> list[Simulation]:
        """The same: what is missing has a report that says so."""
        return list(self._reports)

    def reports(self) -> Iterator[Report]:
        """One report for each simulation."""
        return iter(self._reports.values())

    def report(self, simulation: Simulation) -> Report:
        """The report on one simulation."""
        try:
            return self._reports[simulation]
        except KeyError:
            raise UnknownSimulationError(f"{self.path} has no {simulation}") from None

    @cached_property
    def notes(self) -> list[str]:
        """What is wrong with the file, by whose rules it was judged, and what was confirmed."""
        recount = self._recount
        how = [] if recount.ways.as_recorded else [f"rewards recomputed from {self.path.name}"]
        confirmed = sum(each.agrees for each in recount.judged)
        return [
            *recount.ways.marks,
            *map(str, causes(recount)),
            *how,
            f"judged by tau2-bench {recount.version} ({recount.whole.version_from})",
            f"{confirmed} of {len(recount.compared)} recorded verdicts confirmed",
        ]


def _ended(recount: Recount, slot: PlannedTrial, again: Retrial) -> dict[str, object]:
    """The status of a simulation where its end alone does not give it: the recount decides."""
    if recount.passes[slot]:
        return {"status": TaskExecutionStatus.SUCCESS.value, "error": None}
    original = recount.copy_of(again.judged)
    if original is not None:
        words = f"a copy of {original.passport.where}, which counts as a failure"
        return _without_verdict("duplicated simulation", words)
    if again.judged.problem and not again.judged.ending:
        return _without_verdict("no verdict", again.judged.problem)
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
