"""Verdicts beside those of the original: ``python -m benchmarks.original CHECKOUT``.

``CHECKOUT`` is a folder with tau2-bench v0.2.0 whose requirements are installed here. It is
imported and asked for verdicts by its function ``evaluate_simulation``, on the same recorded
conversations and in the same process as ours. Times are the processor's. Both have scored each
conversation before, unless the figure is of the first pass; a reward that differs is an error. Ours
looks calls up that it knows, so it is also timed where it makes every call, and where it knows only
the other conversations of the task.
"""

import argparse
import importlib
import inspect
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.table import note, show
from benchmarks.tau2 import every_call_made, left_out, replayable
from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.scoring.score import score_simulation

GOALS = {"airline": 1300.0, "retail": 700.0, "telecom": 60.0}
Record = dict[str, Any]
Verdicts = Callable[[Record], float]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; the exit status is 1 if a verdict differs or something is missing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.original")
    parser.add_argument("checkout", type=Path, help="a folder with tau2-bench v0.2.0")
    parser.add_argument("--conversations", type=int, default=20, help="so many of each domain")
    chosen = parser.parse_args(arguments)
    try:
        modules = import_original(chosen.checkout)
    except ImportError as error:
        print(f"{chosen.checkout} cannot be imported ({error}); install what it requires")
        return 1
    rows = []
    for domain, least in GOALS.items():
        records = replayable(domain)[: chosen.conversations]
        if not records:
            print("no recorded conversations; set MASEVAL_CONTRACT_DIR to the folder with them")
            return 1
        row = compare(domain, records, theirs(domain, *modules))
        note(f"verdict against the original, {domain}", row[-1], at_least=least)
        rows.append((*row[:-1], f"{row[-1]:,.0f}", f"{least:,.0f}"))
    known = ("first, ms", "every call made", "others known", "itself known", "times", "goal")
    show("A verdict, here and there", ("domain", "conversations", "original, ms", *known), rows)
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


def compare(domain: str, records: list[Record], original: Verdicts) -> tuple[Any, ...]:
    """Return the milliseconds of a verdict there and here, and how many times faster it is here."""

    def ours(record: Record) -> float:
        verdict = score_simulation(record["simulation"], domain=domain, solo=record["solo"])
        return float(verdict["reward"])

    first, rewards = timed(ours, records)
    original(records[0])
    slow, expected = timed(original, records)
    if rewards != expected:
        wrong = [r["id"] for r, a, b in zip(records, rewards, expected, strict=True) if a != b]
        raise SystemExit(f"{domain}: the rewards of {len(wrong)} differ: {', '.join(wrong)}")
    with every_call_made():
        made = min(timed(ours, records)[0] for _ in range(5))
    everything = replayable(domain)
    tasks = [(each["task_id"], each["solo"]) for each in everything]
    others = left_out(ours, zip(tasks, everything, strict=True)) * len(records)
    fast = min(timed(ours, records)[0] for _ in range(5))
    each = [f"{seconds / len(records) * 1e3:.2f}" for seconds in (slow, first, made, others, fast)]
    return domain, len(records), *each, slow / fast


def timed(work: Verdicts, records: list[Record]) -> tuple[float, list[float]]:
    """Return the processor time for all records, and what came out."""
    began = time.process_time()
    found = [work(record) for record in records]
    return time.process_time() - began, found


if __name__ == "__main__":
    sys.exit(main())
