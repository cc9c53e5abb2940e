"""A results file of tau2-bench as a run to look at, with every verdict recomputed.

What is planned is every task of the file times its number of trials. A simulation that is not in
the file, or cannot be judged, counts as not passed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from maseval.benchmark.tau2.data_loader import UnknownTaskError, load_raw_task
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.results import RecordedSimulation, ResultsFile, read_results
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.benchmark.tau2.scoring.score import score_simulation
from maseval.benchmark.tau2.world.inventory import tool_types
from maseval.commands.finding import UnknownSimulationError
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import is_successful
from maseval.core.report import Report
from maseval.core.shapes import Shape, mapping, number, text_or_none
from maseval.report.simulations import report_of_simulation
from maseval.runs import Simulation
from maseval.runs.config import RunConfig
from maseval.runs.log import DamagedRecord

AS_RECORDED = "rewards as recorded, not recomputed"


class ResultsRun:
    """The simulations of a results file, read and judged when they are first asked for."""

    damaged: tuple[DamagedRecord, ...] = ()

    def __init__(self, path: Path, *, as_recorded: bool = False, domain: str | None = None) -> None:
        self.path = path
        self._file: ResultsFile = read_results(path)
        self._as_recorded = as_recorded
        self._domain = domain
        self._skipped: Counter[str] = Counter()
        self._changed = 0

    @cached_property
    def config(self) -> RunConfig:
        """What the file says of the run."""
        tasks: dict[str, dict[str, None]] = {}
        for one in self._reports:
            tasks.setdefault(one.domain, {})[one.task_id] = None
        settings: dict[str, object] = {
            "benchmark": "tau2",
            "tasks": {domain: list(ids) for domain, ids in tasks.items()},
            "trials": 1 + max(one.trial for one in self._reports),
        }
        for side in ("agent", "user"):
            given = mapping(self._info, f"{side}_info")
            settings[side] = text_or_none(given.get("llm") or given.get("implementation"))
        return RunConfig.of(settings)

    @property
    def _info(self) -> Shape:
        return {} if self._file.layout == "lines" else cast("Shape", self._file.info)

    @cached_property
    def _reports(self) -> dict[Simulation, Report]:
        """The report on each simulation of the file, and on each that is missing."""
        found = {Simulation.of(report): report for report in self._judged()}
        if not found:
            raise ConfigurationError(f"{self.path} holds no simulation; there is nothing to show")
        return found | {one: _absent(one) for one in self._plan(found) if one not in found}

    def _judged(self) -> Iterator[Report]:
        trials: dict[tuple[str, str], int] = {}
        for record in self._file.records(lambda error: self._skip(str(error))):
            domain = self._world(record)
            yield self._with_configuration(self._report(record, domain, trials), record, domain)

    def _skip(self, reason: str) -> None:
        self._skipped[reason] += 1

    def _world(self, record: RecordedSimulation) -> Domain:
        name = self._domain or record.domain
        if name is None:
            raise ConfigurationError(
                f"{self.path} does not name the domain of its simulations; add --domain retail "
                "or whichever it is"
            )
        return domain_named(name)

    def _report(
        self, record: RecordedSimulation, domain: Domain, trials: dict[tuple[str, str], int]
    ) -> dict[str, Any]:
        simulation = cast("dict[str, Any]", record.simulation)
        key = domain.name, str(simulation["task_id"])
        if simulation.get("trial") is None:
            simulation = {**simulation, "trial": trials.get(key, 0)}
        trials[key] = trials.get(key, 0) + 1
        task = self._task(domain, key[1])
        verdict = self._verdict(record, domain)
        recorded = cast("Mapping[str, Any] | None", record.verdict)
        if verdict and recorded:
            self._changed += is_successful(verdict["reward"]) != is_successful(recorded["reward"])
        judged = {**simulation, "reward_info": verdict}
        return report_of_simulation(judged, domain=domain.name, task=task)

    def _task(self, domain: Domain, task_id: str) -> Shape | None:
        try:
            return load_raw_task(domain, task_id)
        except UnknownTaskError:
            return cast("Shape | None", self._file.tasks.get(task_id))

    def _verdict(self, record: RecordedSimulation, domain: Domain) -> Mapping[str, Any] | None:
        if self._as_recorded:
            return cast("Mapping[str, Any] | None", record.verdict)
        simulation = record.simulation
        try:
            found = score_simulation(simulation, domain=domain, solo=record.solo)
        except NoJudgeError:
            self._skip("needs a judge model")
        except UnknownTaskError:
            self._skip(f"{domain.name} has no such task")
        else:
            return cast("Mapping[str, Any]", found)
        return None

    def _with_configuration(
        self, report: dict[str, Any], record: RecordedSimulation, domain: Domain
    ) -> Report:
        """With what the file says of all simulations, where reports of ours have it."""
        models = {
            f"{side}_model": {"model_id": name}
            for side in ("agent", "user")
            if (name := mapping(self._info, f"{side}_info").get("llm"))
        }
        world = {"domain": domain.name, "solo": record.solo, "tool_types": tool_types(domain)}
        report["config"] = {"environment": world, "models": models}
        return cast("Report", report)

    def _plan(self, found: Mapping[Simulation, Report]) -> Iterator[Simulation]:
        domains = dict.fromkeys(one.domain for one in found)
        trials = int(number(self._info.get("num_trials")) or 0)
        if len(domains) == 1:
            for task_id in self._file.tasks:
                for trial in range(trials):
                    yield Simulation(next(iter(domains)), task_id, trial)

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

    @property
    def notes(self) -> list[str]:
        """How the verdicts came about, and what is wrong with the file."""
        absent = sum(report["status"] == _ABSENT for report in self._reports.values())
        count = len(self._reports)
        found = [AS_RECORDED if self._as_recorded else f"rewards recomputed from {self.path.name}"]
        if self._changed:
            found.append(f"{self._changed} of {count} recorded verdicts are not confirmed")
        if absent:
            found.append(f"{absent} of {count} planned simulations are missing: not passed")
        skipped = self._skipped.items()
        return found + [f"{n} not judged, counted as not passed: {why}" for why, n in skipped]


_ABSENT = "setup_failed"


def _absent(one: Simulation) -> Report:
    """The report on a simulation that the file should hold and does not."""
    bare = report_of_simulation({"task_id": one.task_id, "trial": one.trial}, domain=one.domain)
    error = {"error_type": "missing", "error_message": "this simulation is not in the file"}
    return cast("Report", {**bare, "status": _ABSENT, "error": error, "started_at": ""})
