"""Recorded simulations, from a run folder or a results file of tau2-bench, and their judges.

The replies of judge models are kept in the run folder, or beside the results file, so that nothing
is asked twice. A results file becomes reports here, and is from then on a run like any other.
"""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import cast

from maseval.app.benchmarks import OnProgress
from maseval.app.results.names import check_benchmark, open_run_or_file, warn_of_damage
from maseval.benchmark.tau2.app.results.support import TAU2, RecordedSetup
from maseval.benchmark.tau2.environment import tool_types
from maseval.benchmark.tau2.rescoring.findings import in_words
from maseval.benchmark.tau2.rescoring.judged import NO_RECORDED_VERDICT
from maseval.benchmark.tau2.rescoring.recount import Recount
from maseval.benchmark.tau2.rescoring.verdict import JudgedSimulation, judge, rules_for
from maseval.benchmark.tau2.results import read_results
from maseval.benchmark.tau2.results.recorded import (
    BY_RUN,
    FILED,
    Claims,
    OnMalformed,
    RecordedReports,
    evaluations,
    task_in_report,
)
from maseval.benchmark.tau2.results.writing import JUDGED_BY, Tau2Report
from maseval.benchmark.tau2.scoring.case import words_told
from maseval.benchmark.tau2.scoring.rule import RULE
from maseval.benchmark.tau2.world.state.records import hash_json
from maseval.core.exceptions import ConfigurationError
from maseval.core.finding import Finding
from maseval.core.index_line import IndexLine
from maseval.core.judge import Judge
from maseval.core.judge_record import JudgeRecord, record_path
from maseval.core.model import resolve_model
from maseval.core.outcome import RecordedReport, Simulation
from maseval.core.perturbation import PERTURB
from maseval.core.recorded import mapping, whole_number
from maseval.core.report import NO_VERDICT_STATUSES, Report, TaskExecutionStatus
from maseval.core.scoring_options import ScoringOptions
from maseval.core.storage.files import Scratch
from maseval.core.words import text_or_none
from maseval.runs.config import RunConfig
from maseval.runs.log import DamagedRecord
from maseval.runs.recording import Recording, report_key
from maseval.runs.verdict_check import (
    MISFIT,
    Misstatement,
    RunDoubt,
    SimulationDoubt,
    VerdictChecker,
)

_SETUP = ("agent", "user", "max_steps", "max_errors", "seed", "trials")


def open_source(file: str | os.PathLike[str], options: ScoringOptions | None = None) -> Recording:
    """Open a run by its folder, its name, or as ``last``, or a results file."""
    found = open_run_or_file(file)
    if isinstance(found, Path):
        return FileRecording(found, options)
    check_benchmark(found, TAU2)
    warn_of_damage(found)
    return found


def recorded_in(source: Recording) -> RecordedReports:
    """Return the reports as they were recorded, with what the record says of itself."""
    return source.file if isinstance(source, FileRecording) else _RunReports(source)


@dataclass(frozen=True)
class _RunReports:
    """The reports of a run folder, which need no reader of their own."""

    run: Recording

    @cached_property
    def claims(self) -> Claims:
        config, values = self.run.config, self.run.config.without_notes()
        return Claims(
            planned=list(self.run.planned),
            version_from=BY_RUN,
            seed=whole_number(values.get("seed")),
            setup={
                **{key: values.get(key) for key in _SETUP},
                "config_sha256": hash_json(values),
            },
            subset=config.subset,
            stopped=None if config.stopped is None else config.stopped.note,
            perturb=mapping(values, PERTURB) or None,
        )

    def reports(self, on_malformed: OnMalformed | None = None) -> Iterator[Report]:
        return self.run.reports()


def judge_for(source: Recording, model_id: str | None, base_url: str | None = None) -> Judge | None:
    """Return the judge of a run or file by its model; without one, that of ``own_judge``."""
    if model_id is None:
        return own_judge(source)
    if model_id == RULE:
        return Judge(RULE)
    from maseval.benchmark.tau2.app.running.participants import ModelSpec  # all that can play

    spec = ModelSpec.of(model_id, None, base_url)
    model = resolve_model(spec.model_id, **spec.options)
    return Judge(model, record=JudgeRecord(record_path(source.path)))


def own_judge(folder: Recording) -> Judge | None:
    """Return the judge that a run had, which answers from its kept answers alone."""
    if isinstance(folder, FileRecording):
        return None
    name = RecordedSetup.of(folder.config.values).judge
    if name is None:
        return None
    if name == RULE:
        return Judge(RULE)
    record = JudgeRecord(record_path(folder.path))
    # The configuration may have the provider before the model's name, which its answers do not.
    for who in [line.judge for line in record.lines()]:
        model = str(who.get("model"))
        if f"/{name}".endswith(f"/{model}"):
            return Judge(model, record=record, params=mapping(who, "params"))
    return None


def verdict_checker(folder: Recording) -> VerdictChecker:
    """Return a function that compares the verdict of a run's report with the recomputed one."""
    model = own_judge(folder)

    def check(given: Report) -> Misstatement | None:
        report = Tau2Report(given)
        outcome = report.outcome
        found = judge(report, *rules_for(report), outcome.trial, model=model)
        if not found.misstatement:
            return None
        # What cannot be recomputed keeps its recorded verdict, unless only a judge could give one.
        passed = None if found.open else outcome.passed if found.problem else found.passed
        return Misstatement(
            found.misstatement, passed, None if found.checks is None else {**found.checks}
        )

    return check


_StoredReport = tuple[bool | None, int]
"""The verdict on a simulation, whatever else is recorded of its trial, and where its report is."""


class FileRecording:
    """The simulations of a results file, read and judged when they are first asked for."""

    damaged: tuple[DamagedRecord, ...] = ()

    def __init__(
        self,
        path: Path,
        options: ScoringOptions | None = None,
        on_progress: OnProgress | None = None,
    ) -> None:
        self.path, self._on_progress = path, on_progress
        self.options = options or ScoringOptions()
        self.file = read_results(path, self.options.task_id)
        self._setup = RecordedSetup.of_file(self.file)
        self._indexed: dict[Simulation, IndexLine] = {}

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
                "version": self.recount.version,
                "agent": self._setup.agent.name,
                "user": self._setup.user.name,
                "seed": self._setup.limits.get("seed"),
                **({PERTURB: perturb} if (perturb := self.recount.claims.perturb) else {}),
            }
        )

    @cached_property
    def _scratch(self) -> Scratch:
        # On disk: the reports of a file may need more memory than there is.
        return Scratch()

    @cached_property
    def _trials(self) -> tuple[Recount, Mapping[Simulation, list[_StoredReport]]]:
        """All simulations judged again, and where their reports are, by the planned trial."""
        recount = Recount(self.file, self.options, path=self.path)
        trials: dict[Simulation, list[_StoredReport]] = defaultdict(list)
        # One report is in memory at a time: all others wait on disk until somebody asks for them.
        for number, (recorded, judged) in enumerate(recount.judge_all(), 1):
            passed = recount.verdict_alone(judged)
            report = self._make_report(recount, recorded, judged, passed)
            trials[judged.slot].append((passed, self._scratch.put(report)))
            if self._on_progress is not None:
                self._on_progress(number, recount.claims.expected)
        if not trials:
            reason = next(iter(recount.malformed), "there is nothing to show")
            raise ConfigurationError(f"{self.path} holds no simulation; {reason}")
        return recount, trials

    @property
    def recount(self) -> Recount:
        return self._trials[0]

    def _make_report(
        self,
        recount: Recount,
        recorded: Tau2Report,
        judged: JudgedSimulation,
        passed: bool | None,
    ) -> dict[str, object]:
        """Return the report on a simulation with its new verdict, as one of ours would be."""
        slot, domain = judged.slot, recount.domains[judged.slot.domain]
        counted = recorded.recorded_verdict if self.options.as_recorded else judged.checks
        simulation = {
            **recorded.conversation,
            "task_id": slot.task_id,
            "trial": slot.trial,
            "reward_info": counted or None,
        }
        judged_by = recount.embedded_task(slot.task_id)
        task = judged_by or recount.known_tasks(domain).raw(slot.task_id)
        embedded = recount.claims.tasks.get(slot.task_id)
        # From here on it is a report like those of a run.
        report = {key: part for key, part in recorded.raw.items() if key != FILED}
        report |= {
            "task_id": slot.task_id,
            "repeat_idx": slot.trial,
            "traces": {"environment": {"domain": slot.domain, "simulation": simulation}},
            "config": self._configuration(recount, recorded, judged),
            "eval": evaluations(counted, judged.ending or ""),
            "recorded_reward": judged.recorded,
        }
        report |= _status(judged, passed, str(report["status"]))
        if (doubt := self._doubt_about_one(recount, judged)) is not None:
            report["doubt"] = doubt
        report["task"] = task_in_report(slot.domain, task or embedded)
        if judged_by is None and task and embedded and words_told(task) != words_told(embedded):
            # The verdict is the benchmark's, but the user was told what the file says.
            judged_by = {**task, "user_scenario": embedded.get("user_scenario")}
        if judged_by is not None:
            report["task"] = {**mapping(report["task"]), JUDGED_BY: judged_by}
        return report

    def _configuration(
        self, recount: Recount, recorded: Tau2Report, judged: JudgedSimulation
    ) -> dict[str, object]:
        """Return the settings of the file in the place where reports of ours have them."""
        domain, _ = rules_for(recorded, recount.domains[judged.slot.domain], judged.version)
        # Some releases have the policy with each simulation, as it may differ between tasks.
        policy = text_or_none(recorded.conversation.get("policy")) or recount.claims.policy
        sides = {"agent_model": self._setup.agent, "user_model": self._setup.user}
        world = {
            "domain": domain.name,
            "solo": recorded.solo,
            "version": judged.version,
            "tool_types": tool_types(domain),
            "policy_sha256": policy and sha256(policy.encode()).hexdigest(),
        }
        models = {role: {"model_id": side.model} for role, side in sides.items() if side.model}
        return {"environment": world, "models": models}

    @cached_property
    def planned(self) -> list[Simulation]:
        """Every simulation that should be there."""
        # A record without a plan may have the same trial twice.
        return list(dict.fromkeys(self.recount.slots))

    @cached_property
    def recorded(self) -> dict[Simulation, None]:
        """Every simulation that is there, in the order of the plan."""
        return dict.fromkeys(one for one in self.planned if one in self._trials[1])

    def reports(self) -> Iterator[Report]:
        """Yield one report for each simulation, one in memory at a time."""
        return map(self.report, self.recorded)

    def report(self, simulation: Simulation) -> Report:
        if simulation not in self.recorded:
            raise ConfigurationError(f"{self.path} has no {simulation}")
        # Of several in one place, one whose verdict is that of the trial stands for it.
        verdict = self.recount.by_trial[simulation]
        place = next(place for passed, place in self._trials[1][simulation] if passed is verdict)
        report = self._scratch.get(place)
        if "doubt" in report:
            report["doubt"] = SimulationDoubt(*report["doubt"])
        return cast("Report", report)

    def index_line(self, simulation: Simulation) -> IndexLine:
        """Return what lists show of a simulation; its report is read once for that."""
        if (known := self._indexed.get(simulation)) is None:
            known = IndexLine.of(RecordedReport(self.report(simulation)))
            self._indexed[simulation] = known
        return known

    def content_key(self, simulation: Simulation) -> str:
        """Return a text that is another one whenever the report is."""
        return report_key(self.report(simulation))

    @cached_property
    def notes(self) -> list[str]:
        """Faults of the file, the rules it was judged by, and the number of confirmed verdicts."""
        recount = self.recount
        how = [] if self.options.as_recorded else [f"rewards recomputed from {self.path.name}"]
        return [
            *self.options.marks,
            *map(in_words, recount.findings),
            *how,
            f"judged by tau2-bench {recount.version} ({recount.version_from})",
            f"{recount.agreeing} of {recount.compared} recorded verdicts confirmed"
            if recount.compared
            else "no verdict is recorded that could be confirmed",
        ]

    @cached_property
    def faults(self) -> list[Finding]:
        """The reasons why the record is not what was recomputed."""
        found = [each for each in self.recount.findings if each.weight != "remark"]
        return [each for each in found if each.kind not in _SHOWN_OTHERWISE]

    @cached_property
    def doubt(self) -> RunDoubt | None:
        """The reason why the numbers are not to be taken at face value, if there is one."""
        doubtful = self.faults
        if not doubtful:
            return None
        new = self.recount.summary
        return {
            "reasons": list(map(in_words, doubtful)),
            "recorded": self.recount.recorded_score,
            "recomputed": None if new is None else new.pass_1,
        }

    def _doubt_about_one(
        self, recount: Recount, judged: JudgedSimulation
    ) -> SimulationDoubt | None:
        """Say what is wrong with a simulation: its task, or its recorded verdict."""
        if (words := recount.misfit(judged)) is not None:
            return SimulationDoubt(MISFIT, words)
        if self.options.as_recorded or judged.misstatement is None:
            return None
        return Misstatement(judged.misstatement, judged.passed).doubt


# What is missing or open has a mark of its own wherever numbers are shown.
_SHOWN_OTHERWISE = ("missing simulations", "unfinished simulations", "not recomputed")


def _status(judged: JudgedSimulation, passed: bool | None, ended: str) -> dict[str, object]:
    """Return the status of a simulation where the new verdict decides and not its end alone.

    ``ended`` is the status by its end: it stays if that is why there is no verdict.
    """
    done: dict[str, object] = {"status": TaskExecutionStatus.SUCCESS.value}
    match passed:
        case True:
            return {**done, "error": None}
        case False:
            return {**done, "eval": [{"passed": False}]} if judged.reward is None else done
        case None if judged.open:
            return {}
    if ended in NO_VERDICT_STATUSES:
        return {"eval": []}
    error = {"error_type": "no verdict", "error_message": judged.no_verdict or NO_RECORDED_VERDICT}
    return {"status": TaskExecutionStatus.EVALUATION_FAILED.value, "error": error, "eval": []}
