"""Verdicts of each release: every recorded evaluation and real conversation, key by key."""

import datetime as dt
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.benchmark.tau2.scoring.score import score_simulation
from maseval.benchmark.tau2.world.tasks import Action
from maseval.benchmark.tau2.world.world import to_json_str
from maseval.core.scripted import ScriptedModelAdapter
from tests.contract.mock_domain import MockUser, mock_domain
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
    override, version = record["task_override"], record.get("task_source", own)
    if override is None and version == own:
        return None
    task: dict[str, Any] = dict(load_raw_task(domain, record["task_id"], version=version))
    for key, value in (override or {}).items():
        if key == "evaluation_criteria" and value is not None:
            value = {**task["evaluation_criteria"], **value}
        task[key] = value
    return task


EVALUATIONS = {
    "0.2.0": {"airline": 292, "mock": 136, "retail": 676, "telecom": 674},
    "1.0.1": {"airline": 134, "mock": 44, "retail": 161, "telecom": 127},
    "verified": {"airline": 236, "mock": 51, "retail": 237, "telecom": 102},
}
# The Python with which each was recorded.
PYTHON = {"0.2.0": (3, 11), "1.0.1": (3, 12), "verified": (3, 11)}


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
        judged = version == "1.0.1" or record.get("judge_calls", 0) > 0
        options: dict[str, Any] = {
            "domain": domain,
            "task": task_of(record, domain, version),
            "evaluation_type": record["evaluation_type"],
            "solo": record.get("solo_mode", False),
            "version": version,
        }
        found = outcome(
            record["simulation"],
            record["judge_reply"] if judged else None,
            with_judge=judged,
            **options,
            **lenient,
        )
        python = PYTHON[version]
        if comparable(found, python=python) != comparable(record, python=python):
            yield f"{record['id']} {record['variant']}\n  {found}\n  {comparable(record)}"
        if version == "0.2.0":
            yield from lenient_differences(record, options)


def lenient_differences(record: dict[str, Any], options: dict[str, Any]) -> Iterator[str]:
    """Not asked to be strict, scoring gives the same verdict, or says what went wrong."""
    try:
        verdict = score_simulation(record["simulation"], **options)
    except NoJudgeError as error:
        if str(error) != record["exception"]["message"]:
            yield f"{record['id']}: {error}"
        return
    if record["exception"] is None:
        if verdict != record["reward_info"]:
            yield f"{record['id']} differs when not strict"
    elif verdict["reward"] != 0.0 or "replay_error" not in verdict["info"]:
        yield f"{record['id']} has a verdict though it cannot be replayed"


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


def recorded_user_sim(contract_dir: Path) -> dict[str, Any]:
    return records(contract_dir / "user_sim.json")[0]


def test_a_judges_reply_is_read_as_recorded(contract_dir):
    domain = mock_domain(contract_dir)
    for case in recorded_user_sim(contract_dir)["nl_judge"]["cases"]:
        task = load_raw_task(domain, "create_task_1_nl_eval")
        task["evaluation_criteria"] = {
            "actions": [],
            "nl_assertions": case["nl_assertions"],
            "reward_basis": case["reward_basis"],
        }
        simulation = {"messages": case["trajectory"], "termination_reason": "user_stop"}
        kind = "all_with_nl_assertions"
        found = outcome(
            simulation, case["judge_reply"], domain=domain, task=task, evaluation_type=kind
        )
        assert found["reward_info"] == case.get("reward_info"), case
        assert (found["exception"] or {}).get("type") == (case["exception"] or {}).get("type")


def test_calls_match_actions_as_recorded(contract_dir):
    for case in recorded_user_sim(contract_dir)["compare_action"]:
        for requestor, expected in (("assistant", "match"), ("user", "match_user_requestor")):
            action = Action(
                action_id="a",
                name="f",
                arguments=case["action_args"],
                compare_args=case["compare_args"],
            )
            call = {
                "name": case["tool_name"],
                "arguments": case["tool_args"],
                "requestor": requestor,
            }
            assert action.matches(call) is case[expected], case


VALUES = {
    "None": None,
    "int 3": 3,
    'list [1, 2.5, "x", None, False]': [1, 2.5, "x", None, False],
    'dict {"a":1,"b":[1.0,{"c":None}]}': {"a": 1, "b": [1.0, {"c": None}]},
    'tuple (1,"a")': (1, "a"),
    "date(2025,2,28)": dt.date(2025, 2, 28),
    "datetime(2025,2,28,1,2,3)": dt.datetime(2025, 2, 28, 1, 2, 3),
    "dict with date value": {"d": dt.date(2025, 2, 28)},
    'unicode list ["é"]': ["é"],
    "model mock User(user_id=u,name=n,tasks=[t])": MockUser(user_id="u", name="n", tasks=["t"]),
    "dict int keys {1:2}": {1: 2},
    "empty list": [],
    "list [nan]": [float("nan")],
    "bytes": b"",
    "object()": object(),
}


def test_results_become_text_as_recorded(contract_dir):
    cases = recorded_user_sim(contract_dir)["to_json_str"]
    assert {case["value"] for case in cases} <= VALUES.keys()
    for case in cases:
        if "exception" in case:
            with pytest.raises(ValueError, match=re.escape(case["message"])):
                to_json_str(VALUES[case["value"]])
        else:
            assert to_json_str(VALUES[case["value"]]) == case["out"]
