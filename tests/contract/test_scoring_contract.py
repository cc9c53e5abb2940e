"""Verdicts of the later releases: every recorded evaluation and real conversation, key by key."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.scoring.score import score_simulation
from maseval.core.scripted import ScriptedModelAdapter
from tests.contract.replay import assert_same, records

pytestmark = [pytest.mark.contract, pytest.mark.data]

SHOWN_OF_AN_ERROR = 80
TIMESTAMP = re.compile(r"timestamp: \S+")
# These texts are Python's or a library's; the vectors have those of Python 3.12.
FOREIGN_TEXTS = ("TypeError", "AttributeError", "ValidationError")


def outcome(
    simulation: dict[str, Any], judge_reply: str | None, with_judge: bool = True, **options: Any
) -> dict[str, Any]:
    """What scoring gives, in the form of a record; a judge is there only if one was asked."""
    judge = ScriptedModelAdapter([] if judge_reply is None else [judge_reply])
    options["nl_model"] = judge if with_judge else None
    before = json.dumps(simulation)
    try:
        verdict = score_simulation(simulation, strict=True, **options)
        found = {"reward_info": json.loads(json.dumps(verdict)), "exception": None}
    except Exception as error:
        found = {
            "reward_info": None,
            "exception": {"type": type(error).__name__, "message": str(error)},
        }
    assert json.dumps(simulation) == before, "changed by being scored"
    return found


def comparable(
    outcome: dict[str, Any], shown: int | None = None, python: tuple[int, int] = (3, 12)
) -> str:
    exception = outcome["exception"]
    if exception is not None:
        text: str | None = TIMESTAMP.sub("timestamp: <TS>", exception["message"])[:shown]
        if exception["type"] in FOREIGN_TEXTS and sys.version_info[:2] != python:
            text = None
        exception = {"type": exception["type"], "message": text}
    return json.dumps({"reward_info": outcome["reward_info"], "exception": exception})


def task_of(record: dict[str, Any], domain: Domain, own: str) -> dict[str, Any] | None:
    """The task with the record's changes; None where it has none and scoring looks it up."""
    override, version = record["task_override"], record["task_source"]
    if override is None and version == own:
        return None
    task: dict[str, Any] = dict(load_raw_task(domain, record["task_id"], version=version))
    for key, value in (override or {}).items():
        if key == "evaluation_criteria" and value is not None:
            value = {**task["evaluation_criteria"], **value}
        task[key] = value
    return task


LATER = pytest.mark.parametrize("recorded", ["1.0.1", "verified"], indirect=True)
EVALUATIONS = {
    "1.0.1": {"airline": 134, "mock": 44, "retail": 161, "telecom": 127},
    "verified": {"airline": 236, "mock": 51, "retail": 237, "telecom": 102},
}
# The Python with which each was recorded.
PYTHON = {"1.0.1": (3, 12), "verified": (3, 11)}


@LATER
def test_every_recorded_evaluation_comes_out_the_same(recorded):
    counts = {}
    for file in sorted((recorded.vectors / "evaluations").iterdir()):
        name, vectors = file.name.partition(".")[0], records(file)
        counts[name] = len(vectors)
        assert_same(evaluation_differences(vectors, recorded.domain(name), recorded.version))
    assert counts == EVALUATIONS[recorded.version]


def evaluation_differences(
    recorded: list[dict[str, Any]], domain: Domain, version: str
) -> Iterator[str]:
    for record in recorded:
        # Only one release replays leniently; of the other, a judge is recorded where it was asked.
        lenient = {"lenient_replay": not record["strict_replay"]} if version == "1.0.1" else {}
        judged = version == "1.0.1" or record["judge_calls"] > 0
        found = outcome(
            record["simulation"],
            record["judge_reply"] if judged else None,
            with_judge=judged,
            domain=domain,
            task=task_of(record, domain, version),
            evaluation_type=record["evaluation_type"],
            solo=record["solo_mode"],
            version=version,
            **lenient,
        )
        python = PYTHON[version]
        if comparable(found, python=python) != comparable(record, python=python):
            yield f"{record['id']} {record['variant']}\n  {found}\n  {comparable(record)}"


@pytest.fixture(scope="module")
def conversations(contract_dir: Path) -> dict[str, dict[str, Any]]:
    files = sorted((contract_dir / "conversations").glob("*.jsonl.gz"))
    files.append(contract_dir / "v1.0.1" / "conversations_v1" / "conversations.jsonl.gz")
    return {record["id"]: record for file in files for record in records(file)}


# The file of verdicts, and how many there are under each set of tasks.
VERDICTS = [
    ("1.0.1", "conversation_verdicts", {"0.2.0": 400, "1.0.1": 400}),
    ("verified", "conversation_verdicts", {"verified": 398}),
    ("verified", "conversation_verdicts_v1", {"verified": 48}),
]


@pytest.mark.parametrize(("recorded", "file", "counts"), VERDICTS, indirect=["recorded"])
def test_real_conversations_get_the_recorded_verdicts_under_every_set_of_tasks(
    recorded, file, counts, conversations
):
    vectors = records(recorded.vectors / f"{file}.jsonl.gz")

    for tasks, least in counts.items():
        own = [each for each in vectors if each.get("tasks", tasks) == tasks]
        assert len(own) >= least
        assert_same(verdict_differences(own, conversations, recorded.version))


def verdict_differences(
    recorded: list[dict[str, Any]], conversations: dict[str, dict[str, Any]], version: str
) -> Iterator[str]:
    for record in recorded:
        conversation = conversations[record["id"]]
        variant = conversation.get("policy_variant")
        workflow = record["domain"] == "telecom" and variant == "workflow"
        options: dict[str, Any] = {"version": version, "with_judge": version == "1.0.1"}
        if version == "1.0.1":
            options["lenient_replay"] = not record["strict_replay"]
            if record["tasks"] != version:
                options["version"] = f"{version}+tasks.{record['tasks']}"
        found = outcome(
            conversation["simulation"],
            record["judge_reply"] if version == "1.0.1" else None,
            domain="telecom-workflow" if workflow else record["domain"],
            solo=record.get("solo", False),
            **options,
        )
        if comparable(found, SHOWN_OF_AN_ERROR) != comparable(record, SHOWN_OF_AN_ERROR):
            yield f"{record['id']}\n  {found}\n  {comparable(record)}"


def test_real_conversations_of_v1_get_the_verdict_that_was_recorded(
    contract_dir, tau2_data_of_1_0_1
):
    folder = contract_dir / "v1.0.1" / "conversations_v1"
    recorded = records(folder / "conversations.jsonl.gz")

    assert len(recorded) >= 51
    assert_same(conversation_differences(recorded))


def conversation_differences(recorded: list[dict[str, Any]]) -> Iterator[str]:
    for record in recorded:
        for tasks, expected in record["v1_0_1"].items():
            task = record["embedded_task"] if tasks == "embedded" else None
            found = outcome(
                record["simulation"], None, domain=record["domain"], task=task, version="1.0.1"
            )
            if comparable(found) != comparable(expected):
                yield f"{record['id']} ({tasks})\n  {found}\n  {expected}"
        if found["reward_info"]["reward"] != record["recorded_reward_info"]["reward"]:
            yield f"{record['id']}: its author got {record['recorded_reward_info']['reward']}"


def test_the_default_is_still_v0_2_0(tau2_data, conversations):
    record = next(
        each
        for each in conversations.values()
        if each.get("reward_info") and each["domain"] == "retail"
    )

    plain = score_simulation(record["simulation"], domain="retail")

    assert plain == score_simulation(record["simulation"], domain="retail", version="0.2.0")
    assert plain == record["reward_info"]
