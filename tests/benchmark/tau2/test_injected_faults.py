"""Faults written into gold conversations are blamed on the party whose they are.

One conversation of each kind is looked at; ``python -m benchmarks.blame`` counts many more.
"""

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from maseval.benchmark.tau2.data_loader import load_raw_task, load_raw_tasks
from tests.benchmark.tau2.injected.blaming import DOMAINS, Blamed, blame, faults_of

pytestmark = [pytest.mark.data, pytest.mark.usefixtures("tau2_data")]

KINDS = [(domain, fault.name) for domain in DOMAINS for fault in faults_of(domain)]

# No task of the domain gives an occasion.
WITHOUT_OCCASION = {("airline", "wrong_amount_of_compensation")}
# Known not to be blamed right.
EXCEPTIONS = {("airline", "wish_never_brought_forward")}


def blame_in(domain: str, name: str, task: Mapping[str, Any]) -> Blamed | None:
    return blame(domain, name, task, Random(f"{name} {task['id']} 0"))


def first_failure(domain: str, name: str) -> Blamed | None:
    tasks = load_raw_tasks(domain)
    shuffled = Random(f"{name} 0").sample(tasks, len(tasks))
    return next((found for task in shuffled if (found := blame_in(domain, name, task))), None)


@pytest.mark.parametrize(("domain", "name"), KINDS)
def test_the_one_whose_fault_it_is_is_blamed(domain, name):
    found = first_failure(domain, name)
    assert (found is None) == ((domain, name) in WITHOUT_OCCASION)
    if found is not None and (domain, name) not in EXCEPTIONS:
        assert found.verdict == "right", found.label


@pytest.mark.parametrize(
    ("name", "task_id"),
    [
        # What is missing has to come before a later step.
        (
            "said_to_be_done_and_never_done",
            "[service_issue]airplane_mode_on|break_apn_settings|unseat_sim_card[PERSONA:None]",
        ),
        # The agent speaks of the data that was used, and not of the switch.
        (
            "step_never_mentioned",
            "[mobile_data_issue]bad_vpn|data_mode_off|data_usage_exceeded"
            "|user_abroad_roaming_disabled_off[PERSONA:None]",
        ),
        # The agent speaks of one permission only.
        (
            "step_never_mentioned",
            "[mms_issue]bad_network_preference|break_app_both_permissions[PERSONA:Easy]",
        ),
    ],
)
def test_a_step_is_the_users_if_the_agent_asked_for_it(name, task_id):
    found = blame_in("telecom", name, load_raw_task("telecom", task_id))
    assert found is not None
    assert found.verdict == "right", found.label
