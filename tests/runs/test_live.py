"""What a run is doing."""

import os

import pytest

from maseval.core.storage.redaction import Secrets
from maseval.runs import RunFolder
from maseval.runs.live import (
    LIVE,
    TALKS,
    TalkFiles,
    publish,
    read_live,
    read_talk,
)
from tests.runs.worlds import config


@pytest.mark.parametrize("foreign", ['{"written by": "another program"}', "{}", "[1]", "{"])
def test_a_file_of_another_form_does_not_say_what_a_run_is_doing(tmp_path, foreign):
    known = {"cost": 1.5, "tokens": 20, "rate_limits": 2, "in_flight": []}
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        publish(folder.path, {"pid": os.getpid(), "at": "now", **known})
        assert read_live(folder.path)["tokens"] == 20

        (folder.path / LIVE).write_text(foreign)

        assert read_live(folder.path) is None


def test_a_conversation_that_goes_on_is_read_as_far_as_it_is(tmp_path):
    key = ("retail", "7/..", 0)
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        talks = TalkFiles(folder.path, Secrets([]))
        said = [{"role": "user", "content": "Hi"}]
        talks.write({key: said})
        first = read_talk(folder.path, key)
        said.append({"role": "assistant", "content": "Yes?"})
        talks.write({key: said})
        (file,) = (folder.path / TALKS).iterdir()
        with file.open("a") as torn:
            torn.write('{"role": "user", "con')
        second = read_talk(folder.path, key)
        again = []
        for attempt in (["Hi"], ["uno", "due", "tre"]):
            talks.write({key: [{"content": each} for each in attempt]})
            again.append([each["content"] for each in read_talk(folder.path, key)])
        talks.write({})
        over = read_talk(folder.path, key)
        talks.close()

    assert [each["content"] for each in first] == ["Hi"]
    assert [each["content"] for each in second] == ["Hi", "Yes?"]
    assert again == [["Hi"], ["uno", "due", "tre"]] and over == []
    assert not (folder.path / TALKS).exists()


def test_a_conversation_that_cannot_be_read_just_now_keeps_no_other_from_being_written(tmp_path):
    class Busy(list):
        def __getitem__(self, place):
            raise RuntimeError("changed size during iteration")

        __iter__ = None

    said = [{"content": "Hi"}]
    with RunFolder.open(tmp_path / "run", config("a", "b")) as folder:
        talks = TalkFiles(folder.path, Secrets([]))
        talks.write({("", "a", 0): Busy(said), ("", "b", 0): said})
        first = [read_talk(folder.path, ("", task, 0)) for task in "ab"]
        talks.write({("", "a", 0): said, ("", "b", 0): said})
        then = [read_talk(folder.path, ("", task, 0)) for task in "ab"]

    assert (first, then) == ([[], said], [said, said])


def test_what_a_killed_run_left_of_a_conversation_is_not_read_and_is_removed(tmp_path):
    key = ("", "a", 0)
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        TalkFiles(folder.path, Secrets([])).write({key: [{"role": "user"}]})
    assert (folder.path / TALKS).exists() and read_talk(folder.path, key) == []
    TalkFiles(folder.path, Secrets([]))
    assert not (folder.path / TALKS).exists()
