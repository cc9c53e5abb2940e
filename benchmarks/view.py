"""What the viewer's server takes: ``python -m benchmarks.view``.

A run of 20,016 simulations and a folder of 200 runs are served by `maseval view` in a process of
its own. The first start reads the whole log, later ones its index. The browser's side is measured
by ``benchmarks.view_page``.
"""

import json
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlsplit

from benchmarks.table import show
from benchmarks.view_page import RUNS, TASKS, TRIALS, served, write_run
from maseval.commands import tau2
from maseval.runs import RunFolder
from maseval.view.saved_files import INDEX_FILE

LARGE = f"{TASKS * TRIALS:,} simulations"
INDEX = "/api/run/index?run=run"


def main() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        played = tau2.run(domain="library", agent="noisy", trials=2, output=root / "run").folder
        reports = list(RunFolder.read(played).reports())
        write_run(root / "large" / "run", reports, TASKS, TRIALS)
        for number in range(RUNS):
            write_run(root / "many" / f"run-{number:03}", reports, 12, 2)
        log = (root / "large" / "run" / "log.jsonl").stat().st_size
        columns = ("seconds until", "index", "again", "packet", "live", "server MB")
        starts = [_large(root / "large", start) for start in ("first start", "index kept")]
        kept = (root / "large" / "run" / INDEX_FILE).stat().st_size
        show(f"{LARGE}: log of {log / 1e6:.0f} MB, index of {kept / 1e6:.1f} MB", columns, starts)
        show(f"{RUNS} runs", ("", "list in s", "again", "server MB"), [_many(root / "many")])


def _large(root: Path, start: str) -> tuple[object, ...]:
    with served(root) as (address, memory):
        first, index = _get(address, INDEX)
        again, _ = _get(address, INDEX)
        task = json.loads(index)["tasks"][TASKS // 2]
        asked = f"domain={quote(task['domain'])}&task={quote(task['id'])}&trial=0"
        packet, _ = _get(address, f"/api/run/packet?run=run&{asked}")
        live, _ = _get(address, "/api/run/live?run=run")
        times = (f"{each:.3f}" for each in (first, again, packet, live))
        return start, *times, f"{memory() / 1e6:.0f}"


def _many(root: Path) -> tuple[object, ...]:
    with served(root) as (address, memory):
        first, _ = _get(address, "/api/runs")
        again, _ = _get(address, "/api/runs")
        return "", f"{first:.3f}", f"{again:.3f}", f"{memory() / 1e6:.0f}"


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
