"""All measurements, as one table with goals: ``python -m benchmarks``, or ``make bench``.

Each benchmark runs in a process of its own, prints its tables and notes the figures that have a
goal (``table.note``). At the end all figures are shown together: what was measured, the goal and
whether it is met, and how many times that of before. Before are the last entries of
``benchmarks/history.jsonl`` from the same machine, to which this run is added, so that a slower
commit is seen. Names of benchmarks choose some of them. Whatever has not ended after the minutes of
``--minutes`` is stopped, and said to be so.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.table import FIGURES, Figure, show

BENCHES = (
    *("scoring", "compliance", "trust", "tau2_world", "engine", "banking", "statistics"),
    *("sequential", "storage", "agents", "servers", "telemetry", "report_page", "search"),
    *("frames", "view", "start", "cores", "tau2_run", "gym", "judging", "original"),
)
HISTORY = Path(__file__).with_name("history.jsonl")
MINUTES = 15.0
# Before is the median of so many runs; a figure is slower if it is worse by more than noise is.
BEFORE = 5
NOISE = 1.2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks; the exit status is 1 if one of them fails or is stopped."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure speed.")
    names = ", ".join(BENCHES)
    parser.add_argument("names", nargs="*", help=f"which, instead of all: {names}")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="stop after so many")
    parser.add_argument("--history", type=Path, default=HISTORY, help="where figures are kept")
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.names) - set(BENCHES):
        parser.error(f"there is no {', '.join(sorted(unknown))}; choose from {names}")
    began, figures, failed = time.monotonic(), list[Figure](), []
    for name in chosen.names or BENCHES:
        start = time.monotonic()
        found, trouble = measure(name, chosen.minutes * 60 - (start - began))
        print(f"{name} took {time.monotonic() - start:.0f} s.", flush=True)
        figures += found
        failed += [f"{name}: {trouble}"] if trouble else []
    if not chosen.names:
        taken = (time.monotonic() - began) / 60
        figures.append(Figure("all benchmarks, minutes", taken, MINUTES, at_least=False))
    earlier = read_history(chosen.history, machine())
    show("All figures", ("figure", "measured", "goal", "", "times before"), rows(figures, earlier))
    if figures:
        keep(chosen.history, figures)
    print(*failed, sep="\n")
    return 1 if failed else 0


def measure(name: str, left: float) -> tuple[list[Figure], str | None]:
    """Run one benchmark; return its figures, and what kept it from measuring everything."""
    if left <= 0:
        return [], "no time was left for it"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "figures.jsonl")
        command = [sys.executable, "-m", f"benchmarks.{name}"]
        environment = {**os.environ, FIGURES: str(path)}
        running = subprocess.Popen(command, env=environment, start_new_session=True)
        try:
            status = running.wait(left)
            trouble = f"ended with status {status}" if status else None
        except subprocess.TimeoutExpired:
            trouble = "stopped, as the time was over"
        finally:
            if running.poll() is None:  # with the servers that it may have started
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()
        return (read_figures(path) if path.exists() else []), trouble


def read_figures(path: Path) -> list[Figure]:
    """Return what a benchmark has noted."""
    return [Figure(*json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def rows(
    figures: Iterable[Figure], earlier: Sequence[Mapping[str, float]]
) -> list[tuple[str, str, str, str, str]]:
    """Return the table: each figure, its goal, whether that is met, and the ratio to before."""
    table = []
    for figure in figures:
        known = [entry[figure.name] for entry in earlier if figure.name in entry][-BEFORE:]
        ratio = figure.value / median(known) if known and median(known) else None
        table.append((figure.name, f"{figure.value:.3g}", goal(figure), *verdicts(figure, ratio)))
    return table


def goal(figure: Figure) -> str:
    """Return a figure's goal as it is read."""
    if figure.goal is None:
        return ""
    return f"{'at least' if figure.at_least else 'at most'} {figure.goal:.3g}"


def verdicts(figure: Figure, ratio: float | None) -> tuple[str, str]:
    """Say whether a figure meets its goal, and whether it is worse than before."""
    met = "" if figure.goal is None else "met" if figure.meets_its_goal else "MISSED"
    if ratio is None:
        return met, ""
    worse = 1 / max(ratio, 1e-9) if figure.at_least else ratio
    return met, f"{ratio:.2f}{' SLOWER' if worse > NOISE else ''}"


def machine() -> str:
    """Return what tells this kind of machine from others; its name is nobody's business."""
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def read_history(path: Path, of_machine: str) -> list[dict[str, float]]:
    """Return the figures of earlier runs on such a machine; a line that is torn is passed over."""
    if not path.exists():
        return []
    entries = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and entry.get("machine") == of_machine:
            entries.append(dict(entry["figures"]))
    return entries


def keep(path: Path, figures: Iterable[Figure]) -> None:
    """Add this run to the history, in one write."""
    entry: dict[str, Any] = {
        "commit": commit(),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": machine(),
        "figures": {figure.name: figure.value for figure in figures},
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def commit() -> str:
    """Return the commit that was measured, with a + if there were changes beside it."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    found = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=Path(__file__).parent
    )
    return found.stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
