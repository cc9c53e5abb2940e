"""The domains against what tau2-bench v0.2.0 was recorded to do: every call, task and schema."""

from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.domains import DOMAINS, Domain
from maseval.benchmark.tau2.world.world import World
from scripts.agreement import replay_tasks, replay_tool_calls
from tests.contract.replay import assert_same, differences, records, schema_differences, sha256

pytestmark = [pytest.mark.contract, pytest.mark.data]


@pytest.fixture(scope="module", params=["airline", "retail", "telecom"])
def domain(request: pytest.FixtureRequest) -> Domain:
    return DOMAINS[request.param]


@pytest.fixture(scope="module")
def folder(domain: Domain, tau2_data: Path) -> Path:
    return tau2_data / "domains" / domain.name


@pytest.fixture
def facts(contract_dir: Path) -> dict[str, Any]:
    return records(contract_dir / "db.json")[0]


def test_every_recorded_call_is_answered_the_same_and_leaves_the_same_state(
    contract_dir, domain, folder
):
    vectors = records(contract_dir / "tool_calls" / f"{domain.name}.jsonl.gz")
    assert vectors
    assert_same(differences(replay_tool_calls(domain, folder, vectors)))


def test_every_task_begins_and_is_solved_as_recorded(contract_dir, domain, folder):
    vectors = [v for v in records(contract_dir / "tasks.json") if v["domain"] == domain.name]
    assert vectors
    assert_same(differences(replay_tasks(domain, folder, vectors)))


def test_the_tools_of_both_sides_are_described_as_recorded(contract_dir, domain):
    schemas = records(contract_dir / "schemas.json")[0]
    assert_same(schema_differences(domain, schemas[domain.name]))


def test_the_initial_databases_are_the_recorded_ones(domain, folder, facts):
    world, recorded = World(domain, folder), facts[domain.name]

    assert world.get_db_hash() == recorded["agent_db_hash"]
    assert world.get_user_db_hash() == recorded["user_db_hash"]
    assert {name: len(table) for name, table in world.tools.db} == recorded["counts"]
    assert world.tools.db.get_statistics() == recorded["statistics"]
    assert world.tools.get_statistics() == recorded["toolkit_statistics"]
    if world.user_tools is not None:
        assert world.user_tools.get_statistics() == recorded["user_toolkit_statistics"]


@pytest.mark.parametrize(
    ("name", "solo", "key"),
    [
        ("airline", False, "policy"),
        ("retail", False, "policy"),
        ("telecom", False, "policy"),
        ("telecom", True, "solo_policy"),
        ("telecom-workflow", False, "policy"),
    ],
)
def test_the_policy_is_composed_as_recorded(tau2_data, facts, name, solo, key):
    domain, recorded = DOMAINS[name], facts[name]

    policy = domain.policy(tau2_data / "domains" / domain.folder_name, solo=solo)

    assert (sha256(policy), len(policy)) == (recorded[f"{key}_sha256"], recorded[f"{key}_len"])
    assert domain.name == recorded["domain_name"]
