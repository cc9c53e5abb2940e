"""What the viewer's server takes: ``python -m benchmarks.view``.

Runs of 1,112 and of 20,016 simulations and a folder of 100 runs are served by `maseval view` in a
process of its own: every start reads the whole log. Before that the large run and a small one grow
while somebody watches, which must not take longer for the large one. At the end four runs are
exported as a site, and again. The browser's side is measured by ``benchmarks.view_page``.
"""

import json
import os
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from urllib.parse import quote, urlsplit

from benchmarks.table import note, show
from benchmarks.view_page import (
    RUNS,
    TASKS,
    TRIALS,
    batched,
    config_of,
    reports_of,
    served,
    write_run,
)
from maseval.commands import export_site, tau2
from maseval.core.report import Report
from maseval.runs import RunFolder
from maseval.view.app import NewsOfRun
from maseval.view.library import Library

LARGE = f"{TASKS * TRIALS:,} simulations"
# All tasks of tau2 in four trials, as they are published.
USUAL_TRIALS = 4
USUAL = f"{TASKS * USUAL_TRIALS:,} simulations"
STARTS = ("first start", "second start")
INDEX = "/api/run/index?run=run"
SMALL = 10, 50
SITE_RUNS, SITE_TRIALS = 4, 8
# So many simulations finish while a run is watched.
WATCHED = 100


def main() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        played = tau2.run(domain="library", agent="noisy", trials=2, output=root / "run").folder
        reports = list(RunFolder.read(played).reports())
        small = _grow(root / "small" / "run", reports, *SMALL)
        large = _grow(root / "large" / "run", reports, TASKS, TRIALS)
        note(f"viewer, {LARGE}: live update against that of 500", large[2] / small[2], at_most=2)
        note(f"viewer, {LARGE}: bytes of a live update", large[3], at_most=2000)
        columns = ("simulations", "index in CPU s", "update in CPU ms", "update in bytes")
        rows = [(f"{n:,}", f"{i:.2f}", f"{u:.2f}", f"{b:.0f}") for n, i, u, b in (small, large)]
        show(f"A run that grows by {WATCHED} simulations", columns, rows)

        columns = ("seconds until", "index", "again", "packet", "live", "server MB")
        # Half of what it was when the page got 6.7 MB; and no more than nobody notices.
        goals = {LARGE: (5.4, 1.0), USUAL: (1.0, 0.1)}
        write_run(root / "usual" / "run", reports, TASKS, USUAL_TRIALS)
        with _own_cache(root / "cache"):
            for folder, size in (("usual", USUAL), ("large", LARGE)):
                starts = [_opened(root / folder, size, start, *goals[size]) for start in STARTS]
                log = root / folder / "run" / "log.jsonl"
                show(f"{size}: log of {log.stat().st_size / 1e6:.0f} MB", columns, starts)
        lists = []
        for kind, goal in (("ended", 0.6), ("without a written score", 1.2)):
            for number in range(RUNS):
                folder = root / kind / f"run-{number:03}"
                write_run(folder, reports, 12, 2, scored=kind == "ended")
            lists.append(_many(root / kind, kind, goal))
        show(f"{RUNS} runs", ("", "list in s", "again", "server MB"), lists)
        columns = ("export", "simulations", "CPU ms each", "bytes each", "files")
        with _own_cache(root / "other cache"):
            show(f"A site of {SITE_RUNS} runs", columns, _site(root / "site"))


def _site(root: Path) -> list[tuple[object, ...]]:
    """Export some runs, and again when everything is known about them."""
    for number in range(SITE_RUNS):
        options = {"agent": "noisy", "agent_args": {"error_rate": 0.3}, "seed": number}
        tau2.run(domain="library", trials=SITE_TRIALS, output=root / f"run-{number}", **options)
    rows = []
    for start in ("first", "again"):
        before = _processor()
        site = export_site(root.parent / "pages", root)
        taken = 1000 * (_processor() - before) / site.simulations
        files = [each for each in (site.folder / "data").rglob("*") if each.is_file()]
        size = sum(each.stat().st_size for each in files) / site.simulations
        rows.append((start, f"{site.simulations:,}", f"{taken:.1f}", f"{size:,.0f}", len(files)))
        note(f"site, {start}: CPU ms a simulation", taken)
    # Two thirds of what it was when each task had a file of its own: 957.
    note("site: bytes a simulation", size, at_most=640)
    return rows


def _processor() -> float:
    """Return the processor's time of this process and of those that it waited for."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def _grow(path: Path, played: list[Report], tasks: int, trials: int) -> tuple[int, float, ...]:
    """Have a run finish while it is watched; what its index and then each simulation costs."""
    reports, planned = reports_of(played, tasks, trials), tasks * trials
    with RunFolder.open(path, config_of(tasks, trials)) as folder, _own_cache(path / "cache"):
        for some in batched(islice(reports, planned - WATCHED)):
            folder.append_all(some)
        library = Library(path.parent)
        library.examine = lambda run: None  # why simulations failed is another question
        began = time.process_time()
        news = NewsOfRun("run", None)
        told = "".join(news.of(library))
        opened, spent, told = time.process_time() - began, 0.0, ""
        for report in reports:
            folder.append(report)
            began = time.process_time()
            told += "".join(news.of(library))
            spent += time.process_time() - began
    assert told.count("event: simulation") == WATCHED
    return planned, opened, 1000 * spent / WATCHED, len(told) / WATCHED


@contextmanager
def _own_cache(folder: Path) -> Iterator[None]:
    """Let nothing be known that was found out before."""
    before = os.environ.get("MASEVAL_CACHE_DIR")
    os.environ["MASEVAL_CACHE_DIR"] = str(folder)
    try:
        yield
    finally:
        os.environ.pop("MASEVAL_CACHE_DIR")
        if before is not None:
            os.environ["MASEVAL_CACHE_DIR"] = before


def _opened(root: Path, size: str, start: str, seconds: float, mb: float) -> tuple[object, ...]:
    """Open a run as a page does, which is to take no more than so much of the processor."""
    with served(root) as (address, memory):
        before = memory.processor()
        first, index = _get(address, INDEX)
        took = memory.processor() - before
        note(f"viewer, {size}, {start}: CPU seconds until the index", took, at_most=seconds)
        note(f"viewer, {size}, {start}: MB of the index", len(index) / 1e6, at_most=mb)
        again, _ = _get(address, INDEX)
        task = json.loads(index)["tasks"][TASKS // 2]
        asked = f"domain={quote(task['domain'])}&task={quote(task['id'])}&trial=0"
        packet, _ = _get(address, f"/api/run/packet?run=run&{asked}")
        live, _ = _get(address, "/api/run/live?run=run")
        times = (f"{each:.3f}" for each in (first, again, packet, live))
        return f"{start} ({took:.2f} s of CPU)", *times, f"{memory() / 1e6:.0f}"


def _many(root: Path, kind: str, goal: float) -> tuple[object, ...]:
    """List runs: those that a command ended say their score, the logs of others are read."""
    with served(root) as (address, memory):
        before = memory.processor()
        first, found = _get(address, "/api/runs")
        took = memory.processor() - before
        note(f"viewer, list of {RUNS} runs {kind}: CPU seconds", took, at_most=goal)
        note(f"viewer, list of {RUNS} runs {kind}: MB", len(found) / 1e6, at_most=1)
        again, _ = _get(address, "/api/runs")
        return (
            f"{kind} ({took:.2f} s of CPU)",
            f"{first:.3f}",
            f"{again:.3f}",
            f"{memory() / 1e6:.0f}",
        )


def _get(address: str, path: str) -> tuple[float, bytes]:
    """How long an answer takes, and the answer."""
    place = urlsplit(address)
    connection = HTTPConnection(place.hostname or "", place.port, timeout=600)
    began = time.perf_counter()
    connection.request("GET", path)
    response = connection.getresponse()
    body = response.read()
    taken = time.perf_counter() - began
    assert response.status == 200, body
    connection.close()
    return taken, body


if __name__ == "__main__":
    main()
