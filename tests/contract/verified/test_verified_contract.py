"""tau2-bench-verified: tools, tasks, splits, verdicts, conversations and requests as recorded."""

from collections.abc import Iterator
from typing import Any

import pytest

from maseval.benchmark.tau2.data_loader import UnknownSplitError, load_raw_tasks, load_tasks
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import V_VERIFIED
from maseval.benchmark.tau2.texts.loading import load_texts
from maseval.benchmark.tau2.texts.original import describe_tools
from maseval.benchmark.tau2.world.world import World
from scripts.agreement import replay_tasks, replay_tool_calls
from tests.contract.replay import assert_same, differences, records, schema_differences, sha256
from tests.contract.test_texts_contract import canonical
from tests.contract.v1_0_1.test_orchestrator_contract import differences as loop_differences
from tests.contract.v1_0_1.test_orchestrator_contract import played
from tests.contract.v1_0_1.test_scoring_contract import comparable, outcome, task_of
from tests.contract.v1_0_1.test_worlds_contract import folder_of, ids_sha256, text_differences

pytestmark = [pytest.mark.contract, pytest.mark.data]

VERIFIED = "verified"
DOMAINS = ("airline", "retail", "telecom", "mock")


@pytest.mark.parametrize("name", DOMAINS)
def test_the_tools_are_described_as_recorded(vectors, domain_called, name):
    assert_same(schema_differences(domain_called(name), records(vectors / "schemas.json")[0][name]))


@pytest.mark.parametrize("name", [*DOMAINS, "telecom-workflow"])
def test_databases_and_policies_are_the_recorded_ones(vectors, data, domain_called, name):
    recorded, domain = records(vectors / "db.json")[0][name], domain_called(name)
    world = World(domain, folder_of(domain, data), rules=V_VERIFIED.rules.replay)
    policy = domain.policy(folder_of(domain, data))

    assert world.get_db_hash() == recorded["agent_db_hash"]
    assert world.get_user_db_hash() == recorded["user_db_hash"]
    assert (sha256(policy), len(policy)) == (recorded["policy_sha256"], recorded["policy_len"])


@pytest.mark.parametrize(("name", "count"), [("airline", 51), ("retail", 269)])
def test_every_recorded_call_is_answered_the_same(vectors, data, domain_called, name, count):
    sequences, domain = records(vectors / "tool_calls" / f"{name}.jsonl.gz"), domain_called(name)

    assert sum(len(each["steps"]) for each in sequences) >= count
    assert_same(differences(replay_tool_calls(domain, folder_of(domain, data), sequences)))


@pytest.mark.parametrize("name", DOMAINS)
def test_every_task_begins_and_is_solved_as_recorded(vectors, data, domain_called, name):
    recorded = [each for each in records(vectors / "tasks.json") if each["domain"] == name]
    domain = domain_called(name)

    assert recorded
    assert_same(differences(replay_tasks(domain, folder_of(domain, data), recorded)))
    assert_same(each for one in recorded for each in text_differences(one, domain, VERIFIED))


@pytest.mark.parametrize("name", [*DOMAINS, "telecom-workflow"])
def test_every_split_has_the_recorded_tasks_in_the_recorded_order(
    vectors, data, domain_called, name
):
    recorded, domain = records(vectors / "splits.json")[0][name], domain_called(name)

    everything = [task["id"] for task in load_raw_tasks(domain, None)]
    assert len(everything) == recorded["num_tasks_in_file"]
    assert ids_sha256(everything) == recorded["all_ids_sha256"]
    for split, facts in recorded["splits"].items():
        ids = [task["id"] for task in load_raw_tasks(domain, split)]
        assert (len(ids), ids_sha256(ids)) == (facts["count"], facts["ids_sha256"])
    with pytest.raises(UnknownSplitError) as refused:
        load_raw_tasks(domain, "nope")
    assert ["ValueError", str(refused.value)] == recorded["unknown_split_error"]


def test_tasks_are_selected_as_recorded(vectors, data, domain_called):
    cases = records(vectors / "splits.json")[0]["get_tasks_cases"]
    known = [case for case in cases if case["task_set_name"] in DOMAINS]
    assert len(known) >= 9
    for case in known:
        domain, split = domain_called(case["task_set_name"]), case.get("task_split_name")
        ids = case.get("task_ids")
        if case["exception"]:
            with pytest.raises(ValueError) as refused:
                load_tasks(domain, split, task_ids=ids)
            assert ["ValueError", str(refused.value)] == case["exception"]
            continue
        found = load_tasks(domain, split, task_ids=ids).to_list()[: case.get("num_tasks")]
        assert len(found) == case["count"]
        assert case["ids"] in (None, [task.id for task in found])


@pytest.mark.parametrize("name", DOMAINS)
def test_every_recorded_evaluation_comes_out_the_same(vectors, domain_called, name):
    recorded = records(vectors / "evaluations" / f"{name}.jsonl.gz")

    assert recorded
    assert_same(_evaluation_differences(recorded, domain_called(name)))


def _evaluation_differences(recorded: list[dict[str, Any]], domain: Domain) -> Iterator[str]:
    for record in recorded:
        judged = record["judge_calls"] > 0
        found = outcome(
            record["simulation"],
            record["judge_reply"] if judged else None,
            domain=domain,
            task=task_of(record, domain, VERIFIED),
            evaluation_type=record["evaluation_type"],
            solo=record["solo_mode"],
            version=VERIFIED,
            with_judge=judged,
        )
        if comparable(found, python=(3, 11)) != comparable(record, python=(3, 11)):
            yield f"{record['id']} {record['variant']}\n  {found}\n  {comparable(record)}"


def test_real_conversations_get_the_recorded_verdicts(vectors, contract_dir, data):
    files = sorted((contract_dir / "conversations").glob("*.jsonl.gz"))
    conversations = {record["id"]: record for file in files for record in records(file)}
    recorded = records(vectors / "conversation_verdicts.jsonl.gz")
    assert len(recorded) >= 398
    found = []
    for record in recorded:
        conversation = conversations[record["id"]]
        workflow = record["domain"] == "telecom" and conversation["policy_variant"] == "workflow"
        ours = outcome(
            conversation["simulation"],
            None,
            domain="telecom-workflow" if workflow else record["domain"],
            solo=record["solo"],
            version=VERIFIED,
            with_judge=False,
        )
        if comparable(ours, 80) != comparable(record, 80):
            found.append(f"{record['id']}\n  {ours}\n  {comparable(record)}")
    assert_same(found)


def test_real_conversations_of_v1_get_the_recorded_verdicts(vectors, contract_dir, data):
    every = records(contract_dir / "v1.0.1" / "conversations_v1" / "conversations.jsonl.gz")
    conversations = {record["id"]: record for record in every}
    recorded = records(vectors / "conversation_verdicts_v1.jsonl.gz")
    assert len(recorded) >= 48
    found = []
    for record in recorded:
        simulation = conversations[record["id"]]["simulation"]
        ours = outcome(
            simulation, None, domain=record["domain"], version=VERIFIED, with_judge=False
        )
        if comparable(ours, 80) != comparable(record, 80):
            found.append(f"{record['id']}\n  {ours}\n  {comparable(record)}")
    assert_same(found)


def test_every_recorded_orchestration_comes_out_the_same(vectors, data, domain_called):
    recorded = records(vectors / "orchestrator.jsonl.gz")

    assert len(recorded) >= 177
    assert_same(
        line
        for record in recorded
        for line in loop_differences(record, played(record, domain_called(record["domain"]), data))
    )


@pytest.mark.parametrize("name", ["airline", "retail", "telecom", "mock"])
def test_our_tools_in_the_originals_words_are_its_schemas(
    vectors, shared_data, domain_called, name
):
    texts = load_texts(VERIFIED, shared_data / "tau2-texts")
    recorded = records(vectors / "texts" / "schemas.json")[0]["toolset_sha256"][name]
    domain = domain_called(name)
    for side, toolkit in (("assistant", domain.toolkit), ("user", domain.user_toolkit)):
        if toolkit is None:
            assert recorded[side] is None
            continue
        tools = getattr(texts.tools[name], side)
        found = describe_tools(toolkit.definitions(), tools, texts, name)
        assert sha256(canonical(found)) == recorded[side]
