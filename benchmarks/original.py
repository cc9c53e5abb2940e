"""Verdicts beside those of the original: ``python -m benchmarks.original CHECKOUT``.

``CHECKOUT`` is a folder with tau2-bench v0.2.0 whose requirements are installed here;
``MASEVAL_ORIGINAL`` names it for ``make bench``. It is imported and asked for verdicts by its
function ``evaluate_simulation``, on the same recorded conversations and in the same process as
ours, in turns. Times are the processor's, and medians. Both have scored each conversation before,
unless the figure is of the first pass of a fresh process; a reward that differs is an error. Ours
looks calls up that it knows, so the goals are for verdicts that make every call; it is also timed
where it knows the other conversations of the task.
"""

import argparse
import importlib
import inspect
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.table import note, show
from benchmarks.tau2 import every_call_made, left_out, replayable
from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.scoring.score import score_simulation

VARIABLE = "MASEVAL_ORIGINAL"
"""Names the checkout, where none is given."""

EVERY_CALL = {"airline": 1300.0, "retail": 1000.0, "telecom": 90.0}
FRESH_PROCESS = {"airline": 500.0, "retail": 400.0, "telecom": 20.0}
"""How many times faster a verdict is to be."""

ROWS = (
    "conversations",
    "original, first pass",
    "ours, first pass",
    "original",
    "ours, every call made",
    "ours, others known",
    "ours, itself known",
    "times faster, every call made",
    "goal",
    "times faster, first pass",
    "goal",
)

ROUNDS = 5
FRESH = 3
Record = dict[str, Any]
Verdicts = Callable[[Record], float]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; the exit status is 1 if a verdict differs or something is missing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.original")
    parser.add_argument("checkout", nargs="?", type=Path, help="a folder with tau2-bench v0.2.0")
    parser.add_argument("--conversations", type=int, default=20, help="so many of each domain")
    chosen = parser.parse_args(arguments)
    checkout = chosen.checkout or os.environ.get(VARIABLE)
    if not checkout:
        print(f"left out: no checkout of tau2-bench v0.2.0 is named; set {VARIABLE} to one")
        return 0
    try:
        modules = import_original(Path(checkout))
    except ImportError as error:
        print(f"{checkout} cannot be imported ({error}); install what it requires")
        return 1
    columns = []
    for domain in EVERY_CALL:
        records = replayable(domain)[: chosen.conversations]
        if not records:
            print("no recorded conversations; set MASEVAL_CONTRACT_DIR to the folder with them")
            return 1
        found = compare(domain, records, theirs(domain, *modules))
        made, fresh = found.with_every_call, found.in_a_fresh_process
        note(f"verdict against the original, {domain}", made, at_least=EVERY_CALL[domain])
        note(f"first verdict against it, {domain}", fresh, at_least=FRESH_PROCESS[domain])
        goals = f"{EVERY_CALL[domain]:,.0f}", f"{FRESH_PROCESS[domain]:,.0f}"
        times = [f"{each:.2f}" for each in found[2:]]
        columns.append(
            (str(found.conversations), *times, f"{made:,.0f}", goals[0], f"{fresh:,.0f}", goals[1])
        )
    show(
        "A verdict, here and there: medians, in milliseconds",
        ("", *EVERY_CALL),
        zip(ROWS, *columns, strict=True),
    )
    return 0


def import_original(checkout: Path) -> tuple[Any, Any, Any]:
    """Import the evaluator, the simulations and the tasks of a checkout."""
    os.environ.setdefault("TAU2_DATA_DIR", str(checkout / "data"))
    sys.path[:0] = [str(checkout / "src"), str(checkout)]
    names = ("evaluator.evaluator", "data_model.simulation", "data_model.tasks")
    evaluator, simulation, tasks = (importlib.import_module(f"tau2.{name}") for name in names)
    return evaluator, simulation, tasks


def theirs(domain: str, evaluator: Any, simulation: Any, tasks: Any) -> Verdicts:
    """Return the original's way to the reward of a record."""
    evaluate = evaluator.evaluate_simulation
    kind = inspect.signature(evaluate, eval_str=True).parameters["evaluation_type"].annotation

    def reward(record: Record) -> float:
        verdict = evaluate(
            simulation=simulation.SimulationRun.model_validate(record["simulation"]),
            task=tasks.Task.model_validate(load_raw_task(domain, record["task_id"])),
            evaluation_type=kind("all"),
            solo_mode=record["solo"],
            domain=domain,
        )
        return float(verdict.reward)

    return reward


class Times(NamedTuple):
    """The medians of a domain's milliseconds for a verdict, theirs and ours."""

    domain: str
    conversations: int
    first_theirs: float
    first: float
    theirs: float
    made: float
    others: float
    known: float

    @property
    def in_a_fresh_process(self) -> float:
        return self.first_theirs / self.first

    @property
    def with_every_call(self) -> float:
        return self.theirs / self.made


def compare(domain: str, records: list[Record], original: Verdicts) -> Times:
    """Return the times of a verdict there and here; both sides take turns."""

    def ours(record: Record) -> float:
        verdict = score_simulation(record["simulation"], domain=domain, solo=record["solo"])
        return float(verdict["reward"])

    def ours_every_call(record: Record) -> float:
        with every_call_made():
            return ours(record)

    first_theirs, first = in_fresh_processes(records, original, ours)
    _, expected = timed(original, records)
    _, rewards = timed(ours, records)
    if rewards != expected:
        wrong = [r["id"] for r, a, b in zip(records, rewards, expected, strict=True) if a != b]
        raise SystemExit(f"{domain}: the rewards of {len(wrong)} differ: {', '.join(wrong)}")
    sides = (original, ours_every_call, ours)
    rounds = [[timed(side, records)[0] for side in sides] for _ in range(ROUNDS)]
    theirs, made, known = (median(each) for each in zip(*rounds, strict=True))
    everything = replayable(domain)
    tasks = [(each["task_id"], each["solo"]) for each in everything]
    others = left_out(ours, zip(tasks, everything, strict=True)) * 1e3
    first_theirs, first, theirs, made, known = (
        seconds / len(records) * 1e3 for seconds in (first_theirs, first, theirs, made, known)
    )
    return Times(domain, len(records), first_theirs, first, theirs, made, others, known)


def in_fresh_processes(records: list[Record], *sides: Verdicts) -> list[float]:
    """Return the median time of each side for all records, in processes that have judged none."""
    fork = multiprocessing.get_context("fork")
    found = []
    for side in sides:
        times = []
        for _ in range(FRESH):
            mine, child = fork.Pipe(duplex=False)

            def measure(pipe: Any = child, side: Verdicts = side) -> None:
                pipe.send(timed(side, records)[0])

            process = fork.Process(target=measure)
            process.start()
            child.close()
            times.append(mine.recv())
            process.join()
        found.append(median(times))
    return found


def timed(work: Verdicts, records: list[Record]) -> tuple[float, list[float]]:
    """Return the processor time for all records, and what came out."""
    began = time.process_time()
    found = [work(record) for record in records]
    return time.process_time() - began, found


if __name__ == "__main__":
    sys.exit(main())
