"""Runs for the tests of frames; none needs data or a key."""

from functools import partial
from pathlib import Path
from typing import Any

from examples.booking import BookingBenchmark, load_tasks
from maseval.app.results.run_summary import RunResult
from maseval.commands import run, tau2

library_run = partial(tau2.run, domain="library", agent="noisy", agent_args={"error_rate": 0.3})

TEAM = Path(__file__).parents[2] / "examples" / "systems" / "team.py"


def team_run(output: Path, **options: Any) -> RunResult:
    """One task that a team of three fails, as its writer pays the wrong fine."""
    chosen = {"task_id": ["owes_too_much_for_a_hold"], "rehearse": "noisy", "seed": 3}
    return tau2.run(domain="library", agent=f"{TEAM}:agent", output=output, **chosen | options)


def booking_run(output: Path) -> Path:
    """A run of a benchmark that is not tau2."""
    return run(benchmark=BookingBenchmark, tasks=load_tasks(), output=output).folder
