"""The results of MACS: ``maseval macs score``, ``rates`` and ``export``.

``score`` lets a model judge finished conversations as the original does, ``rates`` computes the
original's rates of a run, and ``export`` writes a run in the original's format.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maseval.app.benchmarks import ExportedPath
from maseval.app.results.names import open_run
from maseval.benchmark.macs.data.files import ATTRIBUTION
from maseval.benchmark.macs.evaluator import MAX_TRY
from maseval.benchmark.macs.metrics import GoalRates, goal_rates, judge_problems
from maseval.benchmark.macs.scoring import (
    conversation_text,
    result_of,
    results_document,
    results_text,
    score_conversations,
)
from maseval.benchmark.macs.trajectories import trajectories_of
from maseval.core.exceptions import ConfigurationError, NotRunError
from maseval.core.judge import Judge
from maseval.core.judge_record import JudgeRecord, record_path
from maseval.core.model import resolve_model
from maseval.core.report import Report
from maseval.core.storage.files import check_free, write_bytes
from maseval.core.tracing import JsonObject
from maseval.runs import RunFolder
from maseval.stats.result import Result


def score(
    folder: str | os.PathLike[str],
    domain: str,
    *,
    judge_model: str,
    base_url: str | None = None,
    strict: bool = False,
) -> JsonObject:
    """Let a model judge the files ``conversation_<i>.json`` of a folder, which keeps its answers.

    With ``strict``, whatever the original's script would crash on is raised.
    """
    if not os.path.isdir(folder):
        raise ConfigurationError(f"there is no folder {os.fspath(folder)!r}")
    options: dict[str, Any] = {} if base_url is None else {"base_url": base_url}
    judge = Judge(
        resolve_model(judge_model, **options),
        record=JudgeRecord(record_path(folder)),
        max_attempts=1 if strict else MAX_TRY,
    )
    return score_conversations(folder, domain, judge, strict=strict)


@dataclass(frozen=True)
class RunRates(Result):
    """The rates of each domain, of all together, and doubts about the judge's answers."""

    path: Path
    domains: list[GoalRates]
    problems: list[JsonObject]
    estimate: str | None = None
    """Set for a run of chosen tasks, whose rates are not those of the benchmark."""


def rates(run: str | os.PathLike[str]) -> RunRates:
    """Return overall and partial goal success rate of a run, and those of its two sides."""
    folder = open_run(run, "macs")
    reports = list(folder.reports())
    if not reports:
        raise NotRunError(f"{folder.path} has no finished simulation yet")
    subset = folder.config.subset
    estimate = None if subset is None else subset.note
    return RunRates(folder.path, goal_rates(reports), judge_problems(reports), estimate)


# The results name the number of a domain's scenarios, even if fewer were run.
SCENARIOS = 30


def export(
    run: str | os.PathLike[str], output: Path | None = None, *, overwrite: bool = False
) -> list[ExportedPath]:
    """Write the first trial of every task: a folder for each domain, by default below the run's.

    Each has ``conversation_<i>.json`` for the scenario i, and ``results.json``.
    """
    folder = open_run(run, "macs")
    target = output or folder.path / "macs"
    domains = list(dict.fromkeys(each.domain for each in folder.recorded if not each.trial))
    if not domains:
        raise NotRunError(f"{folder.path} has no finished trial 0; nothing to export")
    return [_export_domain(folder, name, target / name, overwrite) for name in domains]


def _export_domain(run: RunFolder, domain: str, folder: Path, overwrite: bool) -> ExportedPath:
    check_free(folder, overwrite)
    results: list[JsonObject] = []
    unjudged: list[str] = []
    # The original's files have one conversation a scenario, so the first trial stands for it.
    chosen = (one for one in run.recorded if (one.domain, one.trial) == (domain, 0))
    reports = sorted(map(run.report, chosen), key=_index)
    for report in reports:
        index = _index(report)
        text = conversation_text(trajectories_of(report))
        write_bytes(folder / f"conversation_{index}.json", text.encode())
        if (result := result_of(report, index)) is None:
            unjudged.append(report["task_id"])
        else:
            results.append(result)
    if results:
        document = {"attribution": ATTRIBUTION, **results_document(results, SCENARIOS)}
        write_bytes(folder / "results.json", results_text(document).encode())
    if not unjudged:
        return ExportedPath(folder)
    note = (
        f"{len(unjudged)} of {len(reports)} conversations have no verdict and no result: "
        f"{', '.join(unjudged)}"
    )
    return ExportedPath(folder, [note])


def _index(report: Report) -> int:
    index = report["task"]["metadata"].get("scenario_index")
    return index if isinstance(index, int) else 0
