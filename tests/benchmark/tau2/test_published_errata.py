"""Every published erratum is held against the tasks, the tools and the policy that it is about."""

import gzip
import json
import re
from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest

from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.benchmark.tau2.domains.releases import release_of
from maseval.benchmark.tau2.review.errata import (
    errata_for,
    faults_of_task,
    load_errata,
    sound_finding,
)
from maseval.benchmark.tau2.review.errata.erratum import gold_actions
from maseval.benchmark.tau2.review.policy import check_gold, scenario_text
from maseval.benchmark.tau2.scoring.case import open_case
from maseval.benchmark.tau2.scoring.score import score
from maseval.benchmark.tau2.world.reference import gold_state
from maseval.core.finding import LEFT_OUT, SOUND_FAIL, SOUND_PASS

pytestmark = [
    pytest.mark.data,
    pytest.mark.usefixtures("tau2_data_verified", "banking_data", "tau2_texts"),
]

PAGE = Path(__file__).parents[3] / "docs/errata.md"
ENTRIES = [(each, release) for each in load_errata() for release in each.releases]
CORRECTED = [
    (each, release)
    for each, release in ENTRIES
    if each.sound_verdict.gold is not None or each.sound_verdict.accept
]


def name(value):
    return value if isinstance(value, str) else f"{value.domain}-{value.task}-{value.kind}"


@lru_cache
def tasks(domain, release):
    chosen = release_of(domain, release)
    return {raw["id"]: raw for raw in load_raw_tasks(chosen.domain(domain), version=chosen)}


def unplayed(domain, raw, release, **keywords):
    """A case of a conversation in which nothing happened."""
    simulation = {"task_id": raw["id"], "termination_reason": "user_stop", "messages": []}
    return open_case(simulation, domain, raw, version=release, **keywords)


def test_every_task_is_one_of_the_release_that_is_named():
    absent = [name(e) for e, release in ENTRIES if e.task not in tasks(e.domain, release)]

    assert not absent


@pytest.mark.parametrize(("erratum", "release"), CORRECTED, ids=name)
def test_what_would_be_right_can_be_done_and_obeys_the_policy(erratum, release):
    raw = tasks(erratum.domain, release)[erratum.task]
    setting = unplayed(erratum.domain, raw, release).setting
    correction = erratum.sound_verdict
    ends = []
    for steps in [*(() if correction.gold is None else [correction.gold]), *correction.accept]:
        criteria = setting.task.evaluation_criteria.model_copy(
            update={"actions": gold_actions(steps)}
        )
        task = setting.task.model_copy(update={"evaluation_criteria": criteria})
        other = setting._replace(task=task)
        ends.append(gold_state(other))
        assert not ends[-1].errors
        assert not check_gold(other, scenario_text(raw)).breaches
    official = gold_state(setting)
    worlds = [*([] if official.errors else [official]), *ends]
    for number, one in enumerate(worlds):
        assert not any(one.world.same_state(each.world) for each in worlds[:number])


def test_every_reference_solution_that_was_changed_in_public_has_an_erratum():
    for domain in ("airline", "retail"):
        for release in ("1.0.1", "verified"):
            for task_id, raw in tasks(domain, release).items():
                former = tasks(domain, "0.2.0")[task_id]
                ends = [
                    gold_state(unplayed(domain, each, version).setting).world
                    for each, version in ((former, "0.2.0"), (raw, release))
                ]
                if not ends[0].same_state(ends[1]):
                    found = [errata_for(domain, task_id, each) for each in ("0.2.0", release)]
                    assert any(found), (domain, task_id, release)


def test_a_ticket_counts_only_for_an_agent_that_works_alone():
    task_id = "[mms_issue]break_app_storage_permission|data_usage_exceeded[PERSONA:Easy]"
    raw = tasks("telecom", "0.2.0")[task_id]

    assert not faults_of_task(unplayed("telecom", raw, "0.2.0"))
    assert faults_of_task(unplayed("telecom", raw, "0.2.0", solo=True))


_OUTCOMES = {LEFT_OUT: "left out", SOUND_PASS: "passed", SOUND_FAIL: "failed"}


@pytest.mark.contract
@pytest.mark.parametrize("domain", ["airline", "retail", "telecom"])
def test_the_page_says_what_the_errata_do_to_the_public_conversations(domain, contract_dir):
    seen = Counter()
    with gzip.open(contract_dir / f"conversations/{domain}.jsonl.gz", "rt") as lines:
        for record in map(json.loads, lines):
            case = open_case(record["simulation"], domain, solo=record["solo"])
            official = score(case).reward_info
            passed, found = official["reward"] == 1.0, sound_finding(case, official=official)
            outcome = ("passed" if passed else "failed") if found is None else _OUTCOMES[found.kind]
            seen[outcome, passed] += 1
    total, left_out = seen.total(), seen["left out", True] + seen["left out", False]
    passed = sum(number for (_, official), number in seen.items() if official)
    risen, fallen = seen["passed", False], seen["failed", True]
    sound = seen["passed", True] + risen

    (row,) = re.findall(rf"^\| {domain} \| (\d.*)\|$", PAGE.read_text("utf-8"), re.MULTILINE)
    told = list(map(int, re.findall(r"\d+", row)))
    assert told == [total, passed, left_out, sound, total - left_out, risen, fallen]
