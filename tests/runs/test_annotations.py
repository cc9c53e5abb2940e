"""Tags and notes of runs and results files."""

import errno
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.runs import (
    RunFolder,
    RunFolderError,
    RunLockedError,
    annotations,
    change_note,
    change_tags,
    list_runs,
    read_annotations,
    run_state,
)
from maseval.runs.annotations import annotations_path, change_annotations
from maseval.runs.lock import FolderLock
from tests.runs.worlds import config, finished_run


def test_tags_and_note_are_kept_beside_the_log_which_stays_as_it_is(tmp_path):
    path = finished_run(tmp_path / "run", "a")
    log = (path / "log.jsonl").read_bytes()

    change_tags(path, ["baseline", "paper"])
    change_note(path, "Temperature 0.\r\nNo retries.")
    change_tags(path, ["final"], ["paper"])

    [state] = list_runs(tmp_path)
    assert state.annotations.tags == ("baseline", "final")
    assert state.annotations.note == "Temperature 0.\nNo retries."
    assert (path / "log.jsonl").read_bytes() == log
    assert state.state == "complete"


def test_a_results_file_has_them_beside_it(tmp_path):
    file = tmp_path / "theirs.json"
    file.write_text("{}")

    change_tags(file, ["published"])

    assert read_annotations(file).tags == ("published",)
    assert annotations_path(file) == tmp_path / "theirs.json.annotations"
    assert file.read_text() == "{}"


def test_people_who_edit_at_the_same_time_lose_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(annotations, "_ATTEMPTS", 6000)  # however busy the disk is
    path = finished_run(tmp_path / "run", "a")
    names = {f"{name}{number}" for name in "abcdefgh" for number in range(5)}
    start = threading.Barrier(8)

    def write(name):
        start.wait()
        for each in sorted(each for each in names if each[0] == name):
            change_tags(path, [each])
            change_note(path, f"note of {name}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, "abcdefgh"))

    found = read_annotations(path)
    assert set(found.tags) == names
    assert found.note.startswith("note of ")


def test_where_there_are_no_locks_editors_wait_for_each_other_as_well(tmp_path, monkeypatch):
    def unsupported(descriptor, operation):
        raise OSError(errno.ENOLCK, "no locks available")

    def change(present):
        with pytest.raises(RunLockedError):
            FolderLock(path / ".annotations.json.lock")
        return present.with_tags(["mine"])

    monkeypatch.setattr("fcntl.flock", unsupported)
    path = finished_run(tmp_path / "run", "a")

    assert change_annotations(path, change).tags == ("mine",)
    assert change_tags(path, ["yours"]).tags == ("mine", "yours")


def test_a_run_may_be_annotated_while_it_is_running_and_resumed_afterwards(tmp_path):
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        change_tags(folder.path, ["watched"])
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        assert run_state(folder.path).annotations.tags == ("watched",)


@pytest.mark.parametrize(
    "tag",
    ["", "   ", "a,b", "two\nlines", "bell\a", "hidden\u200b", "\u202eback", "x" * 61],
)
def test_what_cannot_be_a_tag_is_refused_and_nothing_is_written(tmp_path, tag):
    path = finished_run(tmp_path / "run", "a")

    with pytest.raises(ConfigurationError, match="cannot be a tag"):
        change_tags(path, ["good", tag])

    assert not annotations_path(path).exists()


def test_a_note_with_control_characters_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="control characters"):
        change_note(finished_run(tmp_path / "run", "a"), "clear the screen: \x1b[2J")


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"tags": 3, "note": null}', '{"tags": [], "note": 3}', '{"tags": [1]}']
)
def test_a_damaged_file_is_reported_and_the_run_can_still_be_listed(tmp_path, content):
    path = finished_run(tmp_path / "run", "a")
    annotations_path(path).write_text(content)

    with pytest.raises(RunFolderError, match="damaged"):
        change_tags(path, ["more"])
    state = run_state(path)

    assert state.state == "complete" and "damaged" in state.problem
    assert annotations_path(path).read_text() == content
