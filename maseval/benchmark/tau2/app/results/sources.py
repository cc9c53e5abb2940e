"""Recorded simulations, from a run folder or a results file of tau2-bench, and their judges.

The replies of judge models are kept in the run folder, or beside the results file, so that nothing
is asked twice.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from maseval.app.results.finding import (
    check_benchmark,
    open_run_or_file,
    warn_of_damage,
)
from maseval.benchmark.tau2.app.results.support import TAU2, RecordedSetup, memory_path
from maseval.benchmark.tau2.rescoring.record import (
    SimulationRecord,
    item_of_report,
    open_record,
)
from maseval.benchmark.tau2.rescoring.rescore import RescoredRecord
from maseval.benchmark.tau2.results import (
    Omitted,
    read_results,
    simulation_of,
)
from maseval.benchmark.tau2.results.reports import Tau2Report
from maseval.benchmark.tau2.scoring.case import Case, open_case
from maseval.benchmark.tau2.scoring.judge import JudgeMemory, RememberingJudge
from maseval.benchmark.tau2.world.state.records import canonical_json
from maseval.core.model import resolve_model
from maseval.core.outcome import parse_report
from maseval.core.recorded import whole_number
from maseval.core.report import Report
from maseval.runs import RunFolder
from maseval.runs.recording import Recording
from maseval.runs.verdict_check import Misstatement, VerdictChecker

_SETUP = ("agent", "user", "max_steps", "max_errors", "seed", "trials")


def open_source(file: str | os.PathLike[str]) -> RunFolder | Path:
    """Open a run by its folder, its name, or as ``last``; a results file is its path."""
    found = open_run_or_file(file)
    if isinstance(found, RunFolder):
        check_benchmark(found, TAU2)
        warn_of_damage(found)
    return found


def simulations_in(
    source: RunFolder | Path, domain: str | None = None, data_version: str | None = None
) -> SimulationRecord:
    """Return all simulations, one in memory at a time, with what the record says of them.

    ``domain`` is used whatever the file calls its own, and ``data_version`` names the release
    by which they are judged.
    """
    if isinstance(source, Path):
        return open_record(read_results(source), domain, version=data_version)
    found = open_record(source.reports(), domain, version=data_version)
    config, values = source.config, source.config.without_notes()
    found.planned, found.subset = list(source.planned), config.subset
    found.stopped = None if config.stopped is None else config.stopped.note
    found.seed = whole_number(values.get("seed"))
    found.setup = {
        **{key: values.get(key) for key in _SETUP},
        "config_sha256": hashlib.sha256(canonical_json(values).encode()).hexdigest(),
    }
    return found


@dataclass(frozen=True)
class ReadReport:
    """The simulation of a report in its release's form, and the case that it is to rules."""

    simulation: Mapping[str, Any]
    parsed: Tau2Report

    @cached_property
    def case(self) -> Case:
        """The conversation in its world, replayed as in a grading after the run."""
        parsed = self.parsed
        return open_case(
            *(self.simulation, parsed.world, parsed.judged_by),
            solo=parsed.solo,
            version=parsed.release.name,
            graded=True,
        )


_last: tuple[Report, ReadReport | Omitted] | None = None


def read_report(report: Report) -> ReadReport | Omitted:
    """Read the simulation of a report.

    Several questions are asked of each report in turn, so that the last one is kept.
    """
    global _last
    last = _last
    if last is None or last[0] is not report:
        found = simulation_of(report)
        read = found if isinstance(found, Omitted) else ReadReport(found, Tau2Report(report))
        _last = last = report, read
    return last[1]


def judge_for(
    source: RunFolder | Path, model_id: str | None, base_url: str | None = None
) -> RememberingJudge | None:
    """Return the judge of a run or file by its model; without one, that of ``own_judge``."""
    if model_id is None:
        return own_judge(source)
    from maseval.benchmark.tau2.app.running.prepared import ModelSpec  # all that can play

    spec = ModelSpec.of(model_id, None, base_url)
    model = resolve_model(spec.model_id, **spec.options)
    path = source if isinstance(source, Path) else source.path
    return RememberingJudge(model, JudgeMemory(memory_path(path)))


def own_judge(folder: Recording | Path) -> RememberingJudge | None:
    """Return the judge that a run had, which answers from its kept replies alone."""
    if isinstance(folder, Path):
        return None
    if not (path := memory_path(folder.path)).is_file():
        return None
    memory = JudgeMemory(path)
    name = RecordedSetup.of(folder.config.values).judge
    known = [each for each in memory.models if f"/{name}".endswith(f"/{each}")]
    return RememberingJudge(known[0], memory) if known else None


def verdict_checker(folder: Recording) -> VerdictChecker:
    """Return a function that compares the verdict of a run's report with the recomputed one."""
    scored = RescoredRecord(SimulationRecord(iter(())), judge=own_judge(folder))

    def check(report: Report) -> Misstatement | None:
        parsed, read = parse_report(report), read_report(report)
        simulation = read if isinstance(read, Omitted) else read.simulation
        found, checks = scored.assess(item_of_report(report, simulation), alone=True)
        if not found.misstatement:
            return None
        passed = None if found.open else parsed.outcome.passed if found.problem else found.passed
        return Misstatement(found.misstatement, passed, None if checks is None else {**checks})

    return check
