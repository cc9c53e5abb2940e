"""What commands cost before and beside their work: ``python -m benchmarks.start``.

The processor time of whole commands, as a user starts them, at best of a few times: help, the list
of runs, the import of what tau2 needs, the scores of a small file, and what is known of a run that
was shown before.
"""

import os
import resource
import subprocess
import sys
import tempfile

from benchmarks.table import note, show

TIMES = 4
SIMULATIONS = 2_224
DOMAINS = ("--domain", "airline", "--domain", "retail", "--domain", "telecom")
NEEDED = "load_tasks, Tau2Environment, Tau2Evaluator, Tau2Benchmark"


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        play(folder, "small", "--domain", "retail", "--num-tasks", "5")
        run(folder, "-m", "maseval", "tau2", "export", "small", "--output", "small.json")
        play(folder, "large", *DOMAINS, "--trials", "8")
        shown = ("-m", "maseval", "show", "large")
        first = run(folder, *shown)
        wanted = {
            "maseval --help": (("-m", "maseval", "--help"), 0.25),
            "maseval runs": (("-m", "maseval", "runs", "."), 0.3),
            "import tau2": (("-c", f"from maseval.benchmark.tau2 import {NEEDED}"), 0.3),
            "score, 5 simulations": (("-m", "maseval", "score", "small.json"), 0.6),
            f"show, {SIMULATIONS:,} simulations, again": (shown, 1.0),
        }
        rows = []
        for name, (arguments, goal) in wanted.items():
            taken = min(run(folder, *arguments) for _ in range(TIMES))
            note(f"{name}: CPU seconds", taken, at_most=goal)
            rows.append((name, f"{taken:.2f}", f"{goal:.2f}"))
    rows.insert(-1, (f"show, {SIMULATIONS:,} simulations, first", f"{first:.2f}", ""))
    show("Commands, processor time", ("command", "s", "at most"), rows)


def play(folder: str, name: str, *options: str) -> None:
    """Run tasks with an agent that makes mistakes."""
    command = ("tau2", "run", "--agent", "noisy", "--seed", "1", "--output", name)
    run(folder, "-m", "maseval", *command, *options)


def run(folder: str, *arguments: str) -> float:
    """Return the processor time of a Python process and of those that it starts."""
    # As users have it: what Python compiles is kept.
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command, before = [sys.executable, *arguments], _children()
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with status {done.returncode}: {done.stderr}")
    return _children() - before


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
