"""Every recorded evaluation is reproduced: reward, breakdown, checks, texts, errors."""

import datetime as dt
import json
import re
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.benchmark.tau2.scoring.score import score_simulation
from maseval.benchmark.tau2.world.tasks import Action
from maseval.benchmark.tau2.world.world import to_json_str
from maseval.core.scripted import ScriptedModelAdapter
from tests.contract.mock_domain import MockUser, mock_domain
from tests.contract.replay import assert_same, records

pytestmark = [pytest.mark.contract, pytest.mark.data]


def outcome(simulation: dict[str, Any], **options: Any) -> dict[str, Any]:
    """What scoring gives, in the form of a record."""
    try:
        verdict = score_simulation(simulation, strict=True, **options)
    except Exception as error:
        return {"reward_info": None, "exception": described(error)}
    return {"reward_info": json.loads(json.dumps(verdict)), "exception": None}


def described(error: Exception) -> dict[str, str]:
    fresh = re.compile(r"(Returned:\nToolMessage[^\n]*\ntimestamp: )\S+")
    return {"type": type(error).__name__, "message": fresh.sub(r"\1<TS>", str(error))}


def task_of(record: dict[str, Any], domain: Domain) -> dict[str, Any] | None:
    """The task with the record's changes; None where it has none and scoring looks it up."""
    if record["task_override"] is None:
        return None
    task = load_raw_task(domain, record["task_id"])
    changes = record["task_override"]["evaluation_criteria"]
    criteria = None if changes is None else {**task["evaluation_criteria"], **changes}
    return {**task, "evaluation_criteria": criteria}


def domain_of(name: str, contract_dir: Path) -> Domain:
    return mock_domain(contract_dir) if name == "mock" else domain_named(name)


def differences(path: Path, domain: Domain):
    for record in records(path):
        before = json.dumps(record["simulation"])
        options = {
            "domain": domain,
            "task": task_of(record, domain),
            "evaluation_type": record["evaluation_type"],
        }
        found = outcome(record["simulation"], **options)
        expected = {key: record[key] for key in found}
        if json.dumps(found) != json.dumps(expected):
            yield f"{record['id']} {record['variant']}\n  {found}\n  {expected}"
        yield from lenient_differences(record, options)
        if json.dumps(record["simulation"]) != before:
            yield f"{record['id']} was changed by being scored"


def lenient_differences(record: dict[str, Any], options: dict[str, Any]):
    """Not asked to be strict, scoring gives the same verdict, or says what went wrong."""
    try:
        verdict = score_simulation(record["simulation"], **options)
    except NoJudgeError as error:
        if described(error)["message"] != record["exception"]["message"]:
            yield f"{record['id']}: {error}"
        return
    if record["exception"] is None:
        if verdict != record["reward_info"]:
            yield f"{record['id']} differs when not strict"
    elif verdict["reward"] != 0.0 or "replay_error" not in verdict["info"]:
        yield f"{record['id']} has a verdict though it cannot be replayed"


@pytest.mark.parametrize(
    ("name", "count"), [("mock", 136), ("airline", 292), ("retail", 676), ("telecom", 674)]
)
def test_every_recorded_evaluation_comes_out_the_same(contract_dir, tau2_data, name, count):
    path = contract_dir / "evaluations" / f"{name}.jsonl.gz"

    assert len(records(path)) >= count
    assert_same(differences(path, domain_of(name, contract_dir)))


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
        judge = ScriptedModelAdapter([case["judge_reply"]])
        found = outcome(
            simulation,
            domain=domain,
            task=task,
            evaluation_type="all_with_nl_assertions",
            nl_model=judge,
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
