"""What it costs to write the HTML report: ``python -m benchmarks.report_page``.

The library's tasks are played once; their simulations are repeated as further trials up to the
size of a large run. How long the page takes to open is measured in a browser, not here.
"""

import tempfile
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from benchmarks.table import seconds, show
from maseval.commands import tau2
from maseval.core.report import Report
from maseval.report import write_report
from maseval.runs import RunFolder

SIZES = (278, 2_780, 11_120)


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        run = tau2.run(domain="library", agent="noisy", output=Path(folder) / "run").folder
        played = list(RunFolder.read(run).reports())
        show("One page", ("simulations", "s", "MB"), [_row(played, n, folder) for n in SIZES])


def _row(played: list[Report], size: int, folder: str) -> tuple[object, ...]:
    path = Path(folder) / "report.html"
    reports = list(_repeated(played, size))
    taken = seconds(lambda: write_report(reports, path))
    return f"{size:,}", f"{taken:.2f}", f"{path.stat().st_size / 1e6:.1f}"


def _repeated(played: list[Report], size: int) -> Iterator[Report]:
    for number, report in enumerate(islice(cycle(played), size)):
        yield {**report, "repeat_idx": number // len(played)}


if __name__ == "__main__":
    main()
