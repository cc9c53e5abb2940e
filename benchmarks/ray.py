"""What Ray gains and costs: ``python -m benchmarks.ray [--short]``, where Ray is installed.

Every figure is a ratio, or stands beside one of the same run. Starting Ray and its processes is
left out: it takes some seconds once. ``--short`` has small sizes, to see that all of it works.
"""

import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.table import show
from benchmarks.tau2_run import (
    A_SECOND,
    ABOUT_A_SECOND,
    Conversations,
    Latency,
    ideal_seconds,
    some_tasks,
)
from maseval import Benchmark, BenchmarkCallback, Report, Task, TaskQueue
from maseval.benchmark.tau2 import load_tasks
from maseval.benchmark.tau2.data_loader import DataUnavailableError
from maseval.benchmark.tau2.players import PlayerTau2Benchmark
from maseval.core.engine.engines import DEFAULT, AnyEngine, WorkerEvent
from maseval.core.engine.parcel import pack
from maseval.interface.extras import MissingExtraError
from maseval.interface.ray.engine import RayEngine
from maseval.runs import RunFolder, run_into, task_ids

PLAYERS_AT_LEAST, IN_FLIGHT_AT_LEAST = 1.7, 0.92


class Sizes(NamedTuple):
    """How much is measured, and how long a model takes."""

    played: int = 4_000
    in_flight: int = 1_000
    waves: int = 2
    many: int = 5_000
    long_latency: float = 5.0


SHORT = Sizes(100, 100, 1, 400, 2.0)


class Watch(BenchmarkCallback):
    """How long repetitions take place, and in which processes: their start and end are left out."""

    def __init__(self) -> None:
        self.processes: list[int] = []
        self.seconds = self.driver_seconds = 0.0
        self._began = self._worked = 0.0
        self._started = 0

    def on_task_repeat_start(self, benchmark: Benchmark, task: Task, repeat_idx: int) -> None:
        self._started += 1
        if self._started == 1:
            self._begin()

    def _begin(self) -> None:
        self._began, self._worked = time.perf_counter(), time.process_time()

    def on_task_repeat_end(self, benchmark: Benchmark, report: Report) -> None:
        self.seconds = time.perf_counter() - self._began
        self.driver_seconds = time.process_time() - self._worked

    def on_worker_event(self, benchmark: Benchmark, event: WorkerEvent) -> None:
        if event.kind == "started":
            self.processes += map(int, re.findall(r"process (\d+)", event.text))
            self._begin()  # each works from here on


class Run(NamedTuple):
    """A run that was measured."""

    seconds: float
    driver_seconds: float
    reports: list[Report]
    processes: list[int]


def measured(
    benchmark: Benchmark, start: Callable[[AnyEngine], list[Report]], engine: AnyEngine
) -> Run:
    """Run it; raises if a simulation is missing or failed."""
    watch = Watch()
    benchmark.add_callback(watch)
    reports = start(engine)
    failed = [report["error"] for report in reports if report["status"] != "success"]
    if failed:
        raise RuntimeError(f"{len(failed)} simulations failed: {failed[0]}")
    return Run(watch.seconds, watch.driver_seconds, reports, watch.processes)


def main() -> int:
    """Print the tables; the exit status is 1 if there is nothing to measure with."""
    sizes = SHORT if "--short" in sys.argv else Sizes()
    try:
        RayEngine()
        load_tasks("telecom")
    except (MissingExtraError, DataUnavailableError) as error:
        print(f"not measured: {error}")
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        players(sizes)
        in_flight(sizes, folder)
        many(sizes)
    return 0


def players(sizes: Sizes) -> None:
    """Scripted agents need no model: all is work of the processor."""

    def run(engine: AnyEngine) -> float:
        benchmark = PlayerTau2Benchmark(num_workers=32, progress_bar=False, seed=1)
        tasks = some_tasks("telecom", sizes.played)
        data = {"player": "noisy"}
        return measured(
            benchmark, lambda engine: benchmark.run(tasks, data, engine=engine), engine
        ).seconds

    here = run(DEFAULT)
    rows = [("threads of one process", f"{here:.1f}", "1.00")]
    for processes in (1, 2):
        taken = run(RayEngine(processes=processes))
        rows.append((f"Ray, {processes} process(es)", f"{taken:.1f}", f"{here / taken:.2f}"))
    columns = ("where", "seconds", f"speed (2: at least {PLAYERS_AT_LEAST})")
    show(f"{sizes.played:,} telecom simulations of a scripted agent", columns, rows)


def in_flight(sizes: Sizes, folder: Path) -> None:
    """Models that take their time; what is finished is written to a run folder."""
    total = sizes.in_flight * sizes.waves
    rows = []
    for number, (where, latency, engine) in enumerate(
        (where, latency, engine)
        for latency in (A_SECOND, ABOUT_A_SECOND)
        for where, engine in (("threads", DEFAULT), ("Ray, 2 processes", RayEngine(processes=2)))
    ):
        into = folder / str(number)
        run = recorded(into, total, sizes.in_flight, latency, engine)
        ideal = ideal_seconds(run.reports, sizes.in_flight)
        share = f"{ideal / run.seconds:.0%}"
        rows.append((where, str(latency), f"{ideal:.0f}", f"{run.seconds:.1f}", share))
    at_least = f"share (Ray: at least {IN_FLIGHT_AT_LEAST:.0%})"
    columns = ("where", "an answer s", "ideal s", "taken s", at_least)
    show(f"{sizes.in_flight:,} telecom simulations in flight", columns, rows)
    driver(run, into)


def driver(run: Run, folder: Path) -> None:
    """What this process does for each simulation that is finished elsewhere."""
    count = len(run.reports)
    cost = run.driver_seconds / count
    logged = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / count
    sent = sum(len(pack(report)) for report in run.reports) / count
    rows = [
        ("work of the driver", f"{cost * 1e3:.2f} ms"),
        ("one driver records at most", f"{1 / cost:,.0f} a second"),
        ("a report on the network", f"{sent / 1e3:.0f} kB"),
        ("a report in the run folder", f"{logged / 1e3:.0f} kB"),
    ]
    show("The driver, for each finished simulation", ("what", "cost"), rows)


def recorded(folder: Path, total: int, workers: int, latency: Latency, engine: AnyEngine) -> Run:
    """A run into a folder."""
    benchmark = conversing(workers, latency)
    tasks = some_tasks("telecom", total)
    config = {"tasks": task_ids(tasks), "trials": 1}
    with RunFolder.open(folder, config) as opened:
        data = {"model_id": "telecom"}

        def start(engine: AnyEngine) -> list[Report]:
            return run_into(opened, benchmark, tasks, data, engine=engine)

        return measured(benchmark, start, engine)


def conversing(workers: int, latency: Latency) -> Conversations:
    """The benchmark of a model that takes its time."""
    benchmark = Conversations(num_workers=workers, progress_bar=False)
    benchmark.latency = latency
    return benchmark


def many(sizes: Sizes) -> None:
    """More than one process can hold: all must come back."""
    benchmark = conversing(sizes.many, Latency(sizes.long_latency, sizes.long_latency))
    tasks: TaskQueue = some_tasks("telecom", sizes.many)
    engine = RayEngine(processes=4, force=True)
    watch = Watch()
    benchmark.add_callback(watch)
    with memory_of(watch.processes) as used:
        run = measured(
            benchmark,
            lambda engine: benchmark.run(tasks, {"model_id": "telecom"}, engine=engine),
            engine,
        )
    if len({report["task_id"] for report in run.reports}) != sizes.many:
        raise RuntimeError(f"{len(run.reports)} reports of {sizes.many} simulations")
    ideal = ideal_seconds(run.reports, sizes.many)
    each = (max(used) - used[0]) / sizes.many
    row = (f"{ideal:.0f}", f"{run.seconds:.1f}", f"{ideal / run.seconds:.0%}", f"{each / 1e3:.0f}")
    columns = ("ideal s", "taken s", "share", "kB for each in flight")
    show(f"{sizes.many:,} in flight over 4 processes, none lost", columns, [row])


@contextmanager
def memory_of(processes: list[int]) -> Iterator[list[int]]:
    """Bytes that the processes use, once as soon as there are any and then every second."""
    used: list[int] = []
    over = threading.Event()

    def sample() -> None:
        while not over.wait(0.2 if not used else 1.0):
            if len(processes) >= 4:
                used.append(sum(map(resident, processes)))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield used
    finally:
        over.set()
        thread.join()


def resident(process: int) -> int:
    """The memory of a process that no other shares, in bytes; 0 if it is over."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8")
    except OSError:
        return 0
    return 1024 * sum(int(size) for size in re.findall(r"^Private_\w+: +(\d+) kB", text, re.M))


if __name__ == "__main__":
    sys.exit(main())
