"""Every real conversation of the contract, through ATIF and back: the same words and verdicts."""

import json
from typing import Any

import pytest

from maseval import commands
from maseval.exchange.atif import read_trajectory
from maseval.exchange.atif_writing import Conversation, trajectory_of
from tests.contract.replay import records

pytestmark = [pytest.mark.contract]

CONVERSATIONS = {"airline": 366, "retail": 202, "telecom": 115}


def same(record: dict[str, Any], back: dict[str, Any]) -> bool:
    return json.dumps(record, sort_keys=True) == json.dumps(back, sort_keys=True)


def through_atif(record: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Return a record that was written as ATIF and read again, and by how much it grew."""
    root, _ = trajectory_of(Conversation(record, {"domain": "airline"}))
    text = json.dumps(root)
    found = read_trajectory(json.loads(text))
    return {"messages": found.messages, **found.own["simulation"]}, len(text)


@pytest.mark.parametrize("domain", CONVERSATIONS)
def test_real_conversations_come_back_unchanged(domain, contract_dir):
    every = [
        each["simulation"]
        for each in records(contract_dir / "conversations" / f"{domain}.jsonl.gz")
    ]
    assert len(every) == CONVERSATIONS[domain]

    found = [through_atif(each) for each in every]
    assert [at for at, each in enumerate(every) if not same(each, found[at][0])] == []
    grown = sum(size for _, size in found) / sum(len(json.dumps(each)) for each in every)
    assert grown < 1.25


@pytest.mark.parametrize(
    "file",
    [
        *(f"evaluations/{name}" for name in ("airline", "mock", "retail", "telecom")),
        *(f"v1.0.1/evaluations/{name}" for name in ("airline", "retail", "telecom")),
        "banking/evaluations",
    ],
)
def test_made_up_conversations_come_back_unchanged(file, contract_dir):
    path = contract_dir / f"{file}.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"the contract has no {file}")
    every = [each["simulation"] for each in records(path)]

    assert every
    assert [at for at, each in enumerate(every) if not same(each, through_atif(each)[0])] == []


@pytest.mark.data
@pytest.mark.parametrize("domain", CONVERSATIONS)
def test_real_conversations_are_judged_the_same(domain, contract_dir, tau2_data, tmp_path):
    original = contract_dir / "conversations" / f"{domain}.jsonl.gz"
    (exported,) = commands.export(original, "atif", tmp_path / "all.jsonl", single=True)

    scores = commands.score([original, exported.path])
    first, second = (each.to_dict() for each in scores)
    for each in (first, second):
        del each["path"], each["version_from"]
    assert first == second
    assert (
        second["agreeing"] == second["compared"] == CONVERSATIONS[domain] - 2 * (domain == "retail")
    )
    one, two = ([each.reward for each in score.simulations] for score in scores)
    assert one == two
