"""The rule for retail's assertions, measured on real conversations that were read for them."""

import gzip
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.scoring.rule import MEASURED, decide_by_rule, stands_in

pytestmark = [pytest.mark.contract, pytest.mark.data]


@pytest.fixture(scope="module")
def tasks(shared_data: Path) -> dict[str, Any]:
    path = shared_data / "tau2-v1.0.1" / "domains" / "retail" / "tasks.json"
    return {task["id"]: task["evaluation_criteria"] for task in json.loads(path.read_bytes())}


@pytest.fixture(scope="module")
def conversations(contract_dir: Path) -> dict[str, Any]:
    with gzip.open(contract_dir / "conversations" / "retail.jsonl.gz") as file:
        return {each["id"]: each for each in map(json.loads, file)}


def said_in(conversation: Any) -> list[Any]:
    messages = conversation["simulation"]["messages"]
    return [m["content"] for m in messages if m["role"] == "assistant" and m.get("content")]


def decide(criteria: Any, said: Any, ended: Any = None) -> Any:
    return decide_by_rule(
        criteria.get("nl_assertions") or [], criteria["communicate_info"], said, ended
    )


def without(value: Any, text: str) -> Any:
    """The text without a value, as if the agent had left it out."""
    if re.search("[a-z]", value, re.IGNORECASE):
        return re.sub(re.escape(value), "...", text, flags=re.IGNORECASE)
    same = Decimal(value)
    number = r"\d[\d,]*(?:\.\d+)?"
    return re.sub(number, lambda m: "..." if Decimal(m[0].replace(",", "")) == same else m[0], text)


def measured(contract_dir: Path, tasks: Any, conversations: Any) -> tuple[Any, int, Any, Any, Any]:
    """Readings that agree, values taken out that are noticed, and false yes to other tasks."""
    readings = [
        json.loads(line)
        for line in (contract_dir / "v1.0.1" / "nl_readings.jsonl").read_text().splitlines()
    ]
    agree = taken = noticed = 0
    for reading in readings:
        conversation, criteria = conversations[reading["id"]], tasks[reading["task"]]
        said = said_in(conversation)
        ended = ((conversation["reward_info"] or {}).get("db_check") or {}).get("db_match")
        agree += [check["met"] for check in decide(criteria, said, ended)] == reading["met"]
        for value in criteria["communicate_info"]:
            cut = decide(criteria, [without(value, text) for text in said])
            for check in cut:
                if stands_in(value, check["nl_assertion"]):
                    taken, noticed = taken + 1, noticed + (not check["met"])
    others = {True: [0, 0], False: [0, 0]}
    for conversation in conversations.values():
        said = said_in(conversation)
        own = tasks[conversation["task_id"]]["communicate_info"] or ()
        for criteria in [each for each in tasks.values() if each["communicate_info"]]:
            for check in decide(criteria, said):
                values = [
                    v for v in criteria["communicate_info"] if stands_in(v, check["nl_assertion"])
                ]
                if not any(stands_in(value, word) for value in values for word in own):
                    counts = others[any(any(map(str.isdigit, value)) for value in values)]
                    counts[0], counts[1] = counts[0] + check["met"], counts[1] + 1
    return agree, len(readings), noticed, taken, others


def test_the_rule_agrees_with_readings_as_it_says(contract_dir, tasks, conversations):
    agree, readings, noticed, taken, others = measured(contract_dir, tasks, conversations)
    (numbers, of_numbers), (words, of_words) = others[True], others[False]

    assert (
        f"measured: it agrees with careful reading in {agree} of {readings} real conversations, "
        f"whose assertions are all met, and notices {noticed} of {taken} values removed from what "
        f"the agent said; of other tasks' assertions it wrongly accepts {numbers} of "
        f"{of_numbers:,} with a number and {words} of {of_words:,} with words alone"
    ) == MEASURED


def test_the_rule_decides_all_tasks_that_depend_on_a_judge(tasks):
    judged = [each for each in tasks.values() if each.get("nl_assertions")]

    assert len(judged) == 40
    assert all(decide(each, [], ended=True) is not None for each in judged)
    assert sum(not each["communicate_info"] for each in judged) == 7
