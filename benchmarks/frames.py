"""What tables of a large run cost: ``python -m benchmarks.frames``.

Conversations of the built-in library domain are copied under other ids into run folders of 2,000
and 20,000 simulations. Each measurement is a process of its own, whose largest size is reported:
it should not grow with the run. Parquet takes copies of one conversation for one: a run of
different conversations has larger files. A results file of tau2-bench is judged as well, which
takes most of its time; its memory should hardly grow either. Times are the processor's.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

from benchmarks.table import show
from maseval.commands import tau2
from maseval.core.report import Report
from maseval.frames.export import export
from maseval.frames.frame import TABLES
from maseval.interface import extras
from maseval.runs import RunFolder

FEW, MANY = 2_000, 8_000
JUDGED = (250, 1_000)
COLUMNS = ("", "simulated", "rows", "s of CPU", "rows/s", "kB", "peak MB")


def main() -> None:
    """Print all tables."""
    with tempfile.TemporaryDirectory() as name:
        few, many = (_run(Path(name), size) for size in (FEW, MANY))
        parquet = extras.is_installed("pyarrow")
        asked = [(few, "jsonl"), (many, "jsonl"), (few, "csv")]
        asked += [(few, "parquet"), (many, "parquet")] if parquet else []
        show(
            "The table of simulations: time, size of the file, memory",
            COLUMNS,
            [(form, *_measured(run, "simulations", form)) for run, form in asked],
        )
        form = "parquet" if parquet else "jsonl"
        show(
            f"Every table as {form}",
            COLUMNS,
            [(table, *_measured(few, table, form)) for table in TABLES],
        )
        files = [_results(Path(name), size) for size in JUDGED]
        show(
            "Results files of tau2-bench: every simulation is judged again",
            COLUMNS,
            [("jsonl", *_measured(file, "simulations", "jsonl")) for file in files],
        )


def _run(folder: Path, size: int) -> Path:
    """A run folder with so many simulations; that each is on the disk at once is not needed."""
    with mock.patch("os.fsync"):
        made = tau2.run(domain="library", agent="noisy", trials=2, output=folder / f"few{size}")
        few = RunFolder.read(made.folder)
        reports = list(few.reports())
        names = [f"copy-{number}" for number in range(size)]
        config = {**few.config.values, "tasks": {"library": names}, "trials": 1}
        with RunFolder.open(folder / f"run{size}", config) as run:
            for number, name in enumerate(names):
                run.append(_copy(reports[number % len(reports)], name))
    return run.path


def _copy(report: Report, name: str) -> Report:
    return {**report, "task_id": name, "repeat_idx": 0}


def _results(folder: Path, size: int) -> Path:
    """A results file with so many simulations, all of different trials."""
    made = tau2.run(domain="library", agent="noisy", output=folder / f"once{size}")
    target = folder / f"run{size}.json"
    tau2.export(made.folder, target)
    content = json.loads(target.read_text("utf-8"))
    once = content["simulations"]
    copies = [
        {**once[number % len(once)], "id": str(number), "trial": number // len(once)}
        for number in range(size)
    ]
    content["info"]["num_trials"] = -(-size // len(once))
    target.write_text(json.dumps({**content, "simulations": copies}), "utf-8")
    return target


def _measured(run: Path, table: str, form: str) -> tuple[object, ...]:
    target = run.parent / f"{table}.{form}"
    program = "from benchmarks.frames import measure; measure()"
    done = subprocess.run(
        [sys.executable, "-c", program, str(run), table, form, str(target)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    count, took, peak = (float(word) for word in done.stdout.split())
    written = target.stat().st_size / 1e3
    target.unlink()
    size = run.stem.removeprefix("run")
    return (
        f"{int(size):,}",
        f"{count:,.0f}",
        f"{took:.1f}",
        f"{count / took:,.0f}",
        f"{written:,.0f}",
        f"{peak:.0f}",
    )


def measure() -> None:
    """In the process that is measured: rows, seconds, and its largest size in MB."""
    run, table, form, target = sys.argv[1:]
    began = time.process_time()
    (written,) = export([run], to=form, tables=[table], output=target)
    took = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(written.rows, took, peak)


if __name__ == "__main__":
    main()
