"""What the viewer costs in a real Chromium: ``.venv-browser/bin/python -m benchmarks.view_page``.

A run of 20,016 simulations and a folder of 100 runs are served by `maseval view` in a process of
its own, whose memory is read at the end. The page says how long it took until it could be used; one
thing is opened and the table scrolled to its end. Seconds are given as they pass and, since other
work on the machine only adds to those, as time of the processor that the page took. Needs the
environment of the browser tests (`make test-browser` sets it up) and a Chromium.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.report_page import CHROMIUMS
from benchmarks.table import show
from maseval.commands import tau2
from maseval.core.report import Report
from maseval.runs import RunFolder
from maseval.stats.summary import summarise
from maseval.stats.trials import outcomes_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

TASKS, TRIALS = 278, 72
RUNS = 100
PATIENCE = 600_000
COLUMNS = (
    *("", "first usable in s", "again in s (CPU)", "one opened in s (CPU)"),
    *("scrolled in s of CPU", "frame in ms", "server MB"),
)
ADDRESS = re.compile(r"http://\S+?(?=[;\s])")

SCROLLED = """async () => {
  const times = [];
  for (let at = 0; at < document.body.scrollHeight; at += 600) {
    const began = performance.now();
    scrollTo(0, at);
    await new Promise(requestAnimationFrame);
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  return [times[Math.floor(times.length / 2)], times[Math.floor(times.length * 0.95)]];
}"""


def main() -> None:
    """Print the table."""
    if find_spec("playwright") is None:
        print("The viewer is measured in the browser tests' environment: make test-browser")
        return
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        played = tau2.run(domain="library", agent="noisy", trials=2, output=root / "run").folder
        reports = list(RunFolder.read(played).reports())
        large, many = root / "large", root / "many"
        write_run(large / "run", reports, TASKS, TRIALS)
        for number in range(RUNS):
            write_run(many / f"run-{number:03}", reports, 12, 2, scored=True)
        show("The viewer", COLUMNS, [_large(large), _many(many)])


def write_run(
    path: Path, played: list[Report], tasks: int, trials: int, *, scored: bool = False
) -> None:
    """A run of any size, made of conversations that were played."""
    with RunFolder.open(path, config_of(tasks, trials)) as folder:
        for some in batched(reports_of(played, tasks, trials)):
            folder.append_all(some)
        if scored:  # as every run that `maseval run` ends
            summary = summarise(outcomes_of(folder.reports())).overall
            folder.note_result(summary.pass_1, summary.done, 0.0, 0)


def config_of(tasks: int, trials: int) -> dict[str, object]:
    """The configuration of a run of so many tasks and trials."""
    return {"tasks": {"library": [f"task {at}" for at in range(tasks)]}, "trials": trials}


def reports_of(played: list[Report], tasks: int, trials: int) -> Iterator[Report]:
    """The reports of a run, made of those that were played."""
    for number in range(tasks * trials):
        task, trial = divmod(number, trials)
        report = played[number % len(played)]
        yield {**report, "task_id": f"task {task}", "repeat_idx": trial}


def batched(reports: Iterator[Report]) -> Iterator[list[Report]]:
    """So many at a time that the disk is waited for rarely."""
    while some := list(islice(reports, 256)):
        yield some


def _large(root: Path) -> tuple[object, ...]:
    with served(root) as (address, memory), _page() as page:
        found = _measured(page, f"{address}run/run", ".cell:visible", "#panel[data-ready]")
        return f"{TASKS * TRIALS:,} simulations", *found, f"{memory() / 1e6:.0f}"


def _many(root: Path) -> tuple[object, ...]:
    with served(root) as (address, memory), _page() as page:
        found = _measured(page, address, "tbody th a", "table.tasks .cell")
        return f"{RUNS} runs", *found, f"{memory() / 1e6:.0f}"


def _measured(page: "Page", address: str, link: str, opened: str) -> list[str]:
    """The page twice, scrolled to its end, and the last link in it opened."""
    first = _usable(page, address)
    # The page before is gone, and its process with it.
    again, after = _usable(page, address), _cpu(page)
    usual, slow = page.evaluate(SCROLLED)
    scrolled = _cpu(page)
    since = time.perf_counter()
    page.locator(link).last.click()
    page.wait_for_selector(opened)
    taken, end = time.perf_counter() - since, _cpu(page)
    return [
        f"{first:.2f}",
        f"{again:.2f} ({after:.2f})",
        f"{taken:.2f} ({end - scrolled:.2f})",
        f"{scrolled - after:.2f}",
        f"{usual:.0f} (95%: {slow:.0f})",
    ]


def _cpu(page: "Page") -> float:
    """Seconds of the processor that the open page has taken so far."""
    browser = page.context.browser
    assert browser is not None
    session = browser.new_browser_cdp_session()
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return sum(float(each["cpuTime"]) for each in found if each["type"] == "renderer")


def _usable(page: "Page", address: str) -> float:
    """Seconds from the request until the page can be used, as it says itself."""
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("html[data-ready]", state="attached")
    return float(page.evaluate("Number(document.documentElement.dataset.ready)")) / 1000


@contextmanager
def _page() -> "Iterator[Page]":
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    with sync_playwright() as playwright:
        quiet = ["--no-sandbox", "--disable-gpu", "--no-first-run"]
        browser = playwright.chromium.launch(executable_path=program, args=quiet)
        page = browser.new_page(viewport={"width": 1300, "height": 850})
        page.set_default_timeout(PATIENCE)
        yield page
        browser.close()


@contextmanager
def served(root: Path) -> Iterator[tuple[str, "Memory"]]:
    command = [sys.executable, "-m", "maseval.cli", "view", str(root), "--port", "0"]
    with subprocess.Popen([*command, "--no-browser"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        found = ADDRESS.search(server.stdout.readline())
        assert found is not None
        yield found[0], Memory(server.pid)
        server.terminate()


class Memory:
    """The most memory that a process has used, in bytes; and how much of the processor's time."""

    def __init__(self, process: int) -> None:
        self._status = Path(f"/proc/{process}/status")

    def processor(self) -> float:
        """Return the seconds that the process has worked so far."""
        times = self._status.with_name("stat").read_text().rpartition(")")[2].split()[11:13]
        return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")

    def __call__(self) -> int:
        found = re.search(r"VmHWM:\s+(\d+) kB", self._status.read_text())
        return int(found[1]) * 1000 if found else 0


if __name__ == "__main__":
    main()
