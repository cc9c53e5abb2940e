"""The sample of the contract that lies in the repository, so that every clone protects verdicts.

``python -m scripts.contract_sample`` makes it from the whole contract.
"""

from pathlib import Path

import pytest

from maseval.benchmark.tau2.domains import DOMAINS, Domain
from scripts.agreement import replay_tasks, replay_tool_calls, score_evaluations
from scripts.contract_sample import SAMPLE, fill_in, read_sample
from tests.contract.replay import assert_same, differences

pytestmark = pytest.mark.data


@pytest.fixture(scope="module", params=["airline", "retail", "telecom"])
def domain(request: pytest.FixtureRequest) -> Domain:
    return DOMAINS[request.param]


@pytest.fixture(scope="module")
def folder(domain: Domain, tau2_data: Path) -> Path:
    return tau2_data / "domains" / domain.name


def test_calls_are_answered_as_recorded_and_leave_the_recorded_state(domain, folder):
    sequences = read_sample(SAMPLE / f"tool_calls_{domain.name}.jsonl.gz")

    assert len(sequences) >= 200
    assert_same(differences(replay_tool_calls(domain, folder, sequences)))


def test_tasks_begin_and_are_solved_as_recorded(domain, folder):
    every = read_sample(SAMPLE / "tasks.jsonl.gz")
    tasks = [each for each in every if each["domain"] == domain.name]

    assert len(tasks) >= 30
    assert_same(differences(replay_tasks(domain, folder, tasks)))


def test_verdicts_are_the_recorded_ones(domain, folder):
    recorded = read_sample(SAMPLE / f"evaluations_{domain.name}.jsonl.gz")

    whole = [fill_in(domain, folder, each) for each in recorded]

    assert len(whole) >= 250 and None not in whole
    assert_same(differences(score_evaluations(domain, whole)))
