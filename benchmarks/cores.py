"""What all cores of this machine gain: ``python -m benchmarks.cores``.

A run of scripted agents is made in one process, and in one for each core. The gain is the ratio of
both times by the clock; other programs lower it. The bound is the ratio that the processor time of
all processes allows, if no core is ever idle. Both include the start of the command.
"""

import os
import subprocess
import sys
import tempfile
import time
from resource import RUSAGE_CHILDREN
from typing import NamedTuple

from benchmarks.table import note, show
from benchmarks.tau2_run import processor_seconds

TRIALS = 36
GOAL = 1.7


class Taken(NamedTuple):
    """The seconds that a command took: by the clock, and of the processor in all its processes."""

    clock: float
    processor: float


def main() -> int:
    """Print a table."""
    with tempfile.TemporaryDirectory() as folder:
        run = f"tau2 run --domain telecom --agent gold --trials {TRIALS} --output {folder}/"
        rows = [
            gain(
                "a scripted run",
                f"{run}alone --engine threads",
                f"{run}together --engine processes -j 64",
            )
        ]
    show(
        f"All of {os.cpu_count()} cores",
        ("work", "one process s", "all cores s", "gain (at least 1.7)", "bound"),
        rows,
    )
    return 0


def gain(what: str, in_one: str, in_all: str) -> tuple[object, ...]:
    """A row of the table, from a command for one process and one for all cores."""
    alone, together = taken(in_one), taken(in_all)
    ratio = alone.clock / together.clock
    bound = alone.processor / (together.processor / (os.cpu_count() or 1))
    note(f"gain of all cores, {what}", ratio, at_least=GOAL)
    note(f"gain that processor time allows, {what}", bound, at_least=GOAL)
    return what, f"{alone.clock:.1f}", f"{together.clock:.1f}", f"{ratio:.2f}", f"{bound:.2f}"


def taken(command: str) -> Taken:
    """Run a command of maseval, and return what it took."""
    before, began = processor_seconds(RUSAGE_CHILDREN), time.perf_counter()
    ended = subprocess.run([sys.executable, "-m", "maseval", *command.split()], capture_output=True)
    if not ended.stdout:
        raise RuntimeError(f"maseval {command} ended with {ended.returncode}: {ended.stderr!r}")
    return Taken(time.perf_counter() - began, processor_seconds(RUSAGE_CHILDREN) - before)


if __name__ == "__main__":
    sys.exit(main())
