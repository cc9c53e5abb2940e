"""Runs of an agent that makes mistakes."""

from pathlib import Path
from typing import Any

from maseval.app.results.results import RunResult
from maseval.commands import tau2


def noisy_run(output: Path, error_rate: float, **more: Any) -> RunResult:
    """Run the tasks of the library, two trials of each unless more is said."""
    options = {"domain": "library", "trials": 2, **more}
    return tau2.run(agent="noisy", agent_args={"error_rate": error_rate}, output=output, **options)
