"""What it costs to write the HTML report and to open it: ``python -m benchmarks.report_page``.

The library's tasks are played in several trials, which are repeated in a run folder as further ones
up to the size of a large run. `report` then runs in a process of its own, with a cache of its own,
and the memory of the largest of its processes is read at the end. A headless Chromium, where there
is one, opens each page from disk; the page itself says how long it took from the request until it
could be used.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from benchmarks.table import note, show
from maseval.commands import tau2
from maseval.core.report import Report
from maseval.runs import RunFolder

TASKS, SIZES = 278, (1_112, 11_120, 50_040)
TRIALS = 10
OPENED = 5
AT_ONCE = 256
REPORT = "import sys; from maseval.commands import report; report(sys.argv[1], sys.argv[2])"
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
QUIET = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--dump-dom")
READY = re.compile(rb'data-ready="(\d+)"')


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        run = tau2.run(
            domain="library", agent="noisy", trials=TRIALS, output=Path(folder) / "run"
        ).folder
        columns = ("simulations", "CPU s", "MB of memory", "MB", f"opened in s, best of {OPENED}")
        show("One page", columns, [_row(run, n, Path(folder) / str(n)) for n in SIZES])


def _row(played: Path, size: int, folder: Path) -> tuple[object, ...]:
    path, run = folder / "report.html", folder / "run"
    _write_run(run, RunFolder.read(played), size // TASKS)
    program = [sys.executable, "-c", REPORT, str(run), str(path)]
    process = subprocess.Popen(program, env={**os.environ, "MASEVAL_CACHE_DIR": str(folder)})
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"the report of {size} simulations ended with {status}")
    taken, memory = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    if size == SIZES[-1]:
        note(f"report, {size:,} simulations: MB of memory", memory, at_most=300)
    shutil.rmtree(run)
    page = f"{path.stat().st_size / 1e6:.1f}"
    return f"{size:,}", f"{taken:.1f}", f"{memory:.0f}", page, _opened(path)


def _write_run(path: Path, played: RunFolder, trials: int) -> None:
    """Write a run of as many trials of many tasks, made of conversations that were played."""
    reports = list(played.reports())
    tasks = {"library": [f"task {number}" for number in range(TASKS)]}
    config = {**played.config.values, "tasks": tasks, "trials": trials, "data": {}}

    def repeated() -> Iterator[Report]:
        for number in range(TASKS * trials):
            task, trial = divmod(number, trials)
            report = reports[number % len(reports)]
            yield {**report, "task_id": f"task {task}", "repeat_idx": trial}

    every = repeated()
    with RunFolder.open(path, config) as folder:
        while some := list(islice(every, AT_ONCE)):
            folder.append_all(some)


def _opened(page: Path) -> str:
    program = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if program is None:
        return "no Chromium"
    return f"{min(_open(program, page) for _ in range(OPENED)):.2f}"


def _open(program: str, page: Path) -> float:
    command = [program, *QUIET, page.as_uri()]
    dumped = subprocess.run(command, capture_output=True, check=True, timeout=120).stdout
    ready = READY.search(dumped)
    if ready is None:
        raise RuntimeError(f"{program} opened {page}, but the page never became ready")
    return int(ready[1]) / 1000


if __name__ == "__main__":
    main()
