"""Runs of an agent that makes mistakes."""

from pathlib import Path
from typing import Any

from maseval.app.results.run_summary import RunResult
from maseval.commands import tau2
from tests.cli.commandline import maseval


def noisy_run(output: Path, error_rate: float, **more: Any) -> RunResult:
    """Run the tasks of the library, two trials of each unless more is said."""
    options = {"domain": "library", "trials": 2, **more}
    return tau2.run(agent="noisy", agent_args={"error_rate": error_rate}, output=output, **options)


def small_grid(root: Path, monkeypatch: Any) -> Path:
    """Run a grid of four cells over four tasks, and return its folder, ``root/crossed``."""
    monkeypatch.chdir(root)
    careless = '{name = "careless", agent = "noisy", agent-args = {error_rate = 1.0}}'
    lines = ['benchmark = "tau2"', 'domain = "library"', 'task_id = "1-4"']
    lines += ["[grid]", f'system = ["gold", {careless}]', "seed = [1, 2]"]
    (root / "crossed.toml").write_text("\n".join(lines), encoding="utf-8")
    assert maseval("run", "crossed.toml", "--output", root / "crossed").exit_code == 0
    return root / "crossed"
