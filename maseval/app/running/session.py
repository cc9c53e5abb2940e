"""One call's part of a run: runs what is missing, until all is done, Ctrl-C or the budget."""

import signal
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from types import FrameType

from maseval.app.benchmarks import support_for
from maseval.app.results.recording import SimulationLine, line_of, lines_of
from maseval.app.results.results import RunResult, run_summary
from maseval.app.running.limits import Budget, EqualFailures
from maseval.app.running.progress import Display, RunProgress, Turn, published
from maseval.core.benchmark import Benchmark
from maseval.core.callbacks import BenchmarkCallback
from maseval.core.engine.engines import Engine, SeveralNodes, ThreadEngine, WorkerEvent
from maseval.core.engine.process import signal_handlers
from maseval.core.exceptions import RunStoppedError
from maseval.core.report import Report
from maseval.core.storage.redaction import Secrets
from maseval.core.task import Task
from maseval.core.task.queues import AgentData
from maseval.runs import RunFolder, Simulation, run_into
from maseval.runs.live import note_event, note_finished

INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Session:
    """How to go about it.

    ``turn`` says what a running simulation waits for, if that is known.
    """

    folder: RunFolder
    benchmark: Benchmark
    secrets: Secrets
    turn: Turn | None = None
    budget: Budget | None = None
    priced: bool = False
    time_limit: float | None = None
    retry_failed: bool = True
    display: Display | None = None
    engine: Engine = field(default_factory=ThreadEngine)

    def run(self, parts: Iterable[Sequence[Task]], agent_data: AgentData | None) -> RunResult:
        """Run what is missing; in several parts where tasks of the same id occur, as in domains."""
        began = time.monotonic()
        progress = RunProgress(len(self.folder.planned), self.turn, self.time_limit)
        for line in lines_of(self.folder):
            progress.recall(line)
        if isinstance(self.engine, SeveralNodes):
            progress.nodes = partial(getattr, self.engine, "in_flight")
        watch = _Watch(self, progress)
        self.benchmark.add_callback(watch)
        self.benchmark.stop_when_hopeless = True
        watch.check_budget()
        show = self.display or (lambda progress: nullcontext())
        held = self.engine if isinstance(self.engine, AbstractContextManager) else nullcontext()
        live = published(self.folder.path, progress, self.benchmark.last_said, self.secrets)
        with _interruptible(watch), show(progress), live, held:
            self._run_parts(parts, agent_data, progress)
        lines = self._recorded(progress)
        conventions = support_for(self.folder).conventions(self.folder, lines)
        summary = run_summary(lines, self.folder.planned, conventions)
        self.folder.note_use(progress.cost, progress.tokens)
        self.folder.note_score(summary.overall.pass_1)
        return RunResult(
            folder=self.folder.path,
            summary=summary,
            ran=progress.ran,
            seconds=time.monotonic() - began,
            stopped=progress.stopping,
            config=self.folder.config.values,
            errors=[line for line in lines if line.outcome == "error"],
        )

    def _recorded(self, progress: RunProgress) -> list[SimulationLine]:
        """What is on disk, without reading it again: the order is that of ``lines_of``."""
        recorded = self.folder.recorded
        ordered = dict.fromkeys([*self.folder.planned, *recorded])
        return [progress.lines[one] for one in ordered if one in recorded and one in progress.lines]

    def _run_parts(
        self,
        parts: Iterable[Sequence[Task]],
        agent_data: AgentData | None,
        progress: RunProgress,
    ) -> None:
        try:
            for tasks in parts:
                if progress.stopping is None:
                    run_into(
                        self.folder,
                        self.benchmark,
                        tasks,
                        agent_data,
                        retry_failed=self.retry_failed,
                        engine=self.engine,
                    )
        except KeyboardInterrupt:
            progress.stopping = INTERRUPTED
        except RunStoppedError as error:
            progress.stopping = self.secrets.removed_from_text(str(error))
        except Exception as error:  # whatever the benchmark's code raised, it wants to stop at it
            if not _stops_at_errors(self.benchmark):
                raise
            words = (
                f"the benchmark stops at errors, and there was a {type(error).__name__}: {error}"
            )
            progress.stopping = self.secrets.removed_from_text(words)


def _stops_at_errors(benchmark: Benchmark) -> bool:
    return (
        benchmark.fail_on_setup_error
        or benchmark.fail_on_task_error
        or benchmark.fail_on_evaluation_error
    )


class _Watch(BenchmarkCallback):
    """Keeps the progress up to date, and stops the run when there is a reason to."""

    def __init__(self, session: Session, progress: RunProgress) -> None:
        self.benchmark = session.benchmark
        self.budget = session.budget
        self.priced = session.priced
        self.secrets = session.secrets
        self.folder = session.folder
        self.engine = session.engine
        self.progress = progress
        self.failures = EqualFailures(progress.lines.values())

    def on_run_start(self, benchmark: Benchmark) -> None:
        # Every part is a run of its own, and forgets that the one before was stopped.
        if self.progress.stopping is not None:
            self.benchmark.stop()

    def on_worker_event(self, benchmark: Benchmark, event: WorkerEvent) -> None:
        note_event(self.folder.path, event)
        if event.kind != "started":
            self.progress.incidents.append(event.text)

    def on_run_end(self, benchmark: Benchmark, results: Sequence[Report]) -> None:
        if isinstance(self.engine, SeveralNodes):
            note_finished(self.folder.path, self.engine.finished_by_node)

    def on_task_repeat_start(self, benchmark: Benchmark, task: Task, repeat_idx: int) -> None:
        self.progress.started(Simulation.of_task(task, repeat_idx))

    def on_task_repeat_end(self, benchmark: Benchmark, report: Report) -> None:
        line = line_of(report)
        if line.error is not None:  # a provider may quote a key in its error
            line = line._replace(error=self.secrets.removed_from_text(line.error))
        self.progress.finished(line)
        self.check_budget()
        self.stop_if(self.failures.objection(line))

    def check_budget(self) -> None:
        if self.budget is not None:
            cost, tokens = self.progress.cost, self.progress.tokens
            self.stop_if(self.budget.objection(cost, tokens, priced=self.priced))

    def stop_if(self, reason: str | None) -> None:
        """Start nothing more; the first reason is the one that is reported."""
        if reason is not None:
            self.progress.stopping = self.progress.stopping or reason
            self.benchmark.stop()


def _interruptible(watch: _Watch) -> AbstractContextManager[None]:
    """Ctrl-C once lets what is running finish and starts nothing more; twice stops at once."""

    def handle(number: int, frame: FrameType | None) -> None:
        if watch.progress.stopping is not None:
            raise KeyboardInterrupt
        watch.stop_if(INTERRUPTED)

    return signal_handlers({signal.SIGINT: handle})
