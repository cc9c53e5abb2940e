"""``maseval macs export``: a run as conversations and results of the original's form."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from maseval.app.results.finding import open_run
from maseval.benchmark.macs.data.files import ATTRIBUTION
from maseval.benchmark.macs.evidence import trajectories_of
from maseval.benchmark.macs.scoring import (
    ConversationResult,
    conversation_text,
    result_of,
    results_document,
    results_text,
)
from maseval.core.exceptions import NotRunError, OutputExistsError
from maseval.core.report import Report
from maseval.core.shapes import number
from maseval.core.storage.files import write_bytes
from maseval.runs import RunFolder

SCENARIOS = 30


@dataclass(frozen=True)
class ExportedDomain:
    """What was written for one domain, and the tasks without a verdict, which have no result."""

    folder: Path
    conversations: int
    unjudged: list[str]


def export(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    trial: int = 0,
    overwrite: bool = False,
) -> list[ExportedDomain]:
    """Write one trial of every task: a folder for each domain, by default below the run's.

    Each has ``conversation_<i>.json`` for the scenario i, and ``results.json``.
    """
    folder = open_run(run)
    target = folder.path / "macs" if output is None else Path(output)
    domains = list(dict.fromkeys(each.domain for each in folder.recorded if each.trial == trial))
    if not domains:
        raise NotRunError(f"{folder.path} has no finished trial {trial}; nothing to export")
    return [_written(_of(folder, name, trial), target / name, overwrite) for name in domains]


def _of(folder: RunFolder, domain: str, trial: int) -> list[Report]:
    chosen = (one for one in folder.recorded if (one.domain, one.trial) == (domain, trial))
    return sorted((folder.report(one) for one in chosen), key=_index)


def _written(reports: Iterable[Report], folder: Path, overwrite: bool) -> ExportedDomain:
    if folder.exists() and not overwrite:
        raise OutputExistsError(
            f"{folder} already exists; --overwrite (overwrite=True) replaces it"
        )
    results: list[ConversationResult] = []
    unjudged: list[str] = []
    count = 0
    for report in reports:
        index = _index(report)
        text = conversation_text(trajectories_of(report))
        write_bytes(folder / f"conversation_{index}.json", text.encode())
        count += 1
        if (result := result_of(report, index)) is None:
            unjudged.append(report["task_id"])
        else:
            results.append(result)
    if results:
        document = {"attribution": ATTRIBUTION, **results_document(results, SCENARIOS)}
        write_bytes(folder / "results.json", results_text(document).encode())
    return ExportedDomain(folder, count, unjudged)


def _index(report: Report) -> int:
    return int(number(report["task"]["metadata"].get("scenario_index")) or 0)
