"""No agent that works is blamed by a rehearsal: it is played, or refused at once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maseval import commands
from maseval.app.results.run_summary import RunResult
from maseval.runs import RunFolder
from tests.agents.healthy import HEALTHY
from tests.agents.unplayable import UNPLAYABLE

pytestmark = pytest.mark.needs(library="openai")


def rehearse(agent: Callable[..., Any] | type[Any], folder: Path, **options: int) -> RunResult:
    return commands.tau2.run(
        domain="library", num_tasks=3, agent=agent, rehearse="gold", output=folder, **options
    )


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_agent_misses_nothing(name, tmp_path):
    result = rehearse(HEALTHY[name], tmp_path / "run")

    assert result.checklist.missed() == [], list(result.checklist.lines())
    assert result.checklist.refused is None and result.complete


@pytest.mark.parametrize("name", UNPLAYABLE)
def test_an_agent_that_cannot_be_played_is_refused_after_three_requests(name, tmp_path):
    result = rehearse(UNPLAYABLE[name], tmp_path / "run", concurrency=4)

    asked = [
        report["traces"]["rehearsal"]["agent"]["requests"]
        for report in RunFolder.read(result.folder).reports()
    ]
    assert sum(asked) <= 3
    assert result.checklist.refused.startswith("cannot be rehearsed: ")
    assert result.checklist.refused in result.stopped
    assert result.summary.overall.verdicts == 0
