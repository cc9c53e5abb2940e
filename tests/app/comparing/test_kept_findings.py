"""What was found out about a run is read again when it is compared again."""

import pytest

from maseval.app.comparing.compared_runs import read_outcomes
from maseval.app.results.run_summary import RunResult
from maseval.commands import tau2
from maseval.runs import RunFolder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    options = {"agent": "noisy", "agent_args": {"error_rate": 0.5}, "num_tasks": 3, "trials": 2}
    return tau2.run(domain="library", output=tmp_path_factory.mktemp("runs") / "run", **options)


def test_verdicts_that_are_known_are_not_computed_again(run, monkeypatch):
    (_, first), read = read_outcomes(run.folder), []
    assert len(first) == 6 and {each.passed for each in first} == {True, False}

    real = RunFolder.report
    monkeypatch.setattr(
        RunFolder, "report", lambda self, one: (read.append(one), real(self, one))[1]
    )
    assert read_outcomes(run.folder)[1] == first
    assert not read
