"""What all cores of this machine gain: ``python -m benchmarks.cores``.

A results file of 200 MB is scored, and a run of scripted agents is made, in one process and in one
for each core. The gain is the ratio of both times by the clock; other programs lower it. The bound
is the ratio that the processor time of all processes allows, if no core is ever idle. Both include
the start of the command.
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN
from typing import Any, NamedTuple

from benchmarks.table import note, show
from benchmarks.tau2 import replayable
from benchmarks.tau2_run import processor_seconds

SIZE = 200_000_000
TRIALS = 36
GOAL = 1.7


class Taken(NamedTuple):
    """The seconds that a command took: by the clock, and of the processor in all its processes."""

    clock: float
    processor: float


def main() -> int:
    """Print a table; the exit status is 1 if what is to be measured is not there."""
    if not (recorded := replayable("retail")):
        print("no recorded conversations; set MASEVAL_CONTRACT_DIR to the folder that holds them")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "results.json")
        write_file(file, recorded)
        run = f"tau2 run --domain telecom --agent gold --trials {TRIALS} --output {folder}/"
        rows = [
            gain("scoring 200 MB", f"score {file} --engine threads", f"score {file}"),
            gain("a scripted run", f"{run}alone --engine threads", f"{run}together"),
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
    if not ended.stdout:  # the status of a score without recorded verdicts is 1
        raise RuntimeError(f"maseval {command} ended with {ended.returncode}: {ended.stderr!r}")
    return Taken(time.perf_counter() - began, processor_seconds(RUSAGE_CHILDREN) - before)


def write_file(path: Path, recorded: list[dict[str, Any]]) -> None:
    """Write recorded conversations as one results file, again and again in other words."""
    info = {"agent_info": {"llm": "a-model"}, "user_info": {"llm": "another"}}
    info |= {"environment_info": {"domain_name": "retail"}}
    with path.open("w", encoding="utf-8") as file:
        file.write(f'{{"info": {json.dumps(info)}, "tasks": [], "simulations": [')
        for number, simulation in enumerate(in_other_words(recorded)):
            file.write(", " * bool(number) + json.dumps(simulation))
            if file.tell() > SIZE:
                break
        file.write("]}")


def in_other_words(recorded: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield trials of the same tasks with the same calls, in which other words are said."""
    for trial in itertools.count():
        for record in recorded:
            simulation = record["simulation"]
            messages = [spoken(message, trial) for message in simulation["messages"]]
            names = {"id": f"{simulation['id']}-{trial}", "trial": trial}
            yield {**simulation, **names, "messages": messages}


def spoken(message: dict[str, Any], trial: int) -> dict[str, Any]:
    """A message in which every other word is another one; what tools answer stays as it is."""
    if message["role"] == "tool" or not message.get("content"):
        return message
    words = message["content"].split()
    words[::2] = [f"{word}{trial}" if word.isalpha() else word for word in words[::2]]
    return {**message, "content": " ".join(words)}


if __name__ == "__main__":
    sys.exit(main())
