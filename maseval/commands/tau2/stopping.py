"""Why a run starts nothing more: Ctrl-C, or its budget."""

import signal
from contextlib import AbstractContextManager
from types import FrameType

from maseval.commands.summary import line_of
from maseval.commands.tau2.budget import Budget
from maseval.commands.tau2.cast import CastBenchmark
from maseval.commands.tau2.progress import RunProgress
from maseval.core.benchmark import Benchmark
from maseval.core.callbacks import BenchmarkCallback
from maseval.core.engine.process import signal_handlers
from maseval.core.report import Report
from maseval.core.task import Task
from maseval.runs import Simulation


class RunWatch(BenchmarkCallback):
    """Tells the progress what happens, and stops the run when there is a reason to."""

    def __init__(
        self, benchmark: CastBenchmark, progress: RunProgress, budget: Budget | None
    ) -> None:
        self.benchmark = benchmark
        self.progress = progress
        self.budget = budget

    def on_run_start(self, benchmark: Benchmark) -> None:
        # Every domain is a run of its own, and forgets that the one before was stopped.
        if self.progress.stopping is not None:
            self.benchmark.stop()

    def on_task_repeat_start(self, benchmark: Benchmark, task: Task, repeat_idx: int) -> None:
        self.progress.started(Simulation.of_task(task, repeat_idx))

    def on_task_repeat_end(self, benchmark: Benchmark, report: Report) -> None:
        line = line_of(report)
        self.benchmark.forget((line.task_id, line.trial))
        self.progress.finished(line)
        self.check_budget()

    def check_budget(self) -> None:
        """Stop if the budget is used up."""
        if self.budget is not None:
            self.stop_if(self.budget.objection(self.progress.cost, self.progress.tokens))

    def stop_if(self, reason: str | None) -> None:
        """Start nothing more; the first reason is the one that is told."""
        if reason is not None:
            self.progress.stopping = self.progress.stopping or reason
            self.benchmark.stop()


INTERRUPTED = "interrupted"


def interruptible(watch: RunWatch) -> AbstractContextManager[None]:
    """Ctrl-C once lets what is running finish and starts nothing more; twice stops at once."""

    def handle(number: int, frame: FrameType | None) -> None:
        if watch.progress.stopping is not None:
            raise KeyboardInterrupt
        watch.stop_if(INTERRUPTED)

    return signal_handlers({signal.SIGINT: handle})
