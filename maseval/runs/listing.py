"""The existing runs, and the progress of each."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from maseval.core.outcome import total_cost
from maseval.core.report import NO_VERDICT_STATUSES
from maseval.core.storage.files import SUFFIX
from maseval.core.tracing import JsonObject
from maseval.runs.annotations import Annotations, annotations_or_problem
from maseval.runs.config import RunConfig
from maseval.runs.config_file import CONFIG, LOCK, LOG, is_run_folder, read_config
from maseval.runs.exceptions import RunFolderError
from maseval.runs.lock import Holder, holder_of
from maseval.runs.log import DamagedRecord, contents_of, counts_at_end, damage_in_words, last_record
from maseval.runs.recording import LoggedRun, outcomes_in
from maseval.runs.report_line import Seal
from maseval.runs.verdict_check import RunDoubt, recall_check
from maseval.stats.summary import summarise

RunCondition = Literal["running", "complete", "incomplete", "damaged", "reading"]
"""``reading`` is a results file whose conversations are being judged."""


@dataclass(frozen=True)
class RunState:
    """The progress of a run: ``done`` ran to an end, ``failed`` is retried when it is resumed.

    It is complete if every planned simulation has a verdict, and damaged if not all of it can be
    read; ``problem`` says why. ``cost`` (in usd), ``tokens``, ``pass_1`` and the number of
    ``verdicts`` are None of a run without a report. ``doubt`` is what the last check of the
    recorded verdicts found, without reasons if all of them hold.
    """

    path: Path
    state: RunCondition
    done: int = 0
    failed: int = 0
    planned: int = 0
    started: str = ""
    updated: str = ""
    config: dict[str, Any] | None = None
    holder: Holder | None = None
    problem: str | None = None
    cost: float | None = None
    tokens: int | None = None
    pass_1: JsonObject | None = None
    verdicts: int | None = None
    annotations: Annotations = field(default_factory=Annotations)
    doubt: RunDoubt | None = None

    @property
    def checked(self) -> bool:
        """False if the recorded verdicts were never compared with recomputed ones."""
        return self.doubt is not None

    @property
    def unconfirmed(self) -> str | None:
        """The recorded verdicts that did not hold when they were last checked."""
        return "; ".join(self.doubt["reasons"]) or None if self.doubt else None

    @property
    def recomputed(self) -> JsonObject | None:
        """pass^1 with the verdicts that hold, if recorded ones did not."""
        return self.doubt["recomputed"] if self.doubt else None

    @property
    def name(self) -> str:
        return self.path.name


def default_root() -> Path:
    """Return the default folder of runs: ``MASEVAL_RUNS_DIR`` or ``./runs``."""
    return Path(os.environ.get("MASEVAL_RUNS_DIR") or "runs")


def list_runs(root: str | os.PathLike[str] | None = None) -> list[RunState]:
    """Return the runs under ``root``, the latest first; of a run folder, that run.

    Uses the counts that each log ends with. A log that was touched since its session closed, or
    that was not closed, is checked line by line; one that was not is checked when it is opened.
    """
    folder = default_root() if root is None else Path(root)
    return sorted(map(run_state, _run_folders(folder)), key=lambda run: run.updated, reverse=True)


def run_state(path: str | os.PathLike[str]) -> RunState:
    path = Path(path)
    try:
        stored = read_config(path)
        counts, damaged = _counts(path / LOG, stored.config)
    except (RunFolderError, OSError) as error:  # OSError: a log that may not be read
        return RunState(path, "damaged", updated=change_time(path / CONFIG), problem=str(error))
    annotations, unreadable = annotations_or_problem(path)
    holder = holder_of(path / LOCK)
    whole = counts["done"] == counts["planned"]
    judged = counts.get("verdicts") in (None, counts["planned"])
    ended: RunCondition = "complete" if whole and judged else "incomplete"
    return RunState(
        path,
        "running" if holder else "damaged" if damaged else ended,
        started=stored.created,
        updated=change_time(path / LOG) or stored.created,
        holder=holder,
        problem="; ".join(filter(None, [damage_in_words(damaged), unreadable])) or None,
        annotations=annotations,
        doubt=recall_check(path / LOG),
        **counts,
    )


def _counts(log: Path, config: RunConfig) -> tuple[dict[str, Any], Sequence[DamagedRecord]]:
    """Return the counts that the log ends with, as parts of a ``RunState``, if it is untouched.

    Else those of its lines, which are all read, and which of them are damaged.
    """
    # A folder of runs may hold hundreds of logs of hundreds of megabytes.
    counts, seal = counts_at_end(last_record(log)), Seal.read(log.parent)
    untouched = seal is None or seal.fits(log)
    # A log that was touched, as by a copy, is looked through before its own counts are believed.
    if counts and (untouched or not contents_of(log).damaged):
        return {**counts, "config": counts["config"] or config.values}, ()
    run = LoggedRun(log.parent)
    run.contents = heads = contents_of(log)
    config, places = run.config, heads.places
    ended = [places[simulation].status for simulation in config.planned if simulation in places]
    failed = sum(status in NO_VERDICT_STATUSES for status in ended)
    numbers = {"done": len(ended) - failed, "failed": failed, "planned": len(config.planned)}
    with suppress(RunFolderError, ValueError):  # a report of an earlier release is not readable
        numbers |= _totals(run) if places else {}
    return {**numbers, "config": config.values}, heads.damaged


def _totals(run: LoggedRun) -> dict[str, Any]:
    """Return the numbers of a run that its last session did not write down, by its index lines."""
    outcomes = outcomes_in(run)
    overall = summarise(outcomes, planned=run.planned).overall
    return {
        "cost": total_cost(outcome.cost for outcome in outcomes),
        "tokens": sum(outcome.tokens for outcome in outcomes),
        "verdicts": overall.verdicts,
        "pass_1": overall.pass_1,
    }


def _run_folders(root: Path) -> Iterator[Path]:
    if is_run_folder(root) and not (root / CONFIG).is_dir():  # a run may be called like that
        yield root
        return
    try:
        names = sorted(os.listdir(root))
    except FileNotFoundError:
        return
    for name in names:
        if name.startswith(".") and name.endswith(SUFFIX):  # one that is being made
            continue
        # Not with every entry's own type: a link may lead in a circle, or to what is not allowed.
        if is_run_folder(root / name):
            yield root / name


def change_time(path: Path) -> str:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime).isoformat()
    except OSError:
        return ""
