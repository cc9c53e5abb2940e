import json
import shutil
from pathlib import Path

import pytest

from maseval.benchmark.macs import (
    VALID_DOMAINS,
    configure_model_ids,
    data_loader,
    download_original_data,
    ensure_data_exists,
    load_agent_config,
    load_tasks,
    process_data,
    restructure_data,
)
from maseval.benchmark.macs.data.files import ATTRIBUTION, COMMIT, MANIFEST
from maseval.core.exceptions import TaskFormatError
from maseval.core.task import Task, TaskQueue
from maseval.data.files import ChecksumError, DataUnavailableError
from tests.file_server import content

SCENARIOS = "datasets/travel/scenarios_30.json"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, macs_data: Path) -> Path:
    """An empty cache whose only source is a folder that has everything."""
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("MASEVAL_MACS_DATA", str(macs_data))
    monkeypatch.setenv("MASEVAL_OFFLINE", "1")
    return tmp_path / "cache" / "benchmark" / "macs" / "data"


def copied(macs_data: Path, target: Path) -> Path:
    shutil.copytree(macs_data, target)
    for path in [target, *target.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return target


@pytest.mark.data
def test_tasks_are_fetched_verified_and_kept(cache, monkeypatch):
    assert len(load_tasks("travel")) == 30
    assert (cache / SCENARIOS).is_file()
    monkeypatch.delenv("MASEVAL_MACS_DATA")
    assert len(load_tasks("travel", limit=3)) == 3
    assert len(load_tasks("travel", limit=0)) == 30


@pytest.mark.data
def test_files_come_from_the_pinned_commit(cache, macs_data, file_server, monkeypatch):
    monkeypatch.delenv("MASEVAL_MACS_DATA")
    monkeypatch.delenv("MASEVAL_OFFLINE")
    monkeypatch.setenv("MASEVAL_MACS_BASE_URL", file_server.url)
    file_server.answers = {
        f"/{COMMIT}/{name}": content((macs_data / name).read_bytes()) for name in MANIFEST.files
    }
    assert load_agent_config("software")["primary_agent_id"] == "software_agent"
    assert file_server.asked == [f"/{COMMIT}/datasets/software/agents.json"]
    assert len(load_tasks("software")) == 30


@pytest.mark.data
def test_a_wrong_file_in_a_checkout_is_refused(cache, macs_data, tmp_path):
    own = copied(macs_data, tmp_path / "own")
    assert len(load_tasks("travel", own)) == 30
    (own / SCENARIOS).write_text('{"scenarios": []}')
    with pytest.raises(ChecksumError, match=r"scenarios_30\.json is not the file of the benchmark"):
        load_tasks("travel", own)
    (own / SCENARIOS).unlink()
    with pytest.raises(DataUnavailableError, match=r"has no datasets/travel/scenarios_30\.json"):
        load_tasks("travel", own)


@pytest.mark.data
def test_a_folder_written_for_people_loads_the_same_tasks(cache, tmp_path):
    folder = ensure_data_exists(tmp_path / "own", verbose=0)
    assert folder == tmp_path / "own" / "restructured"
    for domain in VALID_DOMAINS:
        written = load_tasks(domain, tmp_path / "own").to_list()
        assert [vars(task) for task in written] == [vars(task) for task in load_tasks(domain)]
        assert load_agent_config(domain, tmp_path / "own") == load_agent_config(domain)


@pytest.mark.data
def test_every_written_file_with_texts_of_the_scenarios_names_its_source(cache, tmp_path):
    folder = ensure_data_exists(tmp_path / "own", verbose=0)
    for domain in VALID_DOMAINS:
        tasks = json.loads((folder / domain / "tasks.json").read_text())
        assert {task["metadata"]["attribution"] for task in tasks} == {ATTRIBUTION}
        agents = json.loads((folder / domain / "agents.json").read_text())
        assert agents["attribution"] == ATTRIBUTION


@pytest.mark.data
def test_data_is_written_again_only_if_something_is_missing_or_it_is_forced(cache):
    folder = ensure_data_exists(verbose=0)
    tasks = folder / "travel" / "tasks.json"
    tasks.write_text("[]")
    ensure_data_exists(verbose=0)
    assert tasks.read_text() == "[]"
    assert len(load_tasks("travel")) == 30, "a run does not depend on what people may edit"
    assert process_data(verbose=0) == folder
    assert len(json.loads(tasks.read_text())) == 30


@pytest.mark.data
def test_originals_are_stored_as_they_are(cache, macs_data, tmp_path):
    folder = download_original_data(tmp_path, "travel", verbose=0)
    assert folder == tmp_path / "original"
    assert (folder / "travel/scenarios.json").read_bytes() == (macs_data / SCENARIOS).read_bytes()
    assert not (folder / "mortgage").exists()


def test_one_s_own_scenarios_can_be_restructured(tmp_path):
    own = tmp_path / "original" / "travel"
    own.mkdir(parents=True)
    (own / "agents.json").write_text('{"agents": [], "primary_agent_id": "a", "human_id": "User"}')
    (own / "scenarios.json").write_text('[{"scenario": "s", "input_problem": "hi"}]')
    restructure_data(tmp_path, "travel")
    (task,) = load_tasks("travel", tmp_path)
    assert (task.query, task.metadata["scenario"]) == ("hi", "s")
    assert "attribution" not in task.metadata


@pytest.mark.parametrize("load", [load_tasks, load_agent_config])
def test_a_folder_without_the_data_says_how_to_get_it(tmp_path, load):
    with pytest.raises(FileNotFoundError, match=r"Restructured data not found: .*ensure_data_exi"):
        load("travel", tmp_path)


def test_without_originals_nothing_is_restructured(tmp_path):
    with pytest.raises(FileNotFoundError, match="Original data not found: "):
        restructure_data(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("tasks.json", "{", "is not a JSON file"),
        ("tasks.json", '{"a": 1}', "must hold a list of tasks"),
        ("agents.json", "[]", "must hold an object"),
    ],
)
def test_a_malformed_file_is_named(tmp_path, name, text, complaint):
    folder = tmp_path / "restructured" / "travel"
    folder.mkdir(parents=True)
    (folder / name).write_text(text)
    load = load_tasks if name == "tasks.json" else load_agent_config
    with pytest.raises(TaskFormatError, match=complaint):
        load("travel", tmp_path)


@pytest.mark.parametrize("call", [load_tasks, load_agent_config])
def test_an_unknown_domain_is_refused_with_the_known_ones(call):
    with pytest.raises(ValueError, match=r"Invalid domain 'bank'. Must be one of travel, mort"):
        call("bank")
    with pytest.raises(ValueError, match="Unknown domain: 'bank'"):
        download_original_data(domain="bank")
    with pytest.raises(ValueError, match=r"limit is -1; .* None or 0 for all"):
        load_tasks("travel", limit=-1)


def test_downloads_that_fail_name_the_address(file_server, monkeypatch):
    file_server.answers = {"/a.json": content(b"{no"), "/b.json": content(b'{"a": 1}')}
    assert data_loader.download_json(f"{file_server.url}/b.json") == {"a": 1}
    with pytest.raises(RuntimeError, match="Failed to decode JSON from http://"):
        data_loader.download_json(f"{file_server.url}/a.json")
    with pytest.raises(RuntimeError, match=r"Failed to download from http://.*404 Not Found"):
        data_loader.download_file(f"{file_server.url}/c.json")


def models_of(task: Task) -> list[str | None]:
    parts = (task.environment_data, task.user_data, task.evaluation_data)
    return [part.get("model_id") for part in parts]


def test_models_are_named_in_place_and_none_leaves_them_alone():
    tasks = TaskQueue([Task("a"), Task("b")])
    assert configure_model_ids(tasks, tool_model_id="t", user_model_id="u") is tasks
    configure_model_ids(tasks, tool_model_id="t", evaluator_model_id="e")
    assert [models_of(tasks[0]), models_of(tasks[1])] == [["t", "u", "e"]] * 2


def test_another_model_is_refused_and_then_no_task_is_changed():
    tasks = [Task("a"), Task("b", id="b", user_data={"model_id": "old"})]
    complaint = r"Task b already has user `model_id` set to 'old', cannot override with 'new'"
    with pytest.raises(ValueError, match=complaint):
        configure_model_ids(tasks, tool_model_id="t", user_model_id="new")
    assert models_of(tasks[0]) == [None, None, None]
