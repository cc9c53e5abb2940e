"""The options of every command that runs tasks into a run folder."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

from maseval.app.running.options import (
    EXECUTION,
    OUTPUT,
    RAY_ADDRESS,
    TASKS,
    WORKER_PROCESSES,
    ExtraArguments,
    Flag,
    check_engine_options,
    chosen_engine,
)
from maseval.app.running.progress import Display
from maseval.app.running.questions import QuestionOptions
from maseval.core.answer_cache import AnswerCache, answer_cache
from maseval.core.benchmark import Benchmark
from maseval.core.call_policy import CallPolicy
from maseval.core.engine.engines import (
    DEFAULT,
    PROCESSES,
    AnyEngine,
    Engine,
    ThreadEngine,
)
from maseval.core.exceptions import ConfigurationError
from maseval.core.reasoning import ReasoningPolicy
from maseval.core.task.queues import TasksToRun
from maseval.data.cache import cache_dir

OnView = Callable[[str], object]
"""Called with the address of the page that shows a run."""

# With a limit in seconds, the number of attempts is none.
_UNLIMITED = 1_000_000


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """The folder of a run, and the ``command`` that it notes as how it was started."""

    output: Annotated[
        str | os.PathLike[str] | None,
        Flag(
            "Run folder; an existing run resumes (default: a new folder below runs/)",
            OUTPUT,
            short="-o",
            alias="save_to",
            typed=Path,
        ),
    ] = None
    command: str | None = None


@dataclass(frozen=True, kw_only=True)
class FolderRunOptions(QuestionOptions, OutputOptions):
    """The options of every run: tasks, trials, concurrency, budget, and output."""

    task_id: Annotated[
        Sequence[str],
        Flag("Only this task, or 1-5,9 (repeatable)", TASKS, alias="task_ids", typed=list[str]),
    ] = ()
    num_tasks: Annotated[
        int | None, Flag("Maximum tasks per domain", TASKS, short="-n", alias="limit")
    ] = None
    anchor_points: Annotated[
        str | os.PathLike[str] | None,
        Flag(
            "JSON list of the positions of chosen tasks; their results are named an estimate",
            TASKS,
            typed=Path,
        ),
    ] = None
    concurrency: Annotated[
        int, Flag("Simulations at once", EXECUTION, short="-j", alias="max_concurrency")
    ] = 4
    engine: Annotated[
        str | Engine | None,
        Flag(
            "Where simulations run: threads of this process, processes (all cores), or ray "
            "(clusters) (default: threads; processes for many simulations of scripted agents)",
            EXECUTION,
            typed=str,
        ),
    ] = None
    ray_address: Annotated[str | None, Flag(RAY_ADDRESS, EXECUTION)] = None
    processes: Annotated[int | None, Flag(WORKER_PROCESSES, EXECUTION)] = None
    budget: Annotated[
        str | None, Flag("Start no more simulations once 5usd or '2M tokens' are spent", EXECUTION)
    ] = None
    retry_failed: Annotated[
        bool, Flag("Retry simulations that failed through no fault of the agent", EXECUTION)
    ] = True
    max_wait: Annotated[
        float | None,
        Flag(
            "Seconds for which one call may wait to ask a provider again (default: 6 attempts, "
            "and at most 300)",
            EXECUTION,
        ),
    ] = None
    cache: Annotated[
        bool,
        Flag(
            "Take answers to equal requests from a cache, and keep new ones there; the run's "
            "record says so",
            EXECUTION,
        ),
    ] = False
    cache_dir: Annotated[
        str | os.PathLike[str] | None,
        Flag(
            "The same with the cache in this folder (default: below the user's cache folder)",
            EXECUTION,
            typed=Path,
        ),
    ] = None
    prices: Annotated[
        str | os.PathLike[str] | None,
        Flag(
            "JSON or TOML file of prices in USD per million tokens; they override the price list",
            EXECUTION,
            typed=Path,
        ),
    ] = None
    fork: Annotated[
        bool, Flag("If the configuration differs, start a new run folder beside --output", OUTPUT)
    ] = False
    view: Annotated[
        bool,
        Flag(
            "Watch the run in the browser (needs the extra view); in a terminal the page stays "
            "until Ctrl-C, elsewhere it ends with the run",
            OUTPUT,
        ),
    ] = False
    on_view: OnView | None = None
    otel: Annotated[
        bool, Flag("Send a trace of each simulation to OTEL_EXPORTER_OTLP_ENDPOINT", OUTPUT)
    ] = False
    otel_endpoint: Annotated[
        str | None, Flag("The same to this OTLP endpoint: http://localhost:4318", OUTPUT)
    ] = None
    otel_content: Annotated[
        bool, Flag("Include messages and tool arguments in the traces", OUTPUT)
    ] = False
    track: Annotated[
        Sequence[str],
        Flag(
            "Send the run to mlflow, wandb, langfuse or otel, or to NAME=ADDRESS for another "
            "server (repeatable)",
            OUTPUT,
            typed=list[str],
        ),
    ] = ()
    display: Display | None = None

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ConfigurationError(f"concurrency is {self.concurrency}; give at least 1")
        if self.num_tasks is not None and self.num_tasks < 1:
            raise ConfigurationError(f"num_tasks is {self.num_tasks}; give at least 1")
        if self.anchor_points is not None and (self.task_id or self.num_tasks is not None):
            raise ConfigurationError(
                "anchor_points are positions among all tasks; leave out task_id and num_tasks"
            )
        object.__setattr__(self, "trials", self.meant_trials())
        if self.max_wait is not None and not self.max_wait >= 0:
            raise ConfigurationError(f"max_wait is {self.max_wait:g}; give seconds, 0 or more")
        if self.view:
            from maseval.app.viewing import check_viewer  # help must be quick

            check_viewer()
        check_engine_options(self._engine, self.ray_address, self.processes)

    @property
    def _engine(self) -> AnyEngine:
        # Whoever asks for processes need not name their engine; one is as good as threads.
        return self.engine or (DEFAULT if self.processes is None else PROCESSES)

    @cached_property
    def chosen_engine(self) -> Engine:
        """Return the engine that the options ask for; raise if it cannot be had."""
        if self.engine is None and self.processes == 1:
            return ThreadEngine()
        return chosen_engine(self._engine, self.ray_address, self.processes)

    @property
    def call_policy(self) -> CallPolicy | None:
        """The policy by which models are asked again, if it is not the usual one."""
        if self.max_wait is None:
            return None
        return CallPolicy(max_attempts=_UNLIMITED, max_total_wait=self.max_wait)

    @property
    def answer_cache(self) -> AnswerCache | None:
        """The cache of answers that the options ask for."""
        if not self.cache and self.cache_dir is None:
            return None
        return answer_cache(self.cache_dir or cache_dir() / "answers")

    @property
    def destinations(self) -> list[str]:
        """The names of where the run is sent, as ``--track`` takes them."""
        if self.otel_endpoint is not None:
            return [*self.track, f"otel={self.otel_endpoint}"]
        return [*self.track, *(["otel"] if self.otel else [])]

    @property
    def runs_elsewhere(self) -> bool:
        """True if simulations take place in other processes."""
        return not isinstance(self.chosen_engine, ThreadEngine)


def check_timeout(seconds: float | None) -> None:
    """Raise if ``seconds`` is not a limit."""
    if seconds is not None and seconds <= 0:
        raise ConfigurationError(f"timeout is {seconds:g}; give seconds, or None for no limit")


MADE = "Benchmark"

AnyBenchmark = str | Benchmark | Callable[..., Benchmark]
"""A benchmark, a class or function that makes one, or where to find one of these."""


@dataclass(frozen=True, kw_only=True)
class BenchmarkRunOptions(FolderRunOptions):
    """The options of ``maseval run``."""

    benchmark: AnyBenchmark
    set: Annotated[
        ExtraArguments | None,
        Flag("JSON, key=value or FILE.json for what makes the benchmark", MADE, typed=list[str]),
    ] = None
    agent_data: Annotated[
        ExtraArguments | None,
        Flag(
            "JSON, key=value or FILE.json for its agents: model_id=openai/gpt-4.1",
            MADE,
            typed=list[str],
        ),
    ] = None
    tasks: Annotated[
        str | os.PathLike[str] | TasksToRun | None,
        Flag(
            "FILE.json, or FILE.py:NAME of a list or function (default: the benchmark's own)",
            TASKS,
            typed=str,
        ),
    ] = None
    task_args: Annotated[
        ExtraArguments | None,
        Flag("JSON, key=value or FILE.json for what loads the tasks", TASKS, typed=list[str]),
    ] = None
    seed: Annotated[
        int | None, Flag("Seed of the benchmark (default: its own)", EXECUTION, recorded=True)
    ] = None
    timeout: Annotated[
        float | None,
        Flag("Seconds per simulation (default: as its task says)", EXECUTION, recorded=True),
    ] = None

    reasoning: Annotated[
        str | None,
        Flag(
            "Which of their own thoughts the benchmark's models are sent again: keep, drop or "
            "auto (default: each model's own)",
            MADE,
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_timeout(self.timeout)
        if self.reasoning is not None:
            ReasoningPolicy.of(self.reasoning)
