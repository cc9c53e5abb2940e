from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maseval import commands


@pytest.fixture
def booking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs the booking benchmark into a folder; twice, with more trials, it is resumed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))  # for the processes it starts

    def run(trials=2, **options):
        return commands.run(
            benchmark="examples.booking:BookingBenchmark",
            trials=trials,
            num_tasks=3,
            agent_data={"slip_rate": 0.2},
            output=tmp_path / "mine",
            **options,
        )

    return run
