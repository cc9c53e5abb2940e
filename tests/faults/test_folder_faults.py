"""A run folder that was damaged: what is noticed, what still counts, and that nothing crashes."""

import json
import logging
import sys

import pytest

from maseval.core.storage.records import seal_record
from maseval.runs import RunFolder, RunFolderError, list_runs, run_into
from maseval.testing import DAMAGES, results_in
from maseval.testing.damage import edit_line, first_report, log_lines, rewrite_log
from tests.cli.commandline import maseval
from tests.faults.table import shows
from tests.runs.worlds import config, desk, finished_run, tasks

AREA = "The files of a run"
IDS = ("a", "b", "c")

WHOLE = {
    "mark": "read as if it were not there",
    "blank": "read as if they were not there",
    "rescued": "named in a warning and left there; the run resumes",
    "rescued-zeros": "named in a warning and left there; the run resumes",
    "closing": "ignored: the log is counted instead",
    "closing-config": "ignored: the log is counted instead",
    "lock": "ignored: the operating system's lock decides",
    "torn": "moved to a file beside the log when the run is resumed",
}
NOTICED = {
    "digit": "the line is reported as damaged, and its simulation is run again",
    "zeros": "the line is reported as damaged, and its simulation is run again",
    "deep": "the line is reported as damaged, and its simulation is run again",
    "reward": "the line is reported as changed, and its simulation is run again",
    "removed": "the gap is reported, and the simulation is run again",
    "swapped": "reported, and the simulations concerned are run again",
    "forged": "the added line is reported and does not count",
}
REFUSED = {
    name: "`RunFolderError`, before anything is read or written; `maseval runs` lists it as damaged"
    for name in (
        "log-pipe",
        "lock-pipe",
        "config-pipe",
        "config-zeros",
        "config-bytes",
        "config-deep",
        "config-list",
    )
}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="named pipes")


@pytest.fixture
def run(tmp_path):
    return finished_run(tmp_path / "run", *IDS)


def resumed(path):
    with RunFolder.open(path, config(*IDS)) as folder:
        return run_into(folder, desk(), tasks(*IDS))


def rows(outcomes):
    return ((DAMAGES[name].text, outcome) for name, outcome in outcomes.items())


def test_every_damage_that_can_be_done_is_in_the_table():
    assert {*WHOLE, *NOTICED, *REFUSED} == set(DAMAGES)


@shows(AREA, *rows(WHOLE))
@pytest.mark.parametrize("name", WHOLE)
def test_what_is_whole_counts_whatever_is_around_it(run, name, caplog):
    before = results_in(run)
    DAMAGES[name].do(run)

    [state] = list_runs(run.parent)
    again = resumed(run)

    assert (state.state, state.done) == ("complete", len(IDS))
    assert again == [] and results_in(run) == before
    assert RunFolder.read(run).damaged == []
    assert ("is not a report" in caplog.text) is name.startswith("rescued")
    assert max(map(len, caplog.messages), default=0) < 600


@shows(AREA, *rows(NOTICED))
@pytest.mark.parametrize("name", NOTICED)
def test_what_is_not_as_it_was_written_is_noticed_and_does_not_count(run, name, caplog):
    before = results_in(run)
    DAMAGES[name].do(run)
    found = RunFolder.read(run)

    with caplog.at_level(logging.WARNING):
        again = resumed(run)

    assert found.damaged and str(found.damaged[0]) in caplog.text
    assert len(again) >= (name != "forged") and len(results_in(run)) == len(IDS)
    assert sorted(results_in(run)) == sorted(before)
    assert max(map(len, caplog.messages)) < 600


@shows(AREA, *rows(REFUSED))
@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_by_name(run, name):
    DAMAGES[name].do(run)

    with pytest.raises(RunFolderError) as caught:
        resumed(run)

    [state] = list_runs(run.parent)
    assert state.state == "damaged" and state.problem
    assert len(str(caught.value)) < 600 and "\0" not in str(caught.value)
    for command in (("runs", str(run.parent)), ("show", str(run))):
        shown = maseval(*command)
        assert "Traceback" not in shown.stderr and len(shown.stderr) < 1500


def edited_last_report(path, **parts):
    """The last report edited so that its checksum is right, and the closing line taken away."""

    def change(lines, number):
        reports = [place for place, line in enumerate(lines) if b'"kind": "report"' in line]
        del lines[reports[-1] + 1 :]
        lines[-1] = edit_line(lines[-1], **parts)

    rewrite_log(path, change)


@shows(
    AREA,
    (
        "the last line edited, its checksum made right",
        "not noticed by the log itself; noticed by whoever kept the `seal` of the run",
    ),
)
def test_the_seal_of_a_run_shows_what_the_log_cannot(run):
    sealed_as = RunFolder.read(run).seal
    edited_last_report(run, eval=[{"reward": 1.0, "passed": True}])

    found = RunFolder.read(run)

    assert found.damaged == [] and found.seal != sealed_as


@shows(
    AREA,
    (
        "a report that refers to a part of itself that is not there",
        "`RunFolderError` when it is read",
    ),
    ("a report of another domain than the run's", "listed after the domains of the run"),
)
def test_a_last_report_of_odd_content_crashes_nothing(run):
    edited_last_report(run, traces={"agents": {"$same_as": ["nowhere"]}})
    with pytest.raises(RunFolderError, match="names a part of itself that is not there"):
        list(RunFolder.read(run).reports())

    edited_last_report(run, traces={}, task={"query": "", "metadata": {"domain": "other"}})
    shown = maseval("show", str(run))
    assert shown.exit_code == 0 and "other" in shown.stdout


def test_show_says_that_a_reward_was_edited(run):
    DAMAGES["reward"].do(run)

    shown = maseval("show", str(run))

    row = first_report(run) + 1
    assert f"damaged record, line {row}: it was changed after line {row + 1} was written" in (
        " ".join(shown.stdout.split())
    )


def test_a_log_of_an_earlier_release_is_read_resumed_and_linked_from_there(run):
    def unlink(lines, number):
        lines[:] = [edited_without_link(line) for line in lines]

    before = results_in(run)
    rewrite_log(run, unlink)
    assert RunFolder.read(run).damaged == []

    assert resumed(run) == []

    assert RunFolder.read(run).damaged == [] and results_in(run) == before
    assert b'"after": ' in log_lines(run)[-1]
    rewrite_log(run, lambda lines, number: lines.pop(number))
    assert "a line before it is missing" in str(RunFolder.read(run).damaged[0])


def edited_without_link(line):
    record = {key: part for key, part in json.loads(line).items() if key not in ("crc", "after")}
    return seal_record(record) + b"\n"


def test_a_line_without_a_link_among_others_is_reported(run):
    rewrite_log(run, lambda lines, n: lines.__setitem__(n, edited_without_link(lines[n])))

    assert "does not name the line before it" in str(RunFolder.read(run).damaged[0])


def test_two_writers_without_locks_leave_one_chain(run, monkeypatch):
    monkeypatch.setattr("maseval.runs.folder.FolderLock", lambda path: _NoLock())
    one = RunFolder.open(run, config(*IDS, "d", "e"))
    other = RunFolder.open(run, config(*IDS, "d", "e"))

    run_into(one, desk(), tasks("d"))
    run_into(other, desk(), tasks("e"))
    one.close()
    other.close()

    assert RunFolder.read(run).damaged == [] and len(results_in(run)) == 5


class _NoLock:
    def release(self):
        pass
