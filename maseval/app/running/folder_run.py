"""A run before it begins: its configuration, what it may cost, and where it is kept."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from maseval.app.results.results import RunResult
from maseval.app.running.following import check_followers, follower_of
from maseval.app.running.limits import Budget
from maseval.app.running.prices import Prices
from maseval.app.running.progress import Turn
from maseval.app.running.run_options import FolderRunOptions
from maseval.app.running.session import Session
from maseval.app.viewing.view import view_beside
from maseval.core.benchmark import Benchmark
from maseval.core.storage.redaction import Secrets
from maseval.core.task import Task
from maseval.core.task.queues import AgentData
from maseval.runs import RunFolder, Simulation, default_root
from maseval.runs.config import RunConfig
from maseval.runs.config_file import CONFIG


@dataclass(frozen=True)
class FolderRun(ABC):
    """What every run into a folder has; each kind of run adds what its benchmark needs."""

    options: FolderRunOptions
    budget: Budget | None
    prices: Prices
    path: Path

    @property
    @abstractmethod
    def config(self) -> Mapping[str, object]:
        """All that the results depend on, tasks and trials included."""

    def missing(self) -> list[Simulation]:
        """The simulations that are still to be run."""
        planned = RunConfig.of(self.config).planned
        if not (self.path / CONFIG).exists() or self.options.fork:
            return list(planned)
        folder = RunFolder.read(self.path)
        left = set(folder.missing(retry_failed=self.options.retry_failed))
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
        """Run what is missing into the folder; for the rest see ``Session``.

        ``on_folder`` gets its path, which is another one for a run that forks off.
        """
        engine = self.options.chosen_engine
        command = {"command": self.options.command} if self.options.command else {}
        noted = {**self.config, **command}
        check_followers(self.options)
        with RunFolder.open(self.path, noted, fork=self.options.fork) as folder:
            on_folder(folder.path)
            # All are in the folder; in memory only somebody's own callbacks could want them.
            benchmark.keep_reports = self.has_listeners(benchmark)
            follower = follower_of(self.options, folder.path)
            benchmark.add_callback(follower)
            session = Session(
                folder,
                benchmark,
                Secrets.of(self.config),
                turn=turn,
                budget=self.budget,
                priced=priced,
                time_limit=time_limit,
                retry_failed=self.options.retry_failed,
                display=self.options.display,
                engine=engine,
            )
            with self._view_of(folder.path):
                result = session.run(parts, agent_data)
        return replace(result, notes=follower.finish())

    def has_listeners(self, benchmark: Benchmark) -> bool:
        """Whether callbacks of the user's are given all reports at the end of the run."""
        return False

    @contextmanager
    def _view_of(self, folder: Path) -> Iterator[None]:
        if not self.options.view:
            yield
            return
        with view_beside(folder) as address:
            if self.options.on_view is not None:
                self.options.on_view(address)
            yield


def budget_of(options: FolderRunOptions) -> Budget | None:
    """The budget, if there is one."""
    return None if options.budget is None else Budget.of(options.budget)


def path_of(options: FolderRunOptions, *title: str) -> Path:
    """Where the run is kept: as was asked, or in a new folder named after what is run."""
    if options.output is not None:
        return Path(options.output)
    moment = datetime.now().strftime("%Y%m%d-%H%M%S")
    return default_root() / "-".join([moment, *title])


def as_file_name(text: str) -> str:
    """A name without what a file system or a shell could take for something else."""
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in text)
    return kept.strip("-")[:60] or "model"
