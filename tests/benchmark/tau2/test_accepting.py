"""Other right end states are recognised, and nothing else is."""

import gzip
import json
import re
from dataclasses import replace
from typing import Any

import pytest

from maseval.benchmark.tau2 import Broken, Kind, rule
from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.domains.domain import Domain, OpenChoice
from maseval.benchmark.tau2.review.errata import errata_for, sound_finding
from maseval.benchmark.tau2.review.errata.sound import other_right_end
from maseval.benchmark.tau2.scoring.case import open_case
from maseval.benchmark.tau2.scoring.score import score
from tests.benchmark.tau2.compliance import breaches, gold_talk
from tests.benchmark.tau2.staged import gold, staged
from tests.benchmark.tau2.todo_list import COMPLETE, CREATE, do, task, todo_list

OTHER = do("create_task", user_id="user_1", title="Holiday")
AGAIN = do("update_task_status", task_id="task_1", status="pending")
TITLE = OpenChoice("title", "title", ("create_task",), re.compile("called", re.IGNORECASE))


def recognised(
    domain: Domain | str,
    raw: dict[str, Any],
    actions: list[dict[str, Any]],
    errata: tuple[Any, ...] = (),
    version: str | None = None,
    **changes: Any,
) -> str | None:
    case = open_case(staged(domain, raw, actions, **changes), domain, raw, version=version)
    return other_right_end(case, errata, score(case).reward_info)


def titled(title: str) -> dict[str, Any]:
    return do("create_task", user_id="user_1", title=title)


@pytest.mark.parametrize(
    ("gold", "made", "words"),
    [
        ([CREATE, OTHER], [OTHER, CREATE], "the same calls in another order"),
        ([COMPLETE, AGAIN], [AGAIN, COMPLETE], None),  # of one record
        ([titled("5 Elm Street, Suite 2")], [titled("5 elm St Ste. 2")], "title written '5 elm"),
        ([titled("5 Elm Street, Suite 2")], [titled("6 Elm St Ste. 2")], None),
        ([titled("Pay $14.50.")], [titled("pay 14.50")], "title written 'pay 14.50'"),
        ([titled("Pay $14.50.")], [titled("Pay $1450")], None),
    ],
)
def test_other_orders_and_spellings_are_as_right(tmp_path, gold, made, words):
    raw = task(*gold)

    found = recognised(todo_list(tmp_path, raw), raw, made)

    assert found is None if words is None else found.startswith(words)


def test_a_choice_that_the_scenario_leaves_open_may_be_made(tmp_path):
    raw = task(CREATE)
    domain = replace(todo_list(tmp_path, raw), choices=(TITLE,))

    assert recognised(domain, raw, [OTHER]) == "title Holiday instead of Meeting"
    settled = {**raw, "user_scenario": {"instructions": "It is called Meeting."}}
    assert recognised(domain, settled, [OTHER]) is None
    for more in ([OTHER, COMPLETE], [OTHER, OTHER], []):
        assert recognised(domain, raw, more) is None


def test_a_choice_against_the_policy_is_not_accepted(tmp_path):
    @rule("todo.no_holiday", Kind.STATE, place="Titles", tools=["create_task"])
    def no_holiday(moment):
        """Nobody has a holiday."""
        if moment.arguments.get("title") == "Holiday":
            yield Broken("nobody has a holiday")

    raw = task(CREATE)
    domain = replace(todo_list(tmp_path, raw), choices=(TITLE,), rules=(no_holiday,))

    assert recognised(domain, raw, [OTHER]) is None
    wished = ({"role": "user", "content": "Put the doctor on it."},)
    doctor = [titled("Doctor")]
    assert recognised(domain, raw, doctor, before=wished) == "title Doctor instead of Meeting"
    assert recognised(domain, raw, doctor) is None, "nobody named the title"


@pytest.mark.data
@pytest.mark.usefixtures("tau2_data")
class TestPublishedTasks:
    def test_an_address_may_be_spelled_otherwise(self):
        raw = load_raw_task("retail", "59")
        actions = [json.loads(json.dumps(each)) for each in gold(raw)]
        actions[-1]["arguments"] |= {"address1": "1234 Elm Street", "country": "United States"}

        found = recognised("retail", raw, actions)

        assert "address1 written '1234 Elm Street' instead of '1234 Elm St'" in found
        actions[-1]["arguments"]["zip"] = "62702"
        assert recognised("retail", raw, actions) is None

    def test_items_may_be_listed_in_any_order_with_what_replaces_them(self):
        raw = load_raw_task("retail", "36")
        actions = [json.loads(json.dumps(each)) for each in gold(raw)]
        listed = actions[-1]["arguments"]
        for key in ("item_ids", "new_item_ids"):
            listed[key] = listed[key][::-1]

        assert recognised("retail", raw, actions) == "items in another order"
        listed["item_ids"] = listed["item_ids"][::-1]
        assert recognised("retail", raw, actions) is None

    @pytest.mark.usefixtures("tau2_data_of_1_0_1")
    def test_bookings_may_be_made_in_any_order(self) -> None:
        raw = load_raw_task("airline", "23", version="1.0.1")
        *before, second, third = gold(raw)
        actions = [*before, third, second]

        found = recognised("airline", raw, actions, version="1.0.1")

        assert found == "the same calls in another order"

    def test_a_change_that_was_to_be_taken_back_may_not_come_last(self):
        raw = load_raw_task("retail", "22")
        there, order, back = (each for each in gold(raw) if each["name"].startswith("modify"))

        assert recognised("retail", raw, [back, order, there]) is None

    @pytest.mark.parametrize("domain", ["airline", "retail"])
    def test_no_breach_of_a_rule_is_taken_for_another_right_end(self, domain):
        tried = 0
        for case in breaches.cases(domain):
            raw = load_raw_task(domain, case["task"])
            steps = breaches.edited(case, raw, breaches.base(domain, raw))
            ended = open_case(gold_talk.play(domain, raw, steps), domain, raw)
            errata, official = errata_for(domain, raw["id"]), score(ended).reward_info
            if case["rule"] and official["reward"] != 1.0:
                tried += 1
                assert other_right_end(ended, errata, official) is None, case
        assert tried > 15

    @pytest.mark.contract
    def test_the_public_conversations_that_ended_otherwise_and_right(self, contract_dir):
        found = {}
        with gzip.open(contract_dir / "conversations/retail.jsonl.gz", "rt") as lines:
            for record in map(json.loads, lines):
                if record["task_id"] in ("38", "64", "74", "90", "100"):
                    case = open_case(record["simulation"], "retail")
                    sound = sound_finding(case)
                    if sound is not None:
                        found[record["id"][:8]] = sound.text

        prefix = "another right end state: "
        assert found == {
            "18340a05": f"{prefix}reason ordered by mistake instead of no longer needed",
            "0e720c9a": f"{prefix}reason ordered by mistake instead of no longer needed",
            "146a90eb": f"{prefix}new item ids 6117189161 instead of 6700049080",
            "47dbffbf": f"{prefix}payment method paypal_3650980 instead of credit_card_3261838",
        }


@pytest.mark.data
@pytest.mark.usefixtures("banking_data", "tau2_texts")
class TestBank:
    """What counts are the calls within calls."""

    def found(self, number: str, tool: str, **changes: Any) -> str | None:
        raw = load_raw_task("banking_knowledge", f"task_{number}", version="1.0.1")
        actions = []
        for action in raw["evaluation_criteria"]["actions"]:
            given = action["arguments"]
            if given.get("agent_tool_name") == tool and "arguments" in given:
                inner = json.loads(given["arguments"]) | changes
                action = {**action, "arguments": {**given, "arguments": json.dumps(inner)}}
            actions.append(action)
        return recognised("banking_knowledge", raw, actions, version="1.0.1")

    def test_why_an_account_is_closed_may_be_said(self):
        told = self.found("060", "close_bank_account_7392", reason="Too basic")

        assert told == "reason for closing Too basic instead of None"

    def test_shipping_may_be_chosen_where_nobody_is_told_and_not_where_they_are(self):
        order = "order_replacement_credit_card_7291"

        assert self.found("054", order, expedited_shipping=False).startswith("expedited shipping")
        assert self.found("036", order, expedited_shipping=False) is None

    def test_an_amount_may_not_be_another(self):
        credit = "apply_checking_account_credit_5829"

        assert self.found("072", credit, amount=1400) is None
