"""How a report is read: passed or not, reward, cost, tokens, end, and which simulation it is."""

from typing import Any

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import RecordedReport, TaskKey, parse_report, total_cost
from maseval.core.report import TaskExecutionStatus
from maseval.core.report_parts import is_successful


def report(*verdicts: dict[str, Any], **more: Any) -> RecordedReport:
    finished = {"task_id": "7", "repeat_idx": 2, "status": "success", "eval": list(verdicts)}
    return RecordedReport({**finished, **more})


@pytest.mark.parametrize(
    ("reward", "passed"),
    [
        *((1.0, True), (0.9999995, True), (1.0000005, True)),
        *((0.999998, False), (1.000002, False), (0.0, False)),
    ],
)
def test_a_reward_counts_as_one_within_a_millionth(reward, passed):
    assert is_successful(reward) is passed


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [
        ({"passed": True}, "pass"),
        ({"passed": False}, "fail"),
        ({"passed": True, "reward": 0.0}, "pass"),
        ({"passed": False, "reward": 1.0}, "fail"),
        ({"reward": 1.0}, "pass"),
        ({"reward": 0.9999999}, "pass"),
        ({"reward": 0.5}, "fail"),
        ({"passed": None, "reward": 1}, "pass"),
        ({"passed": None}, "unjudged"),
        ({"reward": None}, "unjudged"),
        ({"score": 0.7}, "unjudged"),
        ({}, "unjudged"),
    ],
)
def test_a_verdict_counts_by_passed_if_it_is_there_and_else_by_its_reward(verdict, kind):
    assert report(verdict).kind == kind


def test_one_evaluator_that_says_passed_is_enough():
    assert report({"passed": False}, {"passed": True}).kind == "pass"
    assert report({"score": 3}, {"passed": False}).kind == "fail"


@pytest.mark.parametrize("missing", [None, [], "passed", {"passed": True}, [None, 3, "passed"]])
def test_a_report_without_an_evaluation_has_no_verdict(missing):
    unjudged = report(eval=missing)

    assert unjudged.kind == "unjudged"
    assert (unjudged.outcome.passed, unjudged.outcome.reason) == (None, "unjudged")
    assert unjudged.evaluations == []


def test_a_report_without_a_status_has_no_verdict():
    verdict = {"task_id": "7", "eval": [{"passed": True, "reward": 1.0}]}
    unfinished = RecordedReport(verdict)

    assert unfinished.kind == RecordedReport({**verdict, "status": None}).kind == "unjudged"
    assert unfinished.outcome.passed is None
    assert unfinished.reward is None


@pytest.mark.parametrize("status", [each.value for each in TaskExecutionStatus][1:])
def test_only_the_agents_own_failures_count_against_it(status):
    broken = report({"passed": True, "reward": 1.0}, status=status)
    found = broken.outcome

    assert broken.kind == "error"
    failed = status in ("agent_error", "context_overflow")
    assert (found.passed, found.reason) == ((False, None) if failed else (None, status))
    assert broken.reward is None
    assert [each.raw for each in broken.evaluations] == [{"passed": True, "reward": 1.0}]


def test_the_reward_is_the_best_given():
    assert report({"reward": 0.5}, {"reward": 1.0}, {"reward": None}).reward == 1.0
    assert report({"reward": -1}, {"reward": -2}).reward == -1
    assert report({"passed": True}, {"reward": True}).reward is None


def test_domain_task_and_trial_name_a_simulation():
    finished = report({"passed": True}, task={"metadata": {"domain": "retail"}})

    assert finished.key == ("retail", "7", 2)
    assert finished.task == TaskKey("retail", "7")
    assert finished.outcome.simulation == finished.key
    assert finished.outcome.key == finished.task


def test_the_domain_is_the_environments_only_where_the_task_was_left_out():
    traces = {"environment": {"domain": "airline"}}

    assert report(traces=traces).domain == "airline"
    assert report(traces=traces, task={"metadata": {}}).domain == ""
    assert report().domain == ""
    assert RecordedReport({"task_id": 7}).key == ("", "7", 0)


def test_cost_and_tokens_are_those_of_all_components_and_attempts():
    usage = {
        "agents": {"a": {"cost": 0.5, "input_tokens": 30}, "b": {"cost": 0.25, "output_tokens": 5}},
        "metadata": {"at": "now", "total_components": 2},
    }
    attempts = [{"usage": {"user": {"cost": 1.0, "input_tokens": 3}}}, {"usage": None}]
    finished = report(usage=usage, attempts=attempts)

    assert finished.cost == finished.outcome.cost == 1.75
    assert finished.tokens == 38
    assert [each[:2] for each in finished.usage] == [
        ("agents:a", None),
        ("agents:b", None),
        ("user", 1),
    ]


def test_a_cost_that_nobody_recorded_is_not_known_and_no_tokens_are_none():
    assert (report().cost, report().tokens) == (None, 0)
    assert report(usage={"agents": {"a": {"cost": 0.0}}}).cost == 0.0


def test_the_end_is_what_the_environment_recorded_and_else_an_evaluator():
    verdict = {"passed": True, "termination_reason": "agent_stop"}
    traces = {"environment": {"simulation": {"termination_reason": "user_stop"}}}

    assert report(verdict, traces=traces).termination == "user_stop"
    assert report({"passed": True}, verdict).termination == "agent_stop"
    assert report().termination is None


@pytest.mark.parametrize("wrong", [{}, {"status": "success"}, None, 3, "report"])
def test_something_else_than_a_report_is_refused_by_its_name(wrong):
    with pytest.raises(ConfigurationError, match=r"reports\[4\] is .*, not a report"):
        parse_report(wrong, "reports[4]")


@pytest.mark.parametrize(
    ("costs", "total"),
    [
        ([], 0.0),
        ([0.0, 0.0], 0.0),
        ([None, 0.0], None),
        ([None, 0.5], 0.5),
        ([None], None),
        ([float("nan"), 0.5], 0.5),
        ([float("inf")], None),
        ([-(10**400), 0.5], 0.5),
    ],
)
def test_an_unknown_cost_is_never_zero(costs, total):
    assert total_cost(costs) == total


def used(cost: float, tokens: int = 0, **model: Any) -> RecordedReport:
    usage = {"models": {"agent_model": {"cost": cost, "input_tokens": tokens}}}
    return RecordedReport({"usage": usage, "config": {"models": {"agent_model": model}}})


def test_tokens_that_cost_nothing_are_of_unknown_price_unless_that_is_recorded():
    free = {"type": "ModelPrice", "input": 0.0, "output": 0.0}

    assert used(0.0, 100).cost is None
    assert used(0.0, 100, cost_calculator=free).cost == 0.0
    assert used(0.25, 100).cost == used(0.25, 100).outcome.cost == 0.25
    assert used(0.0).cost == RecordedReport({"usage": {}}).cost == 0.0
    assert RecordedReport({}).cost is None
