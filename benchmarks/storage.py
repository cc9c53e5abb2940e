"""What it costs to write and to read files: ``python -m benchmarks.storage``.

Records of the size that a tau2 conversation has are appended to a file, with and without waiting
for the disk, one by one and as many at once as a run stores; a results file of about 100 MB is
read; a thousand runs are listed.
"""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.table import best, seconds, show
from maseval.benchmark.tau2.results.layout import JsonFile
from maseval.core.storage.records import RecordWriter, iter_records
from maseval.runs import RunFolder, list_runs

RECORDS = 200
TOGETHER = 32
RECORD = {"messages": [{"role": "user", "content": "x" * 500}] * 40}
SIMULATIONS = 5_000
RUNS = 1_000


def main() -> None:
    """Print both tables."""
    with tempfile.TemporaryDirectory() as folder:
        show(
            f"One record of {len(json.dumps(RECORD)) // 1000} kB", ("", "ms"), records(Path(folder))
        )
        show("A large file", ("", "MB", "s"), large_files(Path(folder)))
        show(f"{RUNS:,} runs listed", ("", "s"), listed_runs(Path(folder)))


def records(folder: Path) -> list[tuple[object, ...]]:
    """Rows: appended and flushed, one by one and together, appended, read."""
    path = folder / "records.jsonl"

    def write(sync: bool) -> None:
        with RecordWriter(path, overwrite=True, sync=sync) as writer:
            for _ in range(RECORDS):
                writer.append(RECORD)

    def write_together() -> None:
        line = json.dumps(RECORD).encode()
        with RecordWriter(path, overwrite=True) as writer:
            for first in range(0, RECORDS, TOGETHER):
                writer.append_lines([line] * min(TOGETHER, RECORDS - first))

    costs = {
        "appended and flushed to the disk": best(lambda: write(True), times=3),
        f"appended and flushed, {TOGETHER} at once": best(write_together, times=3),
        "appended": best(lambda: write(False), times=3),
        "read": best(lambda: list(iter_records(path)), times=3),
    }
    return [(name, f"{cost / RECORDS * 1e3:.2f}") for name, cost in costs.items()]


def large_files(folder: Path) -> list[tuple[object, ...]]:
    """Rows: a results file read simulation by simulation, and as a whole."""
    results = _results(folder / "results.json")
    costs = {
        f"reading {SIMULATIONS:,} simulations one by one": (results, lambda: _read(results)),
        "the same, parsed as a whole": (results, lambda: json.loads(results.read_bytes())),
    }
    return [
        (name, f"{path.stat().st_size / 1e6:.0f}", f"{seconds(work):.2f}")
        for name, (path, work) in costs.items()
    ]


def listed_runs(folder: Path) -> list[tuple[object, ...]]:
    """Rows: runs as they were closed, and copies, whose logs are checked line by line."""
    config = {"tasks": {"shop": [str(number) for number in range(50)]}, "trials": 4}
    closed, copied = folder / "runs", folder / "copies"
    for number in range(RUNS):
        RunFolder.open(closed / str(number), config).close()
    shutil.copytree(closed, copied)
    return [
        ("as they were closed", f"{best(lambda: list_runs(closed), times=3):.2f}"),
        ("copied", f"{best(lambda: list_runs(copied), times=3):.2f}"),
    ]


def _results(path: Path) -> Path:
    simulation: dict[str, Any] = {"task_id": "0", "trial": 0, **RECORD}
    path.write_text(
        json.dumps({"info": {}, "simulations": [simulation] * SIMULATIONS}), encoding="utf-8"
    )
    return path


def _read(path: Path) -> None:
    with JsonFile(path) as stream:
        for key in stream.members():
            if key == "simulations":
                for _ in stream.elements():
                    pass
            else:
                stream.skip()


if __name__ == "__main__":
    main()
