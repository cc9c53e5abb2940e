"""Writes every report to a run folder as soon as it is finished."""

import logging
from collections.abc import Sequence

from maseval.core.benchmark import Benchmark
from maseval.core.callbacks import BenchmarkCallback
from maseval.core.report import Report
from maseval.core.storage.records import Rescue
from maseval.runs.exceptions import RunWriteError
from maseval.runs.folder import RunFolder

logger = logging.getLogger(__name__)


class RunRecorder(BenchmarkCallback):
    """Writes reports to ``folder``; if that fails, asks the run to stop and keeps them.

    Reports that could not be written are retried with the next one and at the end of the run, and
    then kept elsewhere (``maseval.core.storage.records``). ``error`` is the first failure that
    a retry did not resolve.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.error: RunWriteError | None = None
        self._waiting: list[Report] = []

    def on_task_repeat_end(self, benchmark: Benchmark, report: Report) -> None:
        self._waiting.append(report)
        if not self._written():
            benchmark.stop()

    def on_run_end(self, benchmark: Benchmark, results: Sequence[Report]) -> None:
        if not self._written():
            self._rescue()

    def _written(self) -> bool:
        try:
            while self._waiting:
                self.folder.append(self._waiting[0])
                self._waiting.pop(0)
        except RunWriteError as error:
            if self.error is None:
                logger.error("%s", error)
            self.error = self.error or error
            return False
        self.error = None
        return True

    def _rescue(self) -> None:
        assert self.error is not None
        rescue = Rescue(self.folder.log)
        for report in self._waiting:
            rescue.keep(self.folder.whole_record(report), self.error)
        rescue.close()
        self._waiting = []
        self.error.rescued = rescue.paths
