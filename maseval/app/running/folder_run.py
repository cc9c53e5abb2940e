"""FolderRun: a run into a folder, prepared by the options of a command and then run.

A subclass knows its benchmark and the configuration on which the results depend. ``run`` opens the
folder, which locks it, and runs what is missing. ``RunWatch`` counts and stops; ``Tracking`` sends
the run elsewhere if the options say so. The folder is closed before the last of it is sent.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import count
from pathlib import Path

from maseval.app.benchmarks import support_by_name
from maseval.app.results.results import RunResult
from maseval.app.results.until import Until, run_rounds
from maseval.app.running.prices import Prices
from maseval.app.running.progress import Turn
from maseval.app.running.run_options import FolderRunOptions
from maseval.app.running.run_watch import Budget, RunWatch
from maseval.app.viewing.view import view_beside
from maseval.core.benchmark import Benchmark
from maseval.core.engine.engines import ForkingEngine
from maseval.core.outcome import Simulation
from maseval.core.storage.redaction import Secrets
from maseval.core.task import Task
from maseval.core.task.queues import AgentData
from maseval.runs import RunFolder, default_root, run_into
from maseval.runs.config import RunConfig
from maseval.runs.config_file import is_run_folder
from maseval.runs.exceptions import writing


@dataclass(frozen=True)
class FolderRun(ABC):
    """A run before it begins: its options, what it may cost, and where it is kept."""

    options: FolderRunOptions
    path: Path

    @cached_property
    def budget(self) -> Budget | None:
        """The limit on what the run may cost, if there is one."""
        return None if self.options.budget is None else Budget.of(self.options.budget)

    @cached_property
    def prices(self) -> Prices:
        """The prices in the file that is named, else those of the run that is resumed."""
        named = self.options.output
        if self.options.prices is None and named is not None and is_run_folder(Path(named)):
            return Prices.from_config(RunFolder.read(named).config.values)
        return Prices.of(self.options.prices)

    @property
    @abstractmethod
    def config(self) -> Mapping[str, object]:
        """Everything that the results depend on, tasks and trials included."""

    def has_listeners(self, benchmark: Benchmark) -> bool:
        """Return True if callbacks of the user's get all reports at the end of the run."""
        return False

    def missing(self) -> list[Simulation]:
        """Return the simulations that are still to be run, or to be evaluated again."""
        planned = RunConfig.of(self.config).planned
        named = self.options.output is not None
        if not named or not is_run_folder(self.path) or self.options.fork:
            return list(planned)
        folder = RunFolder.read(self.path)
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
        turn: Turn | None = None,
        priced: bool = False,
        time_limit: float | None = None,
        on_folder: Callable[[Path], object] = lambda path: None,
    ) -> RunResult:
        """Run what is missing into the folder, until all is done or a reason to stop.

        ``parts`` are run one after the other, as tasks of the same id occur in several domains.
        ``on_folder`` gets the path, which is another one for a run that forks off. For ``turn``,
        ``priced`` and ``time_limit`` see ``RunWatch``.
        """
        options, engine, budget = self.options, self.options.chosen_engine, self.budget
        notes: dict[str, object] = {"command": options.command} if options.command else {}
        if policy := options.call_policy:
            benchmark.use_policy(policy)
        if cache := options.answer_cache:
            benchmark.use_cache(cache)
            notes["cache"] = True
        notes |= self.prices.to_notes()
        support = support_by_name(self.config.get("benchmark"))  # raises before anything is run
        tracking = None
        if names := options.destinations:
            from maseval.app.running.tracking import Tracking  # loads telemetry

            tracking = Tracking(names, content=options.otel_content)
        every = list(parts)
        # Before the folder is open and anybody watches: forks have neither its lock nor threads.
        early = (
            engine.forked_for(len(every)) if isinstance(engine, ForkingEngine) else nullcontext()
        )
        with early, self._open({**self.config, **notes}) as folder:
            on_folder(folder.path)
            # All are in the folder; in memory only somebody's own callbacks could want them.
            benchmark.keep_reports = self.has_listeners(benchmark)
            benchmark.stop_when_hopeless = True
            if tracking:
                tracking.start(folder.path)
                benchmark.add_callback(tracking)
            watch = RunWatch(
                folder,
                benchmark,
                Secrets.of(self.config),
                support,
                engine=engine,
                budget=budget,
                turn=turn,
                priced=priced,
                time_limit=time_limit,
            )
            benchmark.add_callback(watch)

            def run_parts(among: Collection[Simulation] | None, retry: bool) -> bool:
                for tasks in every:
                    if not watch.is_stopping:
                        run_into(
                            folder,
                            benchmark,
                            tasks,
                            agent_data,
                            retry_failed=retry,
                            among=among,
                            engine=engine,
                        )
                return not watch.is_stopping

            until = Until.of(folder.config)
            with self._page(folder.path), watch.running(options.display):
                if until is None:
                    run_parts(None, options.retry_failed)
                else:
                    run_rounds(folder, until, run_parts, retry_failed=options.retry_failed)
            result = watch.result()
        return replace(result, notes=tracking.finish() if tracking else [])

    def _open(self, config: Mapping[str, object]) -> RunFolder:
        if self.options.output is not None:
            return RunFolder.open(self.path, config, fork=self.options.fork)
        RunConfig.of(config)  # raises before a folder is made
        path = new_folder(self.path)
        try:
            return RunFolder.open(path, config)
        except BaseException:
            with suppress(OSError):  # something is in it
                path.rmdir()
            raise

    @contextmanager
    def _page(self, folder: Path) -> Iterator[None]:
        if not self.options.view:
            yield
            return
        with view_beside(folder) as address:
            if self.options.on_view is not None:
                self.options.on_view(address)
            yield


def path_of(options: FolderRunOptions, *title: str) -> Path:
    """Return the folder that the options name, or one named after the time and what is run.

    Two runs of one second would have the same; ``new_folder`` makes the one that is used.
    """
    if options.output is not None:
        return Path(options.output)
    moment = datetime.now().strftime("%Y%m%d-%H%M%S")
    return default_root() / "-".join([moment, *title])


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


def as_file_name(text: str) -> str:
    """Return a name without what a file system or a shell could take for something else."""
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in text)
    return kept.strip("-")[:60] or "model"
