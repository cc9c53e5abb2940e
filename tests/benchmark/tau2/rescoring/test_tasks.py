"""Which task of the benchmark a recorded one is."""

import pytest

from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.rescoring.tasks import KnownTasks

ALONE = "[mobile_data_issue]data_saver_mode_on[PERSONA:Easy]"
"""A task of the full split, whose instructions are those of a task of the base split."""


@pytest.fixture
def known_tasks(tau2_data):
    return lambda domain: KnownTasks(domain_named(domain))


def verdict(task):
    actions = task["evaluation_criteria"]["actions"]
    return {"action_checks": [{"action": {**action, "info": None}} for action in actions]}


def test_a_task_outside_the_base_split_is_no_other_one(known_tasks):
    known = known_tasks("telecom")
    own = known.raw(ALONE)

    assert known.embedded_task(own) is None
    assert known.checked_task(ALONE, verdict(own)) is None


def test_a_task_of_another_id_is_found_by_its_instructions_and_checks(known_tasks):
    known = known_tasks("retail")
    one, other = known.raw("0"), known.raw("1")

    assert known.embedded_task({**one, "id": other["id"]}) == one["id"]
    assert known.checked_task(other["id"], verdict(one)) == one["id"]
    assert known.embedded_task(one) is None and known.embedded_task(None) is None
