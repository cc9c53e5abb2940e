"""Cases to score: the task and the data that belong to a recorded conversation."""

import shutil

import pytest

from maseval.benchmark.tau2.conversation.recording import read_recording
from maseval.benchmark.tau2.data_loader import ensure_data_exists, load_tasks
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.scoring.case import KnownTask, case_of


@pytest.fixture
def own_folder(tmp_path):
    """A copy of the data of retail in a folder of its own."""
    folder = tmp_path / "own"
    shutil.copytree(
        ensure_data_exists(domain="retail") / "domains" / "retail", folder / "domains" / "retail"
    )
    return folder


def test_a_task_is_scored_with_the_data_folder_it_was_loaded_from(own_folder):
    retail = domain_named("retail")
    task = load_tasks("retail", limit=1)[0]
    task.environment_data["data_dir"] = str(own_folder)
    silent = {"task_id": task.id, "termination_reason": "user_stop", "messages": []}

    own = case_of(read_recording(silent), retail, task)
    given = case_of(read_recording(silent), retail, task, data_dir=ensure_data_exists())

    assert own.setting.folder == own_folder / "domains" / "retail"
    assert given.setting.folder != own.setting.folder


def test_published_files_are_hashed_before_their_first_use_and_then_known(own_folder):
    retail = domain_named("retail")
    silent = {"task_id": "0", "termination_reason": "user_stop", "messages": []}

    def state():
        return case_of(read_recording(silent), retail, data_dir=own_folder).replay().state()

    before = state()
    for name in ("db.json", "tasks.json"):
        (own_folder / "domains" / "retail" / name).write_text("edited")

    assert state() == before


@pytest.mark.parametrize("other", [True, 1.0, "1", 2])
def test_tasks_of_equal_content_are_read_once_and_no_others(other):
    def task(value):
        action = {"action_id": "a", "name": "call", "arguments": {"x": value}}
        return {"id": "t", "evaluation_criteria": {"actions": [action]}}

    first = KnownTask.of(task(1)).spec
    changed = task(1)
    changed["evaluation_criteria"]["actions"][0]["arguments"]["x"] = other
    (action,) = KnownTask.of(changed).spec.actions

    assert KnownTask.of(task(1)).spec is first
    assert type(action.arguments["x"]) is type(other)
    assert (action.arguments["x"], first.actions[0].arguments) == (other, {"x": 1})
