"""What it costs to send a run elsewhere: ``python -m benchmarks.telemetry``.

The small booking benchmark runs into a folder: sent nowhere, as traces to a receiver in this
process, and into the files of trackers, as far as their libraries are installed. A simulation takes
about a millisecond, so that what is added stands out; with a language model it takes seconds. Then
the parts are measured alone: a report as a tree of spans, and simulations as a table of tasks.
"""

import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from benchmarks.table import best, seconds, show
from maseval import commands
from maseval.commands import tracking
from maseval.interface.extras import is_installed
from maseval.interface.telemetry.simulation import simulation_span
from maseval.interface.trackers.tracked_run import Finished, tasks_of
from maseval.runs import RunFolder

TRIALS = 30
SIMULATIONS = 12 * TRIALS
BUILT = 300


def main() -> int:
    """Print both tables."""
    tracking.TRACKER_SECONDS = 600.0  # how long it takes is the question here
    rows = [("sent nowhere", measured(5)), ("sent nowhere, again", measured(5))]
    if is_installed("opentelemetry.exporter"):
        with receiver() as url:
            rows.append(("--otel", measured(5, f"otel={url}")))
    if is_installed("wandb"):
        rows.append(("--track wandb, offline", measured(1, "wandb")))
    if is_installed("mlflow") and is_installed("sqlalchemy"):
        rows.append(("--track mlflow, SQLite", measured(1, "mlflow=sqlite:///runs.db")))
    show(
        f"A run of {SIMULATIONS:,} simulations, with all that is waited for at its end",
        ("how", "s", "ms of CPU a simulation"),
        [(how, f"{took:.2f}", f"{cpu / SIMULATIONS * 1e3:.3f}") for how, (took, cpu) in rows],
    )
    show("The parts alone", ("what", "ms"), list(parts()))
    return 0


def measured(times: int, *to: str) -> tuple[float, float]:
    """Seconds of a run at best, and of this process: trackers have processes of their own."""
    runs = []
    for _ in range(times):
        began = time.process_time()
        took = seconds(lambda: run(*to))
        runs.append((took, time.process_time() - began))
    return min(took for took, _ in runs), min(cpu for _, cpu in runs)


def run(*to: str) -> None:
    """Run into a new folder, and send it there."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ |= {"WANDB_MODE": "offline", "WANDB_DIR": folder}
        result = commands.run(
            benchmark="maseval.benchmark.booking:BookingBenchmark",
            trials=TRIALS,
            output="run",
            track=to,
        )
        if result.notes or not result.complete:
            raise RuntimeError(f"not sent: {result.notes}")


def parts() -> Iterator[tuple[str, str]]:
    """What is done for a simulation off the run's own thread, and for a run at its end."""
    with tempfile.TemporaryDirectory() as folder:
        booking = "maseval.benchmark.booking:BookingBenchmark"
        commands.run(benchmark=booking, num_tasks=1, output=f"{folder}/run")
        report = next(RunFolder.read(f"{folder}/run").reports())
    spans = best(lambda: [simulation_span(report) for _ in range(BUILT)], times=3) / BUILT
    yield "a report as spans", f"{spans * 1e3:.3f}"
    finished = [
        Finished("shop", str(number % 500), "pass", 1.0, 0.1, 100, 1.0) for number in range(20_000)
    ]
    table = best(lambda: tasks_of(finished), times=3)
    yield "20,000 simulations as a table of tasks", f"{table * 1e3:.1f}"


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
