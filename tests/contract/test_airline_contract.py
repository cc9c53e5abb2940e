"""The airline against what tau2-bench v0.2.0 was recorded to do."""

import hashlib
import json

import pytest

from maseval.benchmark.tau2.domains.airline import AIRLINE
from maseval.benchmark.tau2.world.world import World
from scripts.agreement import replay_tasks, replay_tool_calls
from tests.contract.replay import (
    assert_same,
    differences,
    records,
    schema_differences,
)

pytestmark = [pytest.mark.contract, pytest.mark.data]


@pytest.fixture(scope="module")
def folder(tau2_data):
    return tau2_data / "domains" / "airline"


@pytest.fixture(scope="module")
def new_world(folder):
    return lambda: World(AIRLINE, folder)


def test_every_recorded_call_is_answered_the_same_and_leaves_the_same_state(contract_dir, folder):
    vectors = records(contract_dir / "tool_calls" / "airline.jsonl.gz")
    assert_same(differences(replay_tool_calls(AIRLINE, folder, vectors)))


def test_every_task_begins_and_is_solved_as_recorded(contract_dir, folder):
    vectors = [
        vector for vector in records(contract_dir / "tasks.json") if vector["domain"] == "airline"
    ]

    assert_same(differences(replay_tasks(AIRLINE, folder, vectors)))


def test_the_tools_are_described_as_recorded(contract_dir):
    schemas = json.loads((contract_dir / "schemas.json").read_text(encoding="utf-8"))

    assert_same(schema_differences(AIRLINE, schemas["airline"]))


def test_the_database_is_the_recorded_one(contract_dir, new_world):
    recorded = json.loads((contract_dir / "db.json").read_text(encoding="utf-8"))["airline"]
    world = new_world()
    db = world.tools.db

    assert world.get_db_hash() == recorded["agent_db_hash"]
    assert world.get_user_db_hash() == recorded["user_db_hash"]
    assert {name: len(getattr(db, name)) for name in recorded["counts"]} == recorded["counts"]
    assert db.get_statistics() == recorded["statistics"]
    assert world.tools.get_statistics() == recorded["toolkit_statistics"]


def test_the_policy_is_the_recorded_one(contract_dir, folder):
    recorded = json.loads((contract_dir / "db.json").read_text(encoding="utf-8"))["airline"]
    policy = AIRLINE.policy(folder)

    assert hashlib.sha256(policy.encode()).hexdigest() == recorded["policy_sha256"]
    assert len(policy) == recorded["policy_len"]
    assert AIRLINE.name == recorded["domain_name"]
