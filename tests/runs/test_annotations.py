"""Tags and notes of runs and results files."""

import errno
import threading

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.runs import (
    Remark,
    RunFolder,
    RunFolderError,
    RunLockedError,
    Simulation,
    annotations,
    change_note,
    change_tags,
    keep_remark,
    list_runs,
    read_annotations,
    read_remarks,
    run_state,
)
from maseval.runs.annotations import (
    MAX_NOTE,
    MAX_TAGS,
    annotations_path,
    change_annotations,
)
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
    keep_remark(file, Remark(Simulation("", "a", 0), "odd"))

    assert read_annotations(file).tags == ("published",)
    assert [each.text for each in read_remarks(file)] == ["odd"]
    assert annotations_path(file) == tmp_path / "theirs.json.annotations"
    assert (tmp_path / "theirs.json.remarks").exists()
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
            keep_remark(path, Remark(Simulation("", "a", 0), each))

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    found = read_annotations(path)
    assert set(found.tags) == names == {each.text for each in read_remarks(path)}
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


def test_there_are_limits_to_tags_and_notes(tmp_path):
    path = finished_run(tmp_path / "run", "a")

    with pytest.raises(ConfigurationError, match="at most 50"):
        change_tags(path, [f"t{number}" for number in range(MAX_TAGS + 1)])
    with pytest.raises(ConfigurationError, match="20,000 at most"):
        change_note(path, "x" * (MAX_NOTE + 1))
    with pytest.raises(ConfigurationError, match="control characters"):
        change_note(path, "clear the screen: \x1b[2J")


def test_a_note_that_somebody_else_changed_is_not_overwritten_unseen(tmp_path):
    path = finished_run(tmp_path / "run", "a")
    change_note(path, "theirs")

    with pytest.raises(ConfigurationError, match="changed the note"):
        change_note(path, "mine", was=None, check=True)

    assert read_annotations(path).note == "theirs"
    assert change_note(path, "both", was="theirs", check=True).note == "both"


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
