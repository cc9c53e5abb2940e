"""Retail, vector by vector: every recording of the original is reproduced."""

import hashlib
from pathlib import Path

import pytest

from maseval.benchmark.tau2.domains.retail import RETAIL, RetailTools
from maseval.benchmark.tau2.world.world import World
from scripts.agreement import replay_tasks, replay_tool_calls
from tests.contract.replay import (
    assert_same,
    differences,
    records,
    schema_differences,
)

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def folder(tau2_data: Path) -> Path:
    return tau2_data / "domains" / "retail"


@pytest.fixture(scope="module")
def shop(folder: Path) -> World:
    return World(RETAIL, folder)


@pytest.fixture
def recorded(contract_dir: Path) -> dict:
    return records(contract_dir / "db.json")[0]["retail"]


def test_every_tool_is_shown_to_a_model_as_recorded(contract_dir):
    assert_same(schema_differences(RETAIL, records(contract_dir / "schemas.json")[0]["retail"]))


def test_the_initial_database_is_the_recorded_one(shop, recorded):
    assert shop.get_db_hash() == recorded["agent_db_hash"]
    assert shop.get_user_db_hash() is recorded["user_db_hash"]
    tables = {name: len(getattr(shop.tools.db, name)) for name in recorded["counts"]}
    assert tables == recorded["counts"]


def test_the_statistics_are_the_recorded_ones(shop, recorded):
    assert shop.tools.db.get_statistics() == recorded["statistics"]
    assert RetailTools.get_statistics() == recorded["toolkit_statistics"]


def test_the_policy_is_the_recorded_one(folder, recorded):
    policy = RETAIL.policy(folder)
    assert len(policy) == recorded["policy_len"]
    assert hashlib.sha256(policy.encode()).hexdigest() == recorded["policy_sha256"]


def test_every_tool_call_answers_and_changes_as_recorded(folder, contract_dir):
    vectors = contract_dir / "tool_calls" / "retail.jsonl.gz"
    assert_same(differences(replay_tool_calls(RETAIL, folder, records(vectors))))


def test_every_task_starts_and_ends_as_recorded(folder, contract_dir):
    vectors = [v for v in records(contract_dir / "tasks.json") if v["domain"] == "retail"]
    assert_same(differences(replay_tasks(RETAIL, folder, vectors)))
