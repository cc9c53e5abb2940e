"""Real conversations, recorded by users of the original, get the verdict the original gives."""

import json

import pytest

from maseval.benchmark.tau2.scoring.score import score_simulation
from tests.contract.replay import assert_same, records

pytestmark = [pytest.mark.contract, pytest.mark.data]

SHOWN_OF_AN_ERROR = 80


def differences(conversations):
    for record in conversations:
        domain, exception = record["domain"], record["exception"]
        if record["policy_variant"] == "workflow" and domain == "telecom":
            domain = "telecom-workflow"
        options = {"domain": domain, "solo": record["solo"]}
        before = json.dumps(record["simulation"])
        verdict = score_simulation(record["simulation"], **options)
        if json.dumps(record["simulation"]) != before:
            yield f"{record['id']} was changed by being scored"
        if exception is None:
            if json.dumps(verdict) != json.dumps(record["reward_info"]):
                yield f"{record['id']}\n  {verdict}\n  {record['reward_info']}"
            continue
        if verdict["reward"] != 0.0 or "replay_error" not in verdict["info"]:
            yield f"{record['id']} has a verdict though it cannot be replayed"
        try:
            score_simulation(record["simulation"], strict=True, **options)
        except Exception as error:
            found = {"type": type(error).__name__, "message": str(error)[:SHOWN_OF_AN_ERROR]}
            if found != exception:
                yield f"{record['id']}\n  {found}\n  {exception}"
        else:
            yield f"{record['id']} does not raise {exception}"


@pytest.mark.parametrize(("name", "count"), [("airline", 366), ("retail", 202), ("telecom", 115)])
def test_every_recorded_conversation_gets_the_same_verdict(contract_dir, tau2_data, name, count):
    conversations = records(contract_dir / "conversations" / f"{name}.jsonl.gz")

    assert len(conversations) >= count
    assert_same(differences(conversations))
