import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2 import RetailTools, TelecomTools
from maseval.benchmark.tau2.data_loader import (
    BASE_SPLIT_COUNTS,
    TASK_SPLITS,
    VALID_DOMAINS,
    ChecksumError,
    MissingTasksError,
    UnknownSplitError,
    configure_model_ids,
    data_fingerprint,
    load_domain_config,
    load_raw_task,
    load_raw_tasks,
    load_tasks,
)
from maseval.benchmark.tau2.domains import DOMAINS
from maseval.core.exceptions import ConfigurationError, TaskFormatError
from maseval.core.task import Task, TaskQueue

needs_data = pytest.mark.data


@pytest.fixture
def shop(tmp_path: Path) -> Callable[..., Any]:
    """A domain that brings its own files."""

    def domain(tasks, **changes):
        (tmp_path / "tasks.json").write_text(json.dumps(tasks))
        (tmp_path / "db.json").write_text("{}")
        (tmp_path / "policy.md").write_text("Be kind.")
        return replace(DOMAINS["retail"], name="shop", data_dir=tmp_path, **changes)

    return domain


def raw_task(**changes: Any) -> dict[str, Any]:
    return {"id": "1", "user_scenario": {"instructions": "Buy a lamp."}, **changes}


# What the published data contains


@needs_data
@pytest.mark.parametrize("split", ["base", "all"])
@pytest.mark.parametrize("domain", VALID_DOMAINS)
def test_base_and_all_have_the_published_number_of_tasks(tau2_data, domain, split):
    tasks = load_tasks(domain, split=split)
    assert len(tasks) == BASE_SPLIT_COUNTS[domain]
    assert len({task.id for task in tasks}) == len(tasks)


@needs_data
@pytest.mark.parametrize("domain", ["telecom", "telecom-workflow"])
@pytest.mark.parametrize(("split", "count"), [("small", 20), ("full", 2285)])
def test_telecom_has_a_small_and_a_full_split(tau2_data, domain, split, count):
    assert len(load_raw_tasks(domain, split)) == count


@needs_data
def test_each_field_of_a_task_comes_from_its_place_in_the_file(tau2_data):
    raw = load_raw_tasks("telecom", "small")[3]
    task = load_tasks("telecom", "small")[3]
    folder = tau2_data / "domains/telecom"
    assert task.id == raw["id"]
    assert task.query == raw["user_scenario"]["instructions"]["task_instructions"]
    assert task.environment_data == {
        "domain": "telecom",
        "version": "0.2.0",
        "initial_state": raw["initial_state"],
        "tools": tuple(TelecomTools.all_tools()),
        "policy": load_domain_config("telecom")["policy"],
        "db_path": str(folder / "db.toml"),
        "user_db_path": str(folder / "user_db.toml"),
        "data_dir": str(tau2_data),
    }
    assert task.user_data == {
        "persona": raw["user_scenario"]["persona"],
        "instructions": raw["user_scenario"]["instructions"],
    }
    criteria = raw["evaluation_criteria"]
    checks = ("actions", "env_assertions", "communicate_info", "nl_assertions", "reward_basis")
    assert task.evaluation_data == {check: criteria[check] for check in checks}
    assert task.metadata == {
        "domain": "telecom",
        "split": "small",
        "description": raw["description"],
        "ticket": raw["ticket"],
    }


@needs_data
def test_a_raw_task_is_found_in_whichever_split_has_it(tau2_data):
    in_base = load_raw_tasks("telecom")[7]
    ids = {task["id"] for task in load_raw_tasks("telecom")}
    only_full = next(task for task in load_raw_tasks("telecom", "full") if task["id"] not in ids)
    assert load_raw_task("telecom", in_base["id"]) == in_base
    assert load_raw_task("telecom", only_full["id"]) == only_full
    assert load_raw_task("telecom", only_full["id"]) is not load_raw_task(
        "telecom", only_full["id"]
    )


@needs_data
def test_tasks_loaded_twice_share_nothing_that_can_be_changed(tau2_data):
    first = load_tasks("telecom", limit=1)[0]
    first.environment_data["initial_state"]["initialization_actions"].clear()
    first.evaluation_data["reward_basis"].clear()
    first.protocol.tags["domain"] = "changed"
    again = load_tasks("telecom", limit=1)[0]
    assert again.environment_data["initial_state"]["initialization_actions"]
    assert again.evaluation_data["reward_basis"]
    assert again.protocol.tags == {"domain": "telecom", "split": "base"}


# How a file becomes tasks


def test_a_domain_of_one_s_own_is_read_from_its_folder(shop, tmp_path):
    task = load_tasks(shop([raw_task(ticket="T1")]))[0]
    assert task.query == "Buy a lamp."
    assert task.environment_data == {
        "domain": "shop",
        "version": "0.2.0",
        "initial_state": None,
        "tools": tuple(RetailTools.all_tools()),
        "policy": "Be kind.",
        "db_path": str(tmp_path / "db.json"),
        "user_db_path": None,
        "data_dir": None,
    }
    assert task.evaluation_data == {
        "actions": None,
        "env_assertions": None,
        "communicate_info": None,
        "nl_assertions": None,
        "reward_basis": ["DB", "COMMUNICATE"],
    }
    assert task.metadata["ticket"] == "T1"


def test_the_fingerprint_of_a_domain_of_one_s_own_is_taken_from_its_files(shop):
    domain = shop([raw_task()])
    before = data_fingerprint(domain)
    assert before["policy"] == hashlib.sha256(b"Be kind.").hexdigest()
    shop([raw_task(), raw_task(id="2")])
    after = data_fingerprint(domain)
    assert {name for name in before if before[name] != after[name]} == {"tasks"}
    assert before["tasks"].items() < after["tasks"].items()


@pytest.mark.parametrize(
    ("scenario", "query"),
    [
        ({"instructions": "Buy a lamp."}, "Buy a lamp."),
        ({"instructions": {"task_instructions": "Be brief."}}, "Be brief."),
        ({"instructions": {"reason_for_call": "A lamp."}}, ""),
        ({}, ""),
        (None, ""),
    ],
)
def test_the_query_is_what_the_customer_is_told_to_do(shop, scenario, query):
    assert load_tasks(shop([raw_task(user_scenario=scenario)]))[0].query == query


@pytest.mark.parametrize("file", [[raw_task()], {"tasks": [raw_task()]}])
def test_a_file_of_tasks_is_a_list_or_has_one(shop, file):
    assert [task.id for task in load_tasks(shop(file))] == ["1"]


@pytest.mark.parametrize("file", [{}, {"tasks": 1}, "tasks", None])
def test_a_file_without_a_list_of_tasks_is_refused(shop, file):
    with pytest.raises(TaskFormatError, match=r"tasks\.json must hold a list"):
        load_tasks(shop(file))


def test_a_file_that_is_not_json_is_refused(shop, tmp_path):
    domain = shop([])
    (tmp_path / "tasks.json").write_text("[{]")
    with pytest.raises(TaskFormatError, match=r"tasks\.json is not a JSON file"):
        load_raw_tasks(domain)


def test_a_task_without_an_id_gets_one(shop):
    tasks = load_tasks(shop([raw_task(id=""), raw_task(id=None), raw_task(id=7)]))
    assert tasks[2].id == "7"
    assert len({task.id for task in tasks}) == 3
    assert all(task.id not in ("", "None") for task in tasks)


@pytest.mark.parametrize(("limit", "count"), [(None, 3), (0, 3), (2, 2), (9, 3)])
def test_the_limit_cuts_the_list_and_nothing_means_no_limit(shop, limit, count):
    tasks = load_tasks(shop([raw_task(id=str(n)) for n in range(3)]), limit=limit)
    assert [task.id for task in tasks] == ["0", "1", "2"][:count]


def test_tasks_can_be_named_and_come_in_the_order_of_the_file(shop):
    domain = shop([raw_task(id=str(n)) for n in range(4)])

    assert [task.id for task in load_tasks(domain, task_ids=["3", "1"])] == ["1", "3"]
    for missing in (["1", "9"], ["1", "1"]):
        with pytest.raises(MissingTasksError, match="Not all tasks were found"):
            load_tasks(domain, task_ids=missing)


def test_a_negative_limit_is_refused(shop):
    with pytest.raises(ConfigurationError, match=r"limit is -1; .* None or 0 for all"):
        load_tasks(shop([]), limit=-1)


def test_time_limit_and_retries_reach_every_task(shop):
    default, own = (
        load_tasks(shop([raw_task()])),
        load_tasks(shop([raw_task()]), timeout_seconds=None, max_retries=3),
    )
    assert (default[0].protocol.timeout_seconds, default[0].protocol.max_retries) == (600.0, 1)
    assert (own[0].protocol.timeout_seconds, own[0].protocol.max_retries) == (None, 3)
    assert own[0].protocol.tags == {"domain": "shop", "split": "base"}


@pytest.mark.parametrize("domain", VALID_DOMAINS)
def test_every_listed_split_has_tasks_and_any_other_is_refused_with_the_list(domain):
    assert all(len(load_tasks(domain, split)) for split in TASK_SPLITS)
    with pytest.raises(UnknownSplitError, match=r"Invalid split 'hard'.*base.*all") as refusal:
        load_tasks(domain, split="hard")
    assert isinstance(refusal.value, ValueError)


# Which models play along


@pytest.mark.parametrize("collect", [list, TaskQueue])
def test_model_ids_are_set_in_every_task_of_the_same_collection(collect):
    tasks = collect([Task("a"), Task("b")])
    assert configure_model_ids(tasks, user_model_id="u", evaluator_model_id="e") is tasks
    assert [task.user_data for task in tasks] == [{"model_id": "u"}] * 2
    assert [task.evaluation_data for task in tasks] == [{"model_id": "e"}] * 2


def test_a_model_id_that_is_not_given_stays_as_it_is():
    task = Task("a", user_data={"model_id": "u"})
    configure_model_ids([task], evaluator_model_id="e")
    configure_model_ids([task])
    assert (task.user_data, task.evaluation_data) == ({"model_id": "u"}, {"model_id": "e"})


@pytest.mark.parametrize(
    ("taken", "role"), [("user_data", "user"), ("evaluation_data", "evaluator")]
)
def test_another_model_id_is_refused_and_then_no_task_is_changed(taken, role):
    tasks = [Task("a"), Task("b", id="t2", **{taken: {"model_id": "old"}})]
    with pytest.raises(
        ConfigurationError, match=f"'t2' already has {role} `model_id` set to 'old'"
    ):
        configure_model_ids(tasks, user_model_id="new", evaluator_model_id="new")
    assert tasks[0].user_data == tasks[0].evaluation_data == {}


@needs_data
def test_tasks_that_were_edited_are_refused_though_size_and_time_were_kept(tau2_data, tmp_path):
    shutil.copytree(tau2_data / "domains" / "airline", tmp_path / "domains" / "airline")
    tasks = tmp_path / "domains" / "airline" / "tasks.json"
    assert len(load_tasks("airline", data_dir=tmp_path)) == 50
    state, content = tasks.stat(), tasks.read_text()
    tasks.write_text(content.replace(" the ", " teh ", 1))
    os.utime(tasks, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert (tasks.stat().st_size, tasks.stat().st_mtime_ns) == (state.st_size, state.st_mtime_ns)

    with pytest.raises(ChecksumError, match=r"tasks\.json is not the file of the benchmark"):
        load_tasks("airline", data_dir=tmp_path)
