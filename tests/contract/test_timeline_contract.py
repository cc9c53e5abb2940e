"""The timeline of every real conversation ends in the state that scoring computes."""

import pytest

from tests.contract.replay import assert_same, records
from tests.contract.timelines import timeline_differences

pytestmark = [pytest.mark.contract, pytest.mark.data]

EVERY = 12
"""One conversation in so many is compared after each of its messages."""


@pytest.mark.parametrize("name", ["airline", "retail", "telecom"])
def test_every_recorded_conversation_has_the_states_of_scoring(contract_dir, tau2_data, name):
    conversations = records(contract_dir / "conversations" / f"{name}.jsonl.gz")

    assert_same(
        difference
        for number, record in enumerate(conversations)
        for difference in timeline_differences(
            record["id"],
            record["simulation"],
            f"{name}-workflow" if record["policy_variant"] == "workflow" else name,
            "0.2.0",
            solo=record["solo"],
            every_message=number % EVERY == 0,
        )
    )


def test_conversations_of_v1_have_the_states_of_scoring(contract_dir, tau2_data_of_1_0_1):
    folder = contract_dir / "v1.0.1" / "conversations_v1"
    conversations = records(folder / "conversations.jsonl.gz")

    assert_same(
        difference
        for number, record in enumerate(conversations)
        for difference in timeline_differences(
            record["id"],
            record["simulation"],
            record["domain"],
            "1.0.1",
            every_message=number % EVERY == 0,
        )
    )
