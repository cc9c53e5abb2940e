"""What it costs to write the HTML report and to open it: ``python -m benchmarks.report_page``.

The library's tasks are played in several trials, which are repeated as further ones up to the size
of a large run. A headless Chromium, where there is one, opens each page from disk; the page itself
says how long it took from the request until it could be used.
"""

import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from benchmarks.table import show
from maseval.commands import tau2
from maseval.core.report import Report
from maseval.report import write_report
from maseval.runs import RunFolder

SIZES = (278, 2_780, 11_120)
TRIALS = 10
OPENED = 5
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
QUIET = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--dump-dom")
READY = re.compile(rb'data-ready="(\d+)"')


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        run = tau2.run(
            domain="library", agent="noisy", trials=TRIALS, output=Path(folder) / "run"
        ).folder
        played = list(RunFolder.read(run).reports())
        columns = ("simulations", "written in s of CPU", "MB", f"opened in s, best of {OPENED}")
        show("One page", columns, [_row(played, n, folder) for n in SIZES])


def _row(played: list[Report], size: int, folder: str) -> tuple[object, ...]:
    path = Path(folder) / "report.html"
    reports = list(_repeated(played, size))
    began = time.process_time()
    write_report(reports, path)
    taken = time.process_time() - began
    return f"{size:,}", f"{taken:.2f}", f"{path.stat().st_size / 1e6:.1f}", _opened(path)


def _repeated(played: list[Report], size: int) -> Iterator[Report]:
    for number, report in enumerate(islice(cycle(played), size)):
        yield {**report, "repeat_idx": report["repeat_idx"] + TRIALS * (number // len(played))}


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
