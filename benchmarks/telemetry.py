"""What it costs to send a run elsewhere: ``python -m benchmarks.telemetry``.

The small booking benchmark runs into a folder and is sent nowhere (twice, which shows the noise),
as traces to a receiver in this process, and into the files of trackers, as far as their libraries
are installed. A simulation takes a few milliseconds, so that what is added stands out; with a
language model it takes seconds. The ways take turns, round by round, so that what the machine does
besides meets all of them, and the processor's time is counted. Then the parts are measured alone.
"""

import contextlib
import os
import resource
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import median

from benchmarks.table import best, show
from maseval import commands
from maseval.core.callbacks import BenchmarkCallback
from maseval.interface.extras import is_installed
from maseval.interface.telemetry.simulation import simulation_span
from maseval.runs import RunFolder

TRIALS = 30
SIMULATIONS = 12 * TRIALS
ROUNDS = 7
BUILT = 300
OFF = "sent nowhere"

Ways = Mapping[str, Callable[[], object]]


def main() -> int:
    """Print all tables."""
    with receiver() as url:
        ways: dict[str, Callable[[], object]] = {OFF: run, f"{OFF}, again": run}
        if is_installed("opentelemetry.exporter"):
            ways["sync --to otel"] = lambda: run(f"otel={url}")
        compared(f"A run of {SIMULATIONS:,} simulations, {ROUNDS} rounds", ways, ROUNDS)
    trackers: dict[str, Callable[[], object]] = {OFF: run}
    if is_installed("wandb"):
        trackers["sync --to wandb, offline"] = lambda: run("wandb")
    if is_installed("mlflow") and is_installed("sqlalchemy"):
        trackers["sync --to mlflow, SQLite"] = lambda: run("mlflow=sqlite:///runs.db")
    if len(trackers) > 1:
        compared("The same, once, to a tracker", trackers, 1)
    show("The parts alone", ("what", "ms"), list(parts()))
    return 0


def compared(title: str, ways: Ways, rounds: int) -> None:
    """Print the processor's time of each way: at best, and what it adds to being off."""
    taken: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for number in range(rounds):
        # What comes first in a round must not always be the same.
        for way in sorted(ways, reverse=bool(number % 2)):
            taken[way].append(processor_time(ways[way]))
    off = [own for own, _ in taken[OFF]]
    rows = []
    for way, times in taken.items():
        added = median(own - other for (own, _), other in zip(times, off, strict=True))
        children = min(child for _, child in times)
        rows.append((way, _each(min(own for own, _ in times)), _each(added, "+"), children))
    show(
        title,
        ("how", "ms of CPU a simulation", "beyond off (median)", "s of CPU of other processes"),
        [(way, own, added, f"{children:.2f}") for way, own, added, children in rows],
    )


def _each(seconds: float, sign: str = "") -> str:
    return f"{seconds / SIMULATIONS * 1e3:{sign}.3f}"


def processor_time(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the processor for ``work``: of this process, and of those that it started."""
    before = _used()
    work()
    own, children = (after - was for after, was in zip(_used(), before, strict=True))
    return own, children


def _used() -> tuple[float, float]:
    found = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    own, children = (each.ru_utime + each.ru_stime for each in found)
    return own, children


def run(*to: str) -> None:
    """Run into a new folder, and send it there."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ |= {"WANDB_MODE": "offline", "WANDB_DIR": folder}
        commands.run(benchmark="examples.booking:BookingBenchmark", trials=TRIALS, output="run")
        if to:
            commands.sync("run", to)


def parts() -> Iterator[tuple[str, str]]:
    """What is done for a simulation off the run's own thread, and for a run at its end."""
    with tempfile.TemporaryDirectory() as folder:
        booking = "examples.booking:BookingBenchmark"
        commands.run(benchmark=booking, num_tasks=1, output=f"{folder}/run")
        report = next(RunFolder.read(f"{folder}/run").reports())
    idle = best(lambda: hooks_called(BenchmarkCallback(), report)) / BUILT
    yield "hooks of what sends nothing", f"{idle * 1e3:.4f}"
    spans = best(lambda: [simulation_span(report) for _ in range(BUILT)], times=3) / BUILT
    yield "a report as spans", f"{spans * 1e3:.3f}"


def hooks_called(follower: BenchmarkCallback, report: object) -> None:
    """What a run that is sent nowhere does for it, for some simulations."""
    for _ in range(BUILT):
        follower.on_task_repeat_start(None, None, 0)
        follower.on_task_repeat_end(None, report)


@contextlib.contextmanager
def receiver() -> Iterator[str]:
    """Takes every trace, and does nothing with it."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *parts: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


if __name__ == "__main__":
    raise SystemExit(main())
