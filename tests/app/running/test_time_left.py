"""The time that a run still takes, as it is published while it goes on."""

import pytest

from maseval.app.running import progress
from maseval.app.running.progress import RunProgress
from maseval.core.outcome import Outcome, Simulation


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that a test moves."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def finished(one: Simulation) -> Outcome:
    return Outcome(
        domain=one.domain, task_id=one.task_id, trial=one.trial, status="success", passed=True
    )


def test_the_time_left_does_not_grow_while_the_last_ones_run(clock):
    ones = [Simulation("retail", str(at), 0) for at in range(4)]
    run = RunProgress(planned=4)
    for one in ones[:2]:
        run.start(one)
    assert run.left is None
    clock[0] = 10.0
    for one, following in zip(ones[:2], ones[2:], strict=True):
        run.finish(finished(one))
        run.start(following)

    seen = []
    for _ in range(6):
        seen.append(run.left)
        clock[0] += 3.0

    assert seen == [10.0, 7.0, 4.0, 1.0, None, None]


def test_what_waits_is_shared_among_those_that_run(clock):
    ones = [Simulation("retail", str(at), 0) for at in range(3)]
    run = RunProgress(planned=6)
    run.start(ones[0])
    clock[0] = 8.0
    run.finish(finished(ones[0]))
    run.start(ones[1])
    run.start(ones[2])

    assert run.left == (8 + 8 + 3 * 8) / 2
