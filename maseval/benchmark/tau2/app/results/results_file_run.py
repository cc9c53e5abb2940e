"""ResultsFileRun: a results file of tau2-bench as a run to look at, with recomputed verdicts.

The numbers are those of ``maseval tau2 score``: planned is every task of the file times its number
of trials. A simulation that is not in the file or cannot be judged has no verdict.
The outcome of one depends on all, so each is judged once and then stored on disk: the file may be
larger than memory.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, cast

from maseval.benchmark.tau2.app.results.recorded_setup import RecordedSetup
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.environment import tool_types
from maseval.benchmark.tau2.rescoring.findings import record_findings
from maseval.benchmark.tau2.rescoring.record import PlannedTrial, open_record
from maseval.benchmark.tau2.rescoring.record_finding import in_words, scoring_remedy
from maseval.benchmark.tau2.rescoring.rescore import NO_RECORDED_VERDICT, RescoredRecord
from maseval.benchmark.tau2.rescoring.verdict import RescoredSimulation
from maseval.benchmark.tau2.results import ResultsFile, read_results
from maseval.benchmark.tau2.results.reports import JUDGED_BY
from maseval.core.exceptions import ConfigurationError
from maseval.core.report import NO_VERDICT_STATUSES, Report, TaskExecutionStatus
from maseval.core.scoring_options import ScoringOptions
from maseval.core.storage.files import Scratch
from maseval.core.words import text_or_none
from maseval.report.simulations import report_of_simulation
from maseval.runs import Simulation
from maseval.runs.config import RunConfig
from maseval.runs.log import DamagedRecord
from maseval.runs.recording import report_key
from maseval.runs.verdict_check import MISFIT, Misstatement, RunDoubt, SimulationDoubt


class _JudgedTrial(NamedTuple):
    """A simulation that was judged again; its conversation is on disk at ``place``."""

    judged: RescoredSimulation
    domain: Domain
    solo: bool
    version: str | None
    place: int


class _StoredTrial(NamedTuple):
    """The part of a simulation on disk; ``task`` is the one it was judged by, if not ours."""

    simulation: Mapping[str, Any]
    verdict: Mapping[str, Any] | None
    task: Mapping[str, Any] | None
    recorded_reward: float | None


class ResultsFileRun:
    """The simulations of a results file, read and judged when they are first asked for."""

    damaged: tuple[DamagedRecord, ...] = ()

    def __init__(self, path: Path, options: ScoringOptions | None = None) -> None:
        self.path = path
        self._options = options or ScoringOptions()
        self._file: ResultsFile = read_results(path)
        self._setup = RecordedSetup.of_file(self._file)
        self.judged = 0
        """The number of simulations judged so far; another thread may ask for it."""
        self.expected = 0
        """The number of simulations that the file should hold, by its own plan; 0 without one."""

    @cached_property
    def config(self) -> RunConfig:
        """The settings that the file records, and the release by which it was judged."""
        tasks: dict[str, dict[str, None]] = {}
        for one in self.planned:
            tasks.setdefault(one.domain, {})[one.task_id] = None
        return RunConfig.of(
            {
                "benchmark": "tau2",
                "tasks": {domain: list(ids) for domain, ids in tasks.items()},
                "trials": 1 + max(one.trial for one in self.planned),
                "version": self._recount.version,
                "agent": self._setup.agent.name,
                "user": self._setup.user.name,
                "seed": self._setup.limits.get("seed"),
            }
        )

    @cached_property
    def _scratch(self) -> Scratch:
        return Scratch()

    @cached_property
    def _trials(self) -> tuple[RescoredRecord, Mapping[PlannedTrial, list[_JudgedTrial]]]:
        """All simulations judged again, by the planned trial that each is."""
        options = self._options
        whole = open_record(self._file, options.domain, version=options.data_version)
        recount = RescoredRecord(whole, options)
        self.expected = whole.expected
        trials: dict[PlannedTrial, list[_JudgedTrial]] = defaultdict(list)
        for item in whole.items:
            again = recount.judge(item)
            verdict = item.recorded if options.as_recorded else again.verdict.reward_info
            recorded = (item.recorded or {}).get("reward")
            place = self._scratch.put([item.simulation, verdict, again.task, recorded])
            one = _JudgedTrial(again.simulation, item.domain, item.solo, item.version, place)
            trials[one.judged.slot].append(one)
            self.judged += 1
        if not trials:
            raise ConfigurationError(f"{self.path} holds no simulation; there is nothing to show")
        return recount, trials

    @property
    def _recount(self) -> RescoredRecord:
        return self._trials[0]

    def _report(self, slot: PlannedTrial) -> Report:
        recount, trials = self._trials
        # Of several in one place, the one whose verdict is that of the trial decides.
        several, verdict = trials[slot], recount.passes[slot]
        alike = (each for each in several if recount.verdict_alone(each.judged) is verdict)
        chosen = next(alike, several[0])
        stored = _StoredTrial(*self._scratch.get(chosen.place))
        simulation = {
            **stored.simulation,
            **{"task_id": slot.task_id, "trial": slot.trial, "reward_info": stored.verdict},
        }
        task = stored.task or recount.known_tasks(chosen.domain).raw(slot.task_id)
        embedded = recount.record.tasks.get(chosen.judged.named)
        report = report_of_simulation(simulation, domain=slot.domain, task=task or embedded)
        report |= _status(recount, slot, chosen.judged, str(report["status"]))
        # Some releases have the policy with each simulation, as it may differ between tasks.
        policy = text_or_none(stored.simulation.get("policy")) or recount.record.policy
        report["config"] = self._configuration(chosen, policy)
        report["recorded_reward"] = stored.recorded_reward
        if (doubt := self._doubt_about_one(chosen.judged)) is not None:
            report["doubt"] = doubt
        if stored.task is not None:
            report["task"] = {
                **cast("Mapping[str, object]", report["task"]),
                JUDGED_BY: stored.task,
            }
        return cast("Report", report)

    def _configuration(self, trial: _JudgedTrial, policy: str | None) -> dict[str, object]:
        """Return the settings of the file in the place where reports of ours have them."""
        sides = {"agent_model": self._setup.agent, "user_model": self._setup.user}
        world = {
            "domain": trial.domain.name,
            "solo": trial.solo,
            "version": trial.version,
            "tool_types": tool_types(trial.domain),
            "policy_sha256": policy and sha256(policy.encode()).hexdigest(),
        }
        models = {role: {"model_id": side.model} for role, side in sides.items() if side.model}
        return {"environment": world, "models": models}

    @cached_property
    def planned(self) -> list[Simulation]:
        """Every simulation that should be there."""
        return [Simulation(*slot) for slot in dict.fromkeys(self._recount.slots)]

    @cached_property
    def recorded(self) -> dict[Simulation, None]:
        """Every simulation that is there, in the order of the plan."""
        _, trials = self._trials
        return dict.fromkeys(one for one in self.planned if PlannedTrial(*one) in trials)

    def reports(self) -> Iterator[Report]:
        """Yield one report for each simulation, one in memory at a time."""
        return (self._report(PlannedTrial(*one)) for one in self.recorded)

    def report(self, simulation: Simulation) -> Report:
        """Return the report on one simulation."""
        if simulation not in self.recorded:
            raise ConfigurationError(f"{self.path} has no {simulation}")
        return self._report(PlannedTrial(*simulation))

    def content_key(self, simulation: Simulation) -> str:
        """Return a text that is another one whenever the report is."""
        return report_key(self.report(simulation))

    @cached_property
    def notes(self) -> list[str]:
        """Faults of the file, the rules it was judged by, and the number of confirmed verdicts."""
        recount = self._recount
        how = [] if self._options.as_recorded else [f"rewards recomputed from {self.path.name}"]
        confirmed, compared = sum(each.agrees for each in recount.simulations), recount.compared
        return [
            *self._options.marks,
            *map(in_words, record_findings(recount)),
            *how,
            f"judged by tau2-bench {recount.version} ({recount.record.version_from})",
            f"{confirmed} of {len(compared)} recorded verdicts confirmed"
            if compared
            else "no verdict is recorded that could be confirmed",
        ]

    @cached_property
    def doubt(self) -> RunDoubt | None:
        """The reason why the numbers are not to be taken at face value, if there is one."""
        found = [each for each in record_findings(self._recount) if each.weight != "remark"]
        doubtful = [each for each in found if each.kind not in _SHOWN_OTHERWISE]
        if not doubtful:
            return None
        new = self._recount.summary
        return {
            "reasons": list(map(in_words, doubtful)),
            "recorded": self._recount.recorded_score,
            "recomputed": None if new is None else new.scores.get(1),
            "remedies": [remedy for each in doubtful if (remedy := scoring_remedy(each))],
        }

    def _doubt_about_one(self, judged: RescoredSimulation) -> SimulationDoubt | None:
        """Say what is wrong with a simulation: its task, or its recorded verdict."""
        if (words := self._recount.misfit(judged)) is not None:
            return SimulationDoubt(MISFIT, words)
        if self._options.as_recorded or judged.misstatement is None:
            return None
        return Misstatement(judged.misstatement, judged.passed).doubt


# What is missing or open has a mark of its own wherever numbers are shown.
_SHOWN_OTHERWISE = ("missing simulations", "unfinished simulations", "not recomputed")


def _status(
    recount: RescoredRecord, slot: PlannedTrial, judged: RescoredSimulation, ended: str
) -> dict[str, object]:
    """Return the status of a simulation where the recount decides and not its end alone.

    ``ended`` is the status by its end: it stays if that is why there is no verdict.
    """
    done: dict[str, object] = {"status": TaskExecutionStatus.SUCCESS.value}
    match recount.passes[slot]:
        case True:
            return {**done, "error": None}
        case None if not judged.open:
            if ended in NO_VERDICT_STATUSES:
                return {"eval": []}
            words = judged.no_verdict or NO_RECORDED_VERDICT
            error = {"error_type": "no verdict", "error_message": words}
            status = TaskExecutionStatus.EVALUATION_FAILED.value
            return {"status": status, "error": error, "eval": []}
        case None:
            return {}
    return {**done, "eval": [{"passed": False}]} if judged.reward is None else done
