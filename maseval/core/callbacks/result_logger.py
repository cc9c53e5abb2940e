"""Writes each report to a file as soon as it is finished, and reads such files.

A run makes ``<name>.jsonl`` with one report a line, ``<name>.run.json`` with what all its reports
share, and at its end ``<name>.meta.json`` with what was meant to be in the file.
"""

from __future__ import annotations

import json
import logging
import os
import warnings
from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast
from uuid import uuid4

from maseval.core.callbacks.base import BenchmarkCallback, planned_repetitions
from maseval.core.exceptions import ResultFileError
from maseval.core.recorded import mapping
from maseval.core.storage.files import write_json
from maseval.core.storage.records import RecordWriter, iter_records, new_record_file, rescue
from maseval.core.task import AdaptiveTaskQueue, Task
from maseval.core.task.task import RepetitionKey
from maseval.core.tracing import now
from maseval.core.words import first_few

if TYPE_CHECKING:
    from maseval.core.benchmark import Benchmark
    from maseval.core.report import Report

logger = logging.getLogger(__name__)

FORMAT = 1
_NOTHING_YET = object()
_PARTS = ("traces", "config", "eval", "task", "usage")


class ResultLogger(BenchmarkCallback):
    """Passes each report on to ``log_iteration``, without the parts that are not wanted.

    ``expected`` holds every planned repetition; of an adaptive queue, which need not use all its
    tasks, every one that was started. ``logged`` holds what was passed on. If ``validate`` finds
    that something is missing, a warning is logged.
    """

    def __init__(
        self,
        include_traces: bool = True,
        include_config: bool = True,
        include_eval: bool = True,
        include_task: bool = True,
        include_usage: bool = True,
        validate_on_completion: bool = True,
    ) -> None:
        self.include_traces = include_traces
        self.include_config = include_config
        self.include_eval = include_eval
        self.include_task = include_task
        self.include_usage = include_usage
        self.validate_on_completion = validate_on_completion
        self.n_tasks = 0
        self.n_repeats = 0
        self.expected: set[RepetitionKey] = set()
        self.logged: set[RepetitionKey] = set()

    @abstractmethod
    def log_iteration(self, report: Mapping[str, object]) -> None:
        """Store one report, already reduced to the parts that are wanted."""

    @abstractmethod
    def finalize(self) -> None:
        """The run is over: close files."""

    @abstractmethod
    def validate(self) -> bool:
        """Return whether exactly the expected repetitions are stored; called after ``finalize``."""

    def on_run_start(self, benchmark: Benchmark) -> None:
        self.n_tasks = len(benchmark.tasks)
        self.n_repeats = benchmark.n_task_repeats
        self.logged = set()
        self.expected = set()
        if not isinstance(benchmark.tasks, AdaptiveTaskQueue):
            self.expected.update(planned_repetitions(benchmark))

    def on_task_repeat_start(self, benchmark: Benchmark, task: Task, repeat_idx: int) -> None:
        self.expected.add((str(task.id), repeat_idx))

    def on_task_repeat_end(self, benchmark: Benchmark, report: Report) -> None:
        excluded = {part for part, included in self._parts().items() if not included}
        self.log_iteration({key: part for key, part in report.items() if key not in excluded})
        self.logged.add((report["task_id"], report["repeat_idx"]))

    def on_run_end(self, benchmark: Benchmark, results: Sequence[Report]) -> None:
        self.finalize()
        if self.validate_on_completion and not self.validate():
            logger.warning("%s: the results are not those of the whole run", type(self).__name__)

    def _parts(self) -> dict[str, bool]:
        return {part: getattr(self, f"include_{part}") for part in _PARTS}


class FileResultLogger(ResultLogger):
    """Writes reports to a file of JSON lines; ``read_reports`` gives them back.

    ``{timestamp}`` in ``filename_pattern`` becomes the start of the run, with a number if two runs
    start in one second. A name without it must be free unless ``overwrite`` is set; otherwise the
    start of the run raises ``OutputExistsError``. ``atomic_writes=False`` leaves it to the
    operating system when a report reaches the disk. A report that cannot be written is kept
    elsewhere (``maseval.core.storage.records``).
    """

    def __init__(
        self,
        output_dir: str | os.PathLike[str] = "./results",
        filename_pattern: str = "benchmark_{timestamp}.jsonl",
        write_metadata: bool = True,
        atomic_writes: bool = True,
        overwrite: bool = False,
        include_traces: bool = True,
        include_config: bool = True,
        include_eval: bool = True,
        include_task: bool = True,
        include_usage: bool = True,
        validate_on_completion: bool = True,
    ) -> None:
        super().__init__(
            include_traces,
            include_config,
            include_eval,
            include_task,
            include_usage,
            validate_on_completion,
        )
        self.output_dir = Path(output_dir)
        self.filename_pattern = filename_pattern
        self.write_metadata = write_metadata
        self.atomic_writes = atomic_writes
        self.overwrite = overwrite
        self._writer: RecordWriter | None = None
        self._was_opened = False
        # By this what was rescued of one run is told from that of another.
        self._owner = uuid4().hex
        self._rescued: dict[Path, None] = {}
        self._shared: object = _NOTHING_YET

    @property
    def output_file(self) -> Path | None:
        """The file of the current or latest run."""
        return self._writer.path if self._writer else None

    def on_run_start(self, benchmark: Benchmark) -> None:
        super().on_run_start(benchmark)
        if self._writer:
            self._writer.close()
        self._writer, self._shared, self._rescued = None, _NOTHING_YET, {}
        self._writer = self._open()

    def log_iteration(self, report: Mapping[str, object]) -> None:
        try:
            if not self._was_opened:  # outside a run, the first report opens the file
                self._writer = self._open()
            # Handled like a disk that is full: what was paid for is rescued.
            if self._writer is None:
                raise FileNotFoundError("the result file could not be opened")
            self._writer.append(self._without_shared(report, self._writer.path))
        except OSError as error:
            intended = self.output_file or self._planned_path()
            if kept := rescue(report, intended, self._owner, error):
                self._rescued[kept] = None

    def finalize(self) -> None:
        if self._writer is None:
            return
        self._writer.close()
        if self.write_metadata:
            write_json(_companion(self._writer.path, "meta"), self._metadata(self._writer))

    def validate(self) -> bool:
        problems = self._problems()
        for problem in problems:
            logger.warning("%s: %s", self.output_file or self._planned_path(), problem)
        return not problems

    def _planned_path(self) -> Path:
        timestamp = datetime.now().strftime("%Y%m%d_%H%M%S")
        return self.output_dir / self.filename_pattern.replace("{timestamp}", timestamp)

    def _open(self) -> RecordWriter:
        self._was_opened = True
        path = self._planned_path()
        if "{timestamp}" in self.filename_pattern:
            return new_record_file(path, sync=self.atomic_writes)
        return RecordWriter(path, overwrite=self.overwrite, sync=self.atomic_writes)

    def _without_shared(self, report: Mapping[str, object], path: Path) -> Mapping[str, object]:
        """Return the report without what the run's file holds; the first one writes that."""
        config = mapping(report, "config")
        benchmark = config.get("benchmark")
        if self._shared is _NOTHING_YET or (self._shared is None and benchmark is not None):
            shared = {"run_id": report.get("run_id"), "benchmark": benchmark, "format": FORMAT}
            try:
                write_json(_companion(path, "run"), shared)
            except OSError as error:
                logger.error("%s; the report carries the run's configuration itself", error)
                return report
            self._shared = benchmark
        if benchmark is None or (benchmark is not self._shared and benchmark != self._shared):
            return report
        return {**report, "config": {k: part for k, part in config.items() if k != "benchmark"}}

    def _metadata(self, writer: RecordWriter) -> dict[str, object]:
        return {
            "output_file": writer.path.name,  # beside this file, wherever both are moved
            "timestamp": now(),
            "n_tasks": self.n_tasks,
            "n_repeats": self.n_repeats,
            "total_iterations": self.n_tasks * self.n_repeats,
            "lines_written": writer.count,
            **{f"include_{part}": included for part, included in self._parts().items()},
            "validation_enabled": self.validate_on_completion,
        }

    def _problems(self) -> list[str]:
        problems = [f"reports are kept in {path}" for path in self._rescued]
        if self._writer is None:
            return [*problems, "there is no result file"]
        torn: list[bytes] = []
        try:
            found = Counter(
                (record["task_id"], record["repeat_idx"])
                for record in iter_records(self._writer.path, on_torn=torn.append)
            )
        except (OSError, ResultFileError) as error:
            return [*problems, str(error)]
        except KeyError as error:
            return [*problems, f"a record lacks {error}"]
        problems += ["the last line is cut off"] if torn else []
        repetitions = {
            "missing": self.expected - found.keys(),
            "not expected": found.keys() - self.expected,
            "more than once": found - Counter(found.keys()),
        }
        return problems + [f"{kind}: {_some(them)}" for kind, them in repetitions.items() if them]


def read_reports(path: str | os.PathLike[str]) -> list[Report]:
    """Return the reports of a file written by ``FileResultLogger``.

    All of them share one object under ``["config"]["benchmark"]``, as they did when they were
    made. A torn last line is left out with a ``TornRecordWarning``.
    """
    records = list(iter_records(path))
    configs = [record["config"] for record in records if "config" in record]
    bare = [config for config in configs if "benchmark" not in config]
    shared = _read_shared(_companion(Path(path), "run")) if bare else None
    if shared is not None:
        for config in bare:
            config["benchmark"] = shared
    return cast("list[Report]", records)


def _read_shared(path: Path) -> object:
    try:
        return json.loads(path.read_bytes())["benchmark"]
    except FileNotFoundError:
        warnings.warn(
            f"{path} is missing: the reports come without config['benchmark']", stacklevel=3
        )
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise ResultFileError(
            f"{path} is damaged ({error!r}); restore it, or remove it to read the reports without"
        ) from error


def _companion(path: Path, kind: str) -> Path:
    return path.with_name(f"{path.stem}.{kind}.json")


def _some(repetitions: Collection[RepetitionKey], shown: int = 5) -> str:
    names = (f"{task_id} (repetition {repeat})" for task_id, repeat in sorted(repetitions))
    return first_few(names, shown)
