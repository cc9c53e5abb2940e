import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.stats import requirement
from maseval.stats.trials import Trials


def test_an_agent_misses_a_rate_only_if_its_interval_lies_below() -> None:
    low = requirement([Trials(1, 0)] * 5, 0.8)
    assert low.verdict == "missed" and low.interval.high < 0.8
    few = requirement([Trials(1, 0)] * 2, 0.8)
    assert few.verdict == "undecided" and few.interval.high >= 0.8


def test_an_agent_reaches_a_rate_only_if_its_interval_lies_above() -> None:
    assert requirement([Trials(4, 4)] * 40, 0.8).verdict == "met"
    assert requirement([Trials(4, 4)] * 5, 0.8).verdict == "undecided"


def test_what_is_missed_at_one_rate_is_met_at_none_above_it() -> None:
    tasks = [Trials(4, 1), Trials(4, 2), Trials(4, 0), Trials(4, 3)] * 5
    order = ["met", "undecided", "missed"]
    verdicts = [order.index(requirement(tasks, step / 20).verdict) for step in range(21)]
    assert verdicts == sorted(verdicts) and set(verdicts) == {0, 1, 2}


def test_the_trials_it_advises_would_decide_it() -> None:
    tasks = [Trials(4, 2), Trials(4, 3), Trials(4, 2), Trials(4, 3)]
    found = requirement(tasks, 0.75)
    assert found.verdict == "undecided" and "trials per task" in found.advice
    trials = int(found.advice.split()[0])
    more = [Trials(trials, round(trials * rate)) for rate in (0.61, 0.62, 0.63, 0.64)]
    assert requirement(more, 0.75).verdict == "missed"


def test_the_tasks_it_advises_would_decide_it() -> None:
    tasks = [Trials(1, 1)] * 3 + [Trials(1, 0)] * 2
    found = requirement(tasks, 0.8)
    enough = int(found.advice.split()[1])
    assert "tasks like these" in found.advice
    assert requirement(tasks * (enough // 5 + 1), 0.8).verdict == "missed"
    assert requirement(tasks * (enough // 5 - 1), 0.8).verdict == "undecided"


def test_one_task_is_judged_by_its_trials() -> None:
    assert requirement([Trials(20, 2)], 0.8).verdict == "missed"
    assert "trials per task" in requirement([Trials(4, 3)], 0.8).advice


def test_a_score_equal_to_the_rate_cannot_be_decided() -> None:
    found = requirement([Trials(2, 1)] * 6, 0.5)
    assert found.verdict == "undecided" and "no number of trials" in found.advice


@pytest.mark.parametrize("rate", [-0.1, 80, float("nan")])
def test_a_rate_outside_of_0_and_1_is_refused(rate: float) -> None:
    with pytest.raises(ConfigurationError, match="give a share from 0 to 1"):
        requirement([Trials(1, 1)], rate)


@pytest.mark.parametrize("alpha", [0, 0.5, 5])
def test_an_alpha_that_means_nothing_is_refused(alpha: float) -> None:
    with pytest.raises(ConfigurationError, match="give a chance below"):
        requirement([Trials(1, 1)], 0.8, alpha)


def test_no_trials_are_no_rate() -> None:
    with pytest.raises(ConfigurationError, match="no task has a trial"):
        requirement([Trials(0, 0)], 0.8)
