"""Explanations, causes and certificates hold for the real conversations of the contract."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.certify import certify, verify
from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.results import read_results
from maseval.benchmark.tau2.review.causes import find_cause
from maseval.benchmark.tau2.review.explain import explain
from maseval.benchmark.tau2.scoring.score import score_simulation
from maseval.benchmark.tau2.world.world import World
from maseval.core.finding import WHO
from tests.contract.replay import records


def conversations(folder: Path, domain: str, step: Any) -> Any:
    return records(folder / f"conversations/{domain}.jsonl.gz")[::step]


def repaired(record: Any, found: Any, domain: str) -> tuple[Any, Any, Any]:
    """The recorded conversation with the changes really made to its messages."""
    simulation = record["simulation"]
    dropped = [(c.message_index, c.call) for c in found.repair.changes if c.kind == "leave out"]
    messages = []
    calls = []
    for index, message in enumerate(simulation["messages"]):
        for call in message.get("tool_calls") or ():
            known = {"id": "", "requestor": "assistant", **call}
            gone = any(at == index and same(known, c) for at, c in dropped)
            calls += [] if gone else [known]
        if message["role"] != "tool" and message.get("content"):
            messages.append({"role": message["role"], "content": message["content"]})
    calls += [c.call for c in found.repair.changes if c.kind == "add"]
    return simulation, messages, calls


def same(one: Any, other: Any) -> bool:
    return all(one[key] == other[key] for key in ("name", "arguments", "requestor", "id"))


@pytest.mark.parametrize(("domain", "step"), [("airline", 5), ("retail", 3), ("telecom", 4)])
def test_what_would_flip_the_verdict_of_a_real_conversation_does(
    domain, step, tau2_data, contract_dir
):
    chosen, flipped = domain_named(domain), 0
    for record in conversations(contract_dir, domain, step):
        found = explain(record["simulation"], domain=domain, solo=record["solo"])
        recorded = record["reward_info"]
        assert recorded is None or found.reward == recorded["reward"]
        json.dumps(found.to_dict())
        assert found.text()
        repair = found.repair
        if found.passed or repair is None or not repair.changes or repair.placement != "end":
            continue
        simulation, texts, calls = repaired(record, found, domain)
        raw = load_raw_task(domain, simulation["task_id"])
        messages = played(chosen, tau2_data / "domains" / domain, raw, calls, record["solo"])
        said = [{"role": "assistant", "content": info} for info in found.to_be_said]
        whole = {**simulation, "messages": [*messages, *([] if record["solo"] else texts), *said]}
        if record["solo"]:
            whole["messages"] = [m for m in whole["messages"] if m["role"] != "user"]

        verdict = score_simulation(whole, domain=domain, solo=record["solo"])

        assert verdict["reward"] == 1.0, (domain, record["id"])
        flipped += 1

    assert flipped > 5


def played(domain: str, folder: Path, raw: Any, calls: list[dict[str, Any]], solo: Any) -> Any:
    world, start = World(domain, folder, solo=solo), raw.get("initial_state") or {}
    world.set_state(start.get("initialization_data"), start.get("initialization_actions"), [])
    messages = []
    for call in calls:
        side = "assistant" if solo else call["requestor"]
        messages.append({"role": side, "content": None, "tool_calls": [call]})
        messages.append(dict(world.respond(call)))
    return messages


@pytest.mark.parametrize("domain", ["airline", "retail"])
def test_nothing_is_called_lost_that_could_still_be_repaired(domain, tau2_data, contract_dir):
    for record in conversations(contract_dir, domain, 2):
        found = explain(record["simulation"], domain=domain, solo=record["solo"])
        if found.divergence is not None and found.divergence.call is not None:
            assert not (found.repair.only_adds and found.repair.placement == "end")


def test_every_failed_conversation_has_a_cause_and_no_passed_one_has(tau2_data, contract_dir):
    who = Counter()
    for domain in ("airline", "retail", "telecom"):
        for record in conversations(contract_dir, domain, 2):
            found = find_cause(record["simulation"], domain=domain, solo=record["solo"])
            passed = record["reward_info"] is not None and record["reward_info"]["reward"] == 1.0
            assert (found is None) is passed
            if found is not None:
                assert found.who in WHO and found.rule and found.text
                who[found.who] += 1
            if record["exception"] is not None:
                assert found.who == "infrastructure"

    # Where no fact decides, nobody is named; a judge may say more.
    assert who["unclear"] <= sum(who.values()) / 2


@pytest.mark.parametrize("domain", ["airline", "retail", "telecom"])
def test_a_certificate_confirms_every_recorded_reward(domain, tau2_data, contract_dir):
    path = contract_dir / f"conversations/{domain}.jsonl.gz"
    recorded = [r for r in records(path) if r["reward_info"] is not None]

    found = certify(read_results(path))

    agreement = found.content["agreement"]
    assert agreement["equal"] == agreement["compared"] == len(recorded)
    assert found.content["numbers"][domain]["passed"] == sum(
        record["reward_info"]["reward"] == 1.0 for record in recorded
    )
    kinds = {each["kind"] for each in found.content["findings"]}
    assert not kinds & {"times out of order", "turns not in sequence", "impossible ends"}
    assert verify(found.to_json(), read_results(path)) == []
