"""What a record amounts to: who should be there, which task is meant, what contradicts itself."""

from dataclasses import replace
from typing import Any

import pytest

from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.rescoring.recount import Recount
from maseval.benchmark.tau2.rescoring.tasks import (
    KnownTasks,
    differing_parts,
    planned_trials,
    smallest_split,
    task_content,
)
from maseval.benchmark.tau2.rescoring.verdict import contradiction, judge, rules_for
from maseval.benchmark.tau2.results.recorded import report_of_recorded, report_of_simulation
from maseval.benchmark.tau2.results.writing import Tau2Report
from maseval.core.outcome import Simulation
from maseval.core.scoring_options import ScoringOptions
from tests.benchmark.tau2.recorded import Recorded


def test_planned_are_all_trials_of_the_listed_tasks_and_of_those_that_are_there():
    seen = [Simulation("library", "a", 0), Simulation("library", "b", 2)]

    found = planned_trials("library", ["a", "c"], 2, seen)

    assert found == [Simulation("library", task, trial) for task in "abc" for trial in range(3)]


def verdict(reward: float, **more: Any) -> dict[str, Any]:
    return {"reward": reward, "reward_breakdown": {"DB": 1.0, "COMMUNICATE": 0.0}, **more}


@pytest.mark.parametrize(
    ("recorded", "words"),
    [
        (verdict(0.0), None),
        (verdict(1.0), "its reward is 1, but its own breakdown gives 0"),
        ({"reward": 0.0}, None),
        ({}, None),
        (
            verdict(0.0, db_check={"db_match": False, "db_reward": 0.0}),
            "its breakdown gives DB 1.0, but its own check failed",
        ),
        (
            verdict(0.0, communicate_checks=[{"info": "4", "met": True, "justification": ""}]),
            "its breakdown gives COMMUNICATE 0.0, but its own check passed",
        ),
    ],
)
def test_a_verdict_that_contradicts_its_own_checks_is_found(recorded, words):
    assert contradiction(recorded) == words


@pytest.mark.parametrize("status", ["success", "environment_error", "agent_error"])
@pytest.mark.parametrize("recorded", [None, {"reward": 0.0}, {"reward": 1.0}, verdict(1.0)])
def test_a_report_is_judged_by_itself_as_among_others(recorded, status):
    named = {"task_id": load_raw_tasks("library")[0]["id"], "termination_reason": "user_stop"}
    messages = [{"role": "user", "content": "Never mind. ###STOP###"}]
    simulation = {**named, "id": "a", "messages": messages, "reward_info": recorded}
    run = {**report_of_simulation(simulation, domain="library"), "status": status}
    for each in (run, report_of_recorded(simulation, domain="library")):
        report = Tau2Report(each)

        alone = judge(report, *rules_for(report), 0)
        ((_, among),) = Recount(Recorded([each])).judge_all()

        assert replace(alone, marks=among.marks) == among
        assert among.marks and alone.misstatement == among.misstatement


def test_the_verdicts_of_a_record_are_not_held():
    task_id = load_raw_tasks("library")[0]["id"]
    simulation = {"task_id": task_id, "termination_reason": "user_stop", "messages": []}
    recount = Recount(Recorded([simulation]), ScoringOptions(domain="library"))

    ((_, judged),) = recount.judge_all()

    assert judged.checks["reward"] == judged.reward == 0.0
    assert [each.checks for each in recount.simulations] == [None]


def checks(task: dict[str, Any]) -> dict[str, Any]:
    actions = (task["evaluation_criteria"] or {}).get("actions") or ()
    return {
        "action_checks": [
            {"action": action, "action_match": True, "action_reward": 1.0} for action in actions
        ]
    }


def test_the_task_to_which_checks_belong_is_found_by_the_actions():
    known = KnownTasks(domain_named("library"))
    one, other = (task for task in load_raw_tasks("library")[:2])

    assert known.checked_task(one["id"], checks(one)) is None
    assert known.checked_task(one["id"], checks(other)) == other["id"]
    assert known.checked_task(one["id"], {"action_checks": None}) is None
    assert known.checked_task(one["id"], None) is None


def test_what_differs_in_a_task_is_named():
    ours = load_raw_tasks("library")[0]
    other_words = {**ours, "user_scenario": {"instructions": "Ask for something else."}}
    emptied = {**ours, "evaluation_criteria": {"actions": None}}
    foreign = {**ours, "evaluation_criteria": {"reward_basis": ["STYLE"], "actions": [{}]}}

    assert differing_parts(ours, ours) == []
    assert differing_parts(other_words, ours) == ["instructions"]
    assert differing_parts(emptied, ours) == ["criteria removed"]
    assert differing_parts(foreign, ours) == ["criteria"]
    assert task_content(other_words) != task_content(ours) == task_content({**ours, "ticket": None})


@pytest.mark.data
def test_the_smallest_split_that_has_the_tasks_is_the_one_that_should_be_whole(tau2_data):
    telecom = domain_named("telecom")
    ids = {
        split: [task["id"] for task in load_raw_tasks(telecom, split)]
        for split in ("small", "base", "full")
    }
    only_in_base = next(each for each in ids["base"] if each not in ids["small"])
    only_in_full = next(each for each in ids["full"] if each not in ids["base"] + ids["small"])

    assert smallest_split(telecom, ids["small"][:3])[0] == "small"
    assert smallest_split(telecom, [only_in_base])[0] == "base"
    assert smallest_split(telecom, [only_in_full])[0] == "full"
    assert smallest_split(telecom, ["no such task"]) is None
