"""What the rules find in passing public conversations is what was read there, and found right."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.review.policy import PolicyResult, check_case
from maseval.benchmark.tau2.scoring.case import open_case
from tests.contract.replay import records

pytestmark = [pytest.mark.data, pytest.mark.usefixtures("tau2_data", "tau2_data_of_1_0_1")]
LATER = {"airline": "airline", "telecom": "telecom-workflow"}
READ = json.loads(Path(__file__).with_name("readings_passing.json").read_text(encoding="utf-8"))


def public_conversations(
    folder: Path, domain: str
) -> Iterator[tuple[str, dict[str, Any] | None, PolicyResult]]:
    """The recorded conversations with their verdicts, and what the rules find."""
    for row in records(folder / f"conversations/{domain}.jsonl.gz"):
        case = open_case(row["simulation"], domain, solo=row["solo"])
        yield row["id"], row["reward_info"], check_case(case)
    for row in records(folder / "v1.0.1/conversations_v1/conversations.jsonl.gz"):
        if row["domain"] == LATER.get(domain):
            task = row["embedded_task"]
            case = open_case(row["simulation"], row["domain"], task, version="1.0.1")
            yield row["id"], row["recorded_reward_info"], check_case(case)


@pytest.mark.parametrize("domain", ["airline", "retail", "telecom"])
def test_every_breach_in_a_passing_public_conversation_was_read_as_right(
    domain: str, contract_dir: Path
) -> None:
    seen, undecided, checked = set(), 0, 0
    for name, verdict, found in public_conversations(contract_dir, domain):
        assert not found.failed_rules and found.unreadable is None, name
        checked += 1
        undecided += found.without_breaches_found is None
        if (verdict or {}).get("reward") == 1.0:
            seen |= {(name, each.rule, each.message) for each in found.findings if each.counts}
    assert seen == {
        (each["conversation"], each["rule"], each["message_index"])
        for each in READ
        if each["rule"].startswith(f"{domain}.")
    }
    assert {each["verdict"] for each in READ} == {"true"}
    assert undecided <= 0.02 * checked
