"""FolderRun: a run into a folder, prepared by the options of a command and then run.

A subclass knows its benchmark and the configuration on which the results depend. ``run`` opens the
folder, which locks it, and runs what is missing.

``RunWatch`` keeps count of a run while it is running, and stops it when there is a reason to:
Ctrl-C, SIGTERM, a closed terminal, a ``Budget`` in money or tokens, a row of ``EqualFailures``, or
an error at which the benchmark wants to stop. What is running is finished all the same, after
SIGTERM and SIGHUP within seconds; the same twice stops at once.
"""

import re
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Literal, NamedTuple

from maseval.app.benchmarks import support_by_name
from maseval.app.results.examined import recompute_verdicts
from maseval.app.results.measured import recorded_scores
from maseval.app.results.run_summary import INTERRUPTED, RunResult, run_summary
from maseval.app.running.code_version import executed_beside
from maseval.app.running.opened_files import opened_files
from maseval.app.running.prices import Prices, without_list
from maseval.app.running.progress import RunProgress, publish_progress
from maseval.app.running.run_options import FolderRunOptions
from maseval.core.benchmark import Benchmark
from maseval.core.callbacks import BenchmarkCallback
from maseval.core.engine.engines import WorkerEvent
from maseval.core.engine.process_settings import (
    end_after,
    end_signals,
    refuse_early_success,
    signal_handlers,
)
from maseval.core.exceptions import ConfigurationError, MASEvalError, RunStoppedError
from maseval.core.judge_record import JudgeRecord, record_path
from maseval.core.outcome import Outcome, RecordedReport, Simulation, total_cost
from maseval.core.report import Report
from maseval.core.storage.redaction import Secrets
from maseval.core.task import Task
from maseval.core.task.queues import AgentData
from maseval.core.words import as_file_name, money
from maseval.runs import RunFolder, default_root, run_into, run_state
from maseval.runs.config import CELL, JUDGED_BY, UNTIL, RunConfig
from maseval.runs.config_file import is_run_folder, latest_config
from maseval.runs.exceptions import writing
from maseval.runs.recording import Recording, outcomes_in
from maseval.runs.verdict_check import VerdictCheck

# A dollar sign before the amount takes the place of the unit behind it.
_BUDGET = re.compile(
    r"(?P<dollar>\$\s*)?(?P<amount>\d[\d,_]*(\.\d+)?)\s*(?P<scale>[km]?)\s*"
    r"(?(dollar)|(?P<unit>usd|tokens))"
)
_SCALES = {"": 1, "k": 10**3, "m": 10**6}
WAYS_OUT = (
    "give it with --prices FILE (prices=...), in usd per million tokens, "
    "or give a budget in tokens, like '2M tokens'"
)


class Budget(NamedTuple):
    """A limit in one unit; it holds for the whole run, earlier sessions included."""

    amount: float
    unit: Literal["usd", "tokens"]

    @classmethod
    def of(cls, text: str) -> "Budget":
        """Read ``5usd``, ``$5``, ``500k tokens`` or ``2M tokens``."""
        if found := _BUDGET.fullmatch(text.strip().lower()):
            amount = float(re.sub("[,_]", "", found["amount"])) * _SCALES[found["scale"]]
            if amount > 0:
                return cls(amount, "tokens" if found["unit"] == "tokens" else "usd")
        raise ConfigurationError(
            f"budget is {text!r}; give money like 5usd or $5, or tokens like '2M tokens'"
        )

    def __str__(self) -> str:
        return money(self.amount) if self.unit == "usd" else f"{self.amount:,.0f} tokens"

    def check_watchable(self, unpriced: Sequence[str]) -> None:
        if self.unit == "usd" and unpriced:
            raise ConfigurationError(
                f"the budget of {self} cannot be enforced, because the price of "
                f"{' and '.join(map(repr, unpriced))} is not known{without_list()}; {WAYS_OUT}"
            )

    def objection(self, cost: float, tokens: int, *, priced: bool = False) -> str | None:
        """Return why no more simulation should be started after so much was used, or None.

        ``priced`` says that the prices are known, so that a cost of nothing is believed.
        """
        used = cost if self.unit == "usd" else tokens
        if used >= self.amount:
            spent = money(cost) if self.unit == "usd" else f"{tokens:,} tokens"
            return f"the budget of {self} is reached ({spent} used); raise it to resume"
        if self.unit == "usd" and tokens and not cost and not priced:
            return (
                f"the budget of {self} cannot be enforced, because the models' prices are not "
                f"known; {WAYS_OUT}"
            )
        return None


_ENOUGH = 5
# What differs between two errors of one cause: names of tasks, numbers, addresses.
_VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|\d+")


class EqualFailures:
    """Notices if every simulation fails in the same way, ``earlier`` sessions included."""

    def __init__(self, earlier: Iterable[Outcome] = ()) -> None:
        self._seen: list[str] = []
        self._worked = any(line.kind != "error" for line in earlier)

    def objection(self, line: Outcome) -> str | None:
        """Return why no more simulation should be started after this one, or None."""
        self._worked = self._worked or line.kind != "error"
        self._seen.append(f"{line.status} {_VARYING.sub('', line.error or '')}")
        if self._worked or len(self._seen) < _ENOUGH or len(set(self._seen)) > 1:
            return None
        return (
            f"the first {len(self._seen)} simulations all failed in the same way "
            f"({line.status}): {line.error}; --no-retry-failed runs the others anyway"
        )


class RunWatch(BenchmarkCallback):
    """Watches one call's part of a run; earlier parts are counted from the folder."""

    def __init__(self, run: "FolderRun", folder: RunFolder, benchmark: Benchmark) -> None:
        self.run, self.folder, self.benchmark = run, folder, benchmark
        self.engine = run.options.chosen_engine
        self.secrets = Secrets.of(run.config)
        self.began = time.monotonic()
        self.progress = RunProgress(len(folder.planned))
        # Verdicts of an earlier session count by what was said, unless the log is as that left it:
        # a log can be edited.
        held: Recording = folder
        self._check: VerdictCheck | None = None
        if folder.recorded and not folder.ended_here:
            held, self._check = recompute_verdicts(folder)
        for line in outcomes_in(held):
            self.progress.recall(line)
        self.failures = EqualFailures(self.progress.lines.values())
        self._ended_by: int | None = None
        self._ended_at = 0.0
        self._opened: dict[str, None] = {}
        self._check_budget()

    @property
    def is_stopping(self) -> bool:
        return self.progress.stopping is not None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Show and publish the progress; errors that only stop the run end here."""
        show = self.run.options.display or (lambda progress: nullcontext())
        # An engine with processes of its own gives them back when the run ends.
        held = self.engine if isinstance(self.engine, AbstractContextManager) else nullcontext()
        live = publish_progress(self.folder.path, self.progress, self.benchmark, self.secrets)
        opening = opened_files()
        # Signals are handled first, so that they are until all the others are closed.
        with self._interruptible(), show(self.progress), live, held, opening as self._opened:
            try:
                yield
            # Pressed twice: what is on disk is what the run came to.
            except KeyboardInterrupt:
                self.progress.stopping = self.progress.stopping or INTERRUPTED
            except RunStoppedError as error:
                self.progress.stopping = self.secrets.removed_from_text(str(error))
            except Exception as error:  # the benchmark's own code may raise anything
                if not any(getattr(self.benchmark, f"fail_on_{each}_error") for each in _STAGES):
                    raise
                words = (
                    f"stopped at the first error, as the benchmark demands: {type(error).__name__}"
                )
                self.progress.stopping = self.secrets.removed_from_text(f"{words}: {error}")

    def result(self) -> RunResult:
        """Note the score in the folder, and return all numbers."""
        self.folder.check_written()
        lines, check = self.recorded_lines(), self._check
        summary = run_summary(lines, self.folder.planned, self.folder.config)
        self.folder.note_result(
            summary.overall.pass_1,
            summary.overall.verdicts,
            self.progress.cost,
            self.progress.tokens,
        )
        self.folder.verdicts_hold = check is None or not (check.differing or check.obstacle)
        notes = [check.note_on_recomputed or ""] if check and check.differing else []
        code = self.folder.config.values.get("code")
        if code and (beside := executed_beside(code, self._opened)):
            self.folder.note_executed(beside)
            notes.append(
                f"The code of this run also executed or read {', '.join(beside)}, which no import "
                "leads to: a change of it is not noticed when the run is resumed or compared"
            )
        return RunResult(
            folder=self.folder.path,
            summary=summary,
            ran=self.progress.ran,
            seconds=time.monotonic() - self.began,
            stopped=self.progress.stopping,
            config=self.folder.config.values,
            errors=[line for line in lines if line.kind == "error"],
            notes=notes,
            measures=recorded_scores(self.folder, lines),
        )

    def recorded_lines(self) -> list[Outcome]:
        """Return the outcomes of all on disk, in the order of the plan, without reading it."""
        recorded, lines = self.folder.recorded, self.progress.lines
        ordered = dict.fromkeys([*self.folder.planned, *recorded])
        return [lines[one] for one in ordered if one in recorded and one in lines]

    def on_run_start(self, benchmark: Benchmark) -> None:
        # Every part is a run of its own, and forgets that the one before was stopped.
        if self.is_stopping:
            self.benchmark.stop()

    def on_worker_event(self, benchmark: Benchmark, event: WorkerEvent) -> None:
        if event.kind != "started":
            self.progress.incidents.append(event.text)

    def on_task_repeat_start(self, benchmark: Benchmark, task: Task, repeat_idx: int) -> None:
        self.progress.start(Simulation.of_task(task, repeat_idx))

    def on_task_repeat_end(self, benchmark: Benchmark, report: Report) -> None:
        line = RecordedReport(report).outcome
        if line.error is not None:  # a provider may quote a key in its error
            line = line._replace(error=self.secrets.removed_from_text(line.error))
        self.progress.finish(line)
        self._check_budget()
        self._stop_if(self.failures.objection(line))

    def _check_budget(self) -> None:
        if (budget := self.run.budget) is not None:
            # All cells of a grid have one budget.
            others = self.run.options.used_elsewhere
            cost = (self.progress.cost or 0.0) + others[0]
            tokens = self.progress.tokens + others[1]
            self._stop_if(budget.objection(cost, tokens, priced=self.run.knows_prices))

    def _stop_if(self, reason: str | None) -> None:
        # The first reason is the one that is reported.
        if reason is not None:
            self.progress.stopping = self.progress.stopping or reason
            self.benchmark.stop()

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        with signal_handlers({signal.SIGALRM: self._end_now}), end_signals(self._interrupt):
            allow_success = refuse_early_success()
            try:
                yield
            finally:
                allow_success()
                # An alarm that is still set would interrupt whatever this process does next.
                if self._ended_by is not None:
                    signal.setitimer(signal.ITIMER_REAL, 0)

    def _end_now(self, number: int, frame: FrameType | None) -> None:
        """Stop what is running; where that does not help, the next alarm ends the process."""
        end_after(_LAST_SECONDS)
        raise KeyboardInterrupt

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        moment = time.monotonic()
        # Whatever closes a terminal or ends a job may send its signal to the process and its group.
        if number == self._ended_by != signal.SIGINT and moment < self._ended_at + _ONE_SIGNAL:
            return
        asked_before, self._ended_by, self._ended_at = self.is_stopping, number, moment
        if asked_before and number == signal.SIGINT:
            raise KeyboardInterrupt
        if asked_before:
            self._end_now(number, frame)
        if number != signal.SIGINT:  # whatever sends it does not wait for long
            signal.setitimer(signal.ITIMER_REAL, _GRACE_SECONDS)
        by = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
        self._stop_if(f"{INTERRUPTED}{by}")


# Kubernetes kills 30 seconds after SIGTERM, Docker 10.
_GRACE_SECONDS, _LAST_SECONDS = 6.0, 3.0
_ONE_SIGNAL = 1.0
_STAGES = ("setup", "task", "evaluation")


@dataclass(frozen=True)
class FolderRun(ABC):
    """A run before it begins: its options, what it may cost, and where it is kept."""

    options: FolderRunOptions
    path: Path

    @cached_property
    def budget(self) -> Budget | None:
        return None if self.options.budget is None else Budget.of(self.options.budget)

    @cached_property
    def prices(self) -> Prices:
        """The prices in the file that is named, else those of the run that is resumed."""
        if self.options.prices is not None:
            return Prices.of(self.options.prices)
        if self.options.output is not None and is_run_folder(self.path):
            return Prices.from_config(latest_config(self.path).values)
        return Prices()

    @abstractmethod
    def execute(self) -> RunResult:
        """Run the simulations that are missing in the folder."""

    def problems(self) -> Iterable[MASEvalError]:
        return ()

    def check(self) -> None:
        for problem in self.problems():
            raise problem

    @property
    @abstractmethod
    def config(self) -> Mapping[str, object]:
        """Everything that the results depend on, tasks and trials included."""

    @property
    def judged_by(self) -> str | None:
        """The judge, where it is another than the benchmark's own: part of the number's name."""
        return None

    @property
    def knows_prices(self) -> bool:
        """True if the prices of all models are known, so that a cost of nothing is believed."""
        return False

    def outlook(self) -> tuple[int, int, tuple[float, int]]:
        """Return how many simulations are planned, how many are missing, and what was used."""
        planned, missing = RunConfig.of(self.config).planned, len(self.missing())
        if not is_run_folder(self.path):
            return len(planned), missing, (0.0, 0)
        state = run_state(self.path)
        if state.tokens is not None:
            return len(planned), missing, (state.cost or 0.0, state.tokens)
        lines = outcomes_in(RunFolder.read(self.path))  # the last session was killed
        used = total_cost(each.cost for each in lines) or 0.0, sum(each.tokens for each in lines)
        return len(planned), missing, used

    def missing(self) -> list[Simulation]:
        """Return the simulations that are still to be run, or to be evaluated again."""
        planned = RunConfig.of(self.config).planned
        named = self.options.output is not None
        if not named or not is_run_folder(self.path) or self.options.fork:
            return list(planned)
        folder = RunFolder.read(self.path)
        # A run whose question is decided has nothing left but what it began.
        if folder.config.stopped is not None:
            planned = folder.config.planned
        retry = self.options.retry_failed
        left = {*folder.missing(retry_failed=retry), *(folder.unevaluated() if retry else ())}
        return [one for one in planned if one in left or one not in folder.recorded]

    def run(
        self,
        benchmark: Benchmark,
        parts: Iterable[Sequence[Task]],
        agent_data: AgentData | None,
        *,
        keep_reports: bool = False,
    ) -> RunResult:
        """Run what is missing into the folder, until all is done or a reason to stop.

        ``parts`` are run one after the other, as tasks of the same id occur in several domains.
        """
        options, engine = self.options, self.options.chosen_engine
        notes: dict[str, object] = {"command": options.command} if options.command else {}
        if policy := options.call_policy:
            benchmark.use_policy(policy)
        if cache := options.answer_cache:
            benchmark.use_cache(cache)
            notes["cache"] = True
        if self.prices.own:
            notes |= self.prices.to_notes()
        if self.judged_by:
            notes[JUDGED_BY] = self.judged_by
        if options.cell:
            notes[CELL] = dict(options.cell)
        support_by_name(self.config.get("benchmark"))  # raises before anything is run
        every = list(parts)
        # Before the folder is open and anybody watches: forks have neither its lock nor threads.
        most = max((len(tasks) * options.trials for tasks in every), default=0)
        # Engines of other packages need not have anything to share.
        shared = getattr(engine, "shared", lambda size: nullcontext())
        early = shared(min(options.concurrency, most))
        with early, self._open({**self.config, **notes}) as folder:
            benchmark.judge_record = JudgeRecord(record_path(folder.path))
            # All reports are in the folder; in memory only somebody's own callbacks want them.
            benchmark.keep_reports = keep_reports
            # A key that is refused fails every simulation alike, and each would be waited for.
            benchmark.stop_when_hopeless = True
            watch = RunWatch(self, folder, benchmark)
            before = list(benchmark.callbacks)
            benchmark.add_callback(watch)

            def run_parts(among: Collection[Simulation] | None, retry: bool) -> bool:
                more = partial(run_into, folder, benchmark, agent_data=agent_data, engine=engine)
                for tasks in every:
                    if not watch.is_stopping:
                        more(tasks, retry_failed=retry, among=among)
                return not watch.is_stopping

            retry = options.retry_failed
            run_all: Callable[[], object] = partial(run_parts, None, retry)
            if UNTIL in folder.config.values:
                from maseval.app.results.until import run_rounds  # loads statistics

                lines = watch.recorded_lines
                run_all = partial(run_rounds, folder, run_parts, lines, retry_failed=retry)
            try:
                with watch.running():
                    run_all()
                return watch.result()
            finally:
                benchmark.callbacks[:] = before  # it may be run again, into another folder
                benchmark.judge_record.close()
                benchmark.judge_record = None

    def _open(self, config: Mapping[str, object]) -> RunFolder:
        if self.options.output is not None:
            options = self.options
            return RunFolder.open(
                self.path, config, fork=options.fork, resume_changed=options.resume_changed
            )
        RunConfig.of(config)  # raises before a folder is made
        path = new_folder(self.path)
        try:
            return RunFolder.open(path, config)
        # The empty folder of a run that could not begin would be listed among the runs.
        except BaseException:
            with suppress(OSError):  # something is in it
                path.rmdir()
            raise


def path_of(options: FolderRunOptions, *parts: str, title: str) -> Path:
    """Return the folder that the options name, or one named after the time and what is run.

    Two runs of one second would have the same; ``new_folder`` makes the one that is used.
    """
    if options.output is not None:
        return Path(options.output)
    moment = datetime.now().strftime("%Y%m%d-%H%M%S")
    return default_root() / "-".join([moment, *parts, as_file_name(title)])


def new_folder(path: Path) -> Path:
    """Make a folder that did not exist before: ``path``, else ``path-2``, ``path-3``, ..."""
    with writing(path, "cannot be written to"):
        path.parent.mkdir(parents=True, exist_ok=True)
        for number in count(1):
            free = path if number == 1 else path.with_name(f"{path.name}-{number}")
            with suppress(FileExistsError):
                free.mkdir()
                break
    return free
