"""Remarks of readers: kept beside the results, never in them."""

import json
from dataclasses import replace

import pytest

from maseval import frames
from maseval.app.results.report import report
from maseval.app.results.show import show
from maseval.app.sharing.bundle import bundle, unbundle
from maseval.core.exceptions import ConfigurationError
from maseval.report.index import reading_note
from maseval.runs import (
    Remark,
    RunFolder,
    RunFolderError,
    RunWriteError,
    Simulation,
    keep_remark,
    read_remarks,
    run_state,
)
from maseval.runs.annotations import REMARKS
from tests.report.reading import index_of
from tests.runs.worlds import finished_run

ONE = Simulation("", "a", 0)


@pytest.fixture
def run(tmp_path):
    return finished_run(tmp_path / "run", "a", "b")


def test_remarks_are_kept_beside_the_log_and_change_nothing_that_is_checked(run):
    before = {each.name: each.read_bytes() for each in run.iterdir()}

    keep_remark(run, Remark(ONE, "too polite\r\nby far", message=3))
    keep_remark(run, Remark(ONE, "it did help", opinion="disagree", outcome="fail"))

    first, second = read_remarks(run)
    assert (first.text, first.message, first.opinion) == ("too polite\nby far", 3, None)
    assert (second.opinion, second.outcome, second.simulation) == ("disagree", "fail", ONE)
    assert all((run / name).read_bytes() == content for name, content in before.items())
    assert run_state(run).state == "complete" and not RunFolder.read(run).damaged


def test_a_remark_is_replaced_and_removed_and_a_blank_one_is_none(run):
    [kept] = keep_remark(run, Remark(ONE, "first"))

    [kept] = keep_remark(run, replace(kept, text="second"))

    assert [each.text for each in read_remarks(run)] == ["second"]
    assert keep_remark(run, replace(kept, text="  ")) == []
    assert keep_remark(run, Remark(ONE, " \n")) == []


def test_what_somebody_else_changed_meanwhile_is_not_overwritten(run):
    [kept] = keep_remark(run, Remark(ONE, "theirs", opinion="agree", outcome="pass"))
    keep_remark(run, replace(kept, text="theirs, changed"))

    with pytest.raises(ConfigurationError, match="someone else"):
        keep_remark(run, replace(kept, text="mine"))
    with pytest.raises(ConfigurationError, match="someone else"):
        keep_remark(run, Remark(ONE, "no", opinion="disagree", outcome="pass"))
    keep_remark(run, Remark(ONE._replace(trial=1), opinion="disagree", outcome="pass"))

    assert [each.text for each in read_remarks(run)] == ["theirs, changed", ""]


@pytest.mark.parametrize(
    "content",
    ["{", "[]", '{"remarks": [1]}', '{"remarks": [{"id": "x"}]}', '{"remarks": {"a": 1}}'],
)
def test_a_damaged_file_is_reported_and_not_overwritten(run, content):
    (run / REMARKS).write_text(content)

    with pytest.raises(RunFolderError, match="damaged"):
        keep_remark(run, Remark(ONE, "more"))

    assert (run / REMARKS).read_text() == content
    assert "damaged" in show(run, explain=False).reading


@pytest.mark.parametrize("text", ["\x1b[2J", "\u202eback", "x" * 20_001])
def test_what_cannot_be_a_remark_is_refused(run, text):
    with pytest.raises(ConfigurationError, match="the remark"):
        keep_remark(run, Remark(ONE, text))

    assert not (run / REMARKS).exists()


def test_a_folder_that_cannot_be_written_to_is_said_so(run, monkeypatch):
    def refuse(path, content):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("maseval.runs.annotations.write_bytes", refuse)

    with pytest.raises(RunWriteError, match="Permission denied; make the folder writable"):
        keep_remark(run, Remark(ONE, "more"))


def test_verdicts_that_readers_disagree_with_are_counted():
    def about(opinion, outcome):
        return Remark(ONE, opinion=opinion, outcome=outcome).to_dict()

    read = [("fail", about("agree", "fail")), ("fail", about("disagree", "fail"))]

    assert reading_note(read) == "Readers disagree with 1 of 2 verdicts they have read"
    assert reading_note([("fail", about(None, None))]) is None
    assert reading_note([*read, ("pass", about("agree", "fail"))]) == (
        "Readers disagree with 1 of 2 verdicts they have read; 1 more were about earlier verdicts"
    )


def test_they_are_shown_exported_and_bundled(run, tmp_path):
    outcome = show(run, "a", 0, explain=False).line.kind
    keep_remark(run, Remark(ONE, "why?", opinion="disagree", outcome=outcome))
    keep_remark(run, Remark(ONE, "here", message=1))

    assert show(run, explain=False).to_dict()["reading"].startswith("Readers disagree with 1 of 1")
    shown = show(run, "a", 0, explain=False)
    assert list(map(str, shown.remarks)) == ["Reader disagrees: why?", "Remark on message 1: here"]
    index = index_of(report(run, tmp_path / "page.html"))
    assert index["reading"].startswith("Readers disagree with 1 of 1 verdict")
    assert [each["text"] for each in index["remarks"]] == ["why?", "here"]
    [first, second] = frames.remarks(run)
    assert (first["opinion"], first["outcome"], first["text"]) == ("disagree", outcome, "why?")
    assert (second["message"], second["opinion"], second["task_id"]) == (1, None, "a")

    bundled = bundle(run, tmp_path / "run.zip")
    opened = unbundle(bundled.path, tmp_path / "opened")

    assert "remarks.json" in bundled.manifest["files"]
    assert read_remarks(opened.path) == read_remarks(run)
    assert json.loads((opened.path / "remarks.json").read_text())
