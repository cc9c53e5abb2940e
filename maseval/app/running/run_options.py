"""The options of ``maseval run``."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from maseval.app.running.folder_options import (
    EXECUTION,
    TASKS,
    FolderRunOptions,
    check_timeout,
)
from maseval.app.running.options import ExtraArguments, Flag
from maseval.core.benchmark import Benchmark
from maseval.core.task.queues import TasksToRun

MADE = "Benchmark"

AnyBenchmark = str | Benchmark | Callable[..., Benchmark]
"""A benchmark, a class or function that makes one, or where to find one of these."""


@dataclass(frozen=True, kw_only=True)
class BenchmarkRunOptions(FolderRunOptions):
    """What ``run`` is asked to do."""

    benchmark: AnyBenchmark
    set: Annotated[
        ExtraArguments | None,
        Flag(
            "JSON, key=value or FILE.json for what makes the benchmark",
            MADE,
            typed=list[str],
        ),
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

    def __post_init__(self) -> None:
        super().__post_init__()
        check_timeout(self.timeout)
