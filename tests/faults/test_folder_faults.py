"""A run folder that was damaged: what is noticed, what still counts, and that nothing crashes."""

import json
import logging
import shutil
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from maseval.app.benchmarks import warn_once
from maseval.core.storage import strict_json
from maseval.core.storage.records import seal_json
from maseval.runs import RunFolder, RunFolderError, list_runs, run_into
from tests.cli.commandline import maseval
from tests.damage import DAMAGES, edit_line, log_lines, results_in, rewrite_log
from tests.faults.table import shows
from tests.frames.recordings import library_run
from tests.runs.worlds import as_killed, config, desk, finished_run, tasks

AREA = "The files of a run"
IDS = ("a", "b", "c")

WHOLE = {
    "blank": "read as if it were not there",
    "rescued": "named in a warning and left there; the run resumes",
    "rescued-zeros": "named in a warning and left there; the run resumes",
    "lock": "ignored: the operating system's lock decides",
    "seal": "ignored, and written again when the run is resumed",
}
NO_RESULT = {
    "closing": "reported as changed; all simulations count",
    "closing-config": "reported as changed; all simulations count",
    "torn": "reported, and moved to a file beside the log when the run is resumed",
}
NOTICED = {
    "digit": "reported, and the simulations concerned are run again",
    "zeros": "reported, and the simulations concerned are run again",
    "deep": "reported, and the simulations concerned are run again",
    "reward": "reported, and the simulations concerned are run again",
    "removed": "reported, and the simulations concerned are run again",
    "forged": "reported, and the simulations concerned are run again",
    "swapped": "reported, and the simulations concerned are run again",
    "cut": "reported, and the simulations concerned are run again",
    "log-missing": "reported, and the simulations concerned are run again",
}
REPAIRED = {
    name: "read from the first line of the log, and written again when the run is resumed"
    for name in (
        "config-missing",
        "config-edited",
        "config-zeros",
        "config-bytes",
        "config-deep",
        "config-list",
    )
}
REFUSED = {"log-folder": "`RunFolderError`; `maseval runs` lists it as damaged"}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return finished_run(tmp_path / "run", *IDS)


def resumed(path: Path) -> list[dict[str, Any]]:
    with RunFolder.open(path, config(*IDS)) as folder:
        return run_into(folder, desk(), tasks(*IDS))


def rows(outcomes: dict[str, str]) -> Iterator[Any]:
    return ((DAMAGES[name].text, outcome) for name, outcome in outcomes.items())


def test_every_damage_that_can_be_done_is_in_the_table():
    outcomes = (WHOLE, NO_RESULT, NOTICED, REPAIRED, REFUSED, RESCUED)
    assert sum(map(len, outcomes)) == len(DAMAGES) and {*chain(*outcomes)} == set(DAMAGES)


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


@shows(AREA, *rows(NOTICED | NO_RESULT))
@pytest.mark.parametrize("name", NOTICED | NO_RESULT)
def test_what_is_not_as_it_was_written_is_noticed_and_does_not_count(run, name, caplog):
    before = results_in(run)
    DAMAGES[name].do(run)
    found, [state] = RunFolder.read(run), list_runs(run.parent)

    with caplog.at_level(logging.WARNING):
        again = resumed(run)

    assert found.damaged and str(found.damaged[0]) in caplog.text
    assert str(found.damaged[0]) in found.notes[0]
    assert state.state == "damaged" and str(found.damaged[0]) in state.problem
    assert state.done == len(found.recorded) == len(IDS) - len(again)
    assert bool(again) is (name in NOTICED) and len(results_in(run)) == len(IDS)
    assert sorted(results_in(run)) == sorted(before)
    assert max(map(len, caplog.messages)) < 600


@shows(AREA, *rows(REPAIRED))
@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", REPAIRED)
def test_a_lost_configuration_is_read_from_the_log_and_written_again(run, name):
    before = results_in(run), (run / "config.json").read_bytes()
    DAMAGES[name].do(run)

    assert [state.state for state in list_runs(run.parent)] == ["complete"]
    assert maseval("show", str(run)).exit_code == 0
    assert resumed(run) == []
    assert (results_in(run), (run / "config.json").read_bytes()) == before


RESCUED = {"full-disk": "taken over when the run is resumed; until then `maseval show` names it"}


@shows(AREA, *rows(RESCUED))
def test_what_a_full_disk_sent_elsewhere_is_taken_over(run, tmp_path, monkeypatch, caplog):
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    before = results_in(run)
    DAMAGES["full-disk"].do(run)

    shown = maseval("show", str(run))

    assert "1 more report was rescued to" in " ".join(shown.stdout.split())
    assert len(results_in(run)) == len(IDS) - 1
    assert resumed(run) == [] and "took over what was rescued" in caplog.text
    assert results_in(run) == before
    assert list((tmp_path / "scratch").iterdir()) == [] and RunFolder.read(run).notes == []


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


def edited_last_report(path: Path, **parts: Any) -> None:
    """The last report edited so that its checksum is right, and the closing line taken away."""

    def change(lines, number):
        reports = [place for place, line in enumerate(lines) if b'"kind": "report"' in line]
        del lines[reports[-1] + 1 :]
        lines[-1] = edit_line(lines[-1], **parts)

    rewrite_log(path, change)


@shows(
    AREA,
    (
        "the last line edited, its checksum made right and its seal.json removed",
        "not noticed by the log itself; noticed by whoever kept the `seal` of the run",
    ),
)
def test_the_seal_of_a_run_shows_what_the_log_cannot(run):
    sealed_as = RunFolder.read(as_killed(run)).seal
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
    with pytest.raises(RunFolderError, match=r"cannot be read \('nowhere'\)"):
        list(RunFolder.read(run).reports())

    task = {"query": "", "metadata": {"domain": "other"}}
    edited_last_report(run, domain="other", traces={}, task=task)
    shown = maseval("show", str(run))
    assert shown.exit_code == 0 and "other" in shown.stdout


def test_a_log_of_an_earlier_release_is_read_resumed_and_linked_from_there(run):
    def unlink(lines, number):
        lines[:] = [edited_without_link(line) for line in lines]

    before = results_in(as_killed(run))
    rewrite_log(run, unlink)
    assert RunFolder.read(run).damaged == []

    assert resumed(run) == []

    assert RunFolder.read(run).damaged == [] and results_in(run) == before
    assert b'"after": ' in log_lines(run)[-1]
    rewrite_log(run, lambda lines, number: lines.pop(number))
    assert "a line before it is missing" in str(RunFolder.read(run).damaged[0])


def edited_without_link(line: bytes) -> bytes:
    record = {key: part for key, part in json.loads(line).items() if key not in ("crc", "after")}
    return seal_json(strict_json.dumps(record)) + b"\n"


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
    def release(self) -> None:
        pass


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run of tau2 that has a digit changed, and the same one whole."""
    folder = tmp_path_factory.mktemp("runs")
    whole = library_run(trials=1, output=folder / "whole").folder
    damaged = shutil.copytree(whole, folder / "damaged")
    DAMAGES["digit"].do(damaged)
    return damaged, whole


@pytest.mark.parametrize(
    "command",
    [
        "runs {folder}",
        "show {run}",
        "show {run} 1",
        "report {run} --output {out}/page.html",
        "compare {run} {whole}",
        "gate {run} --baseline {whole}",
        "export {run} --format csv --output {out}/x.csv",
        "sync {run} --to otel=http://127.0.0.1:9",
        "bundle {run} --output {out}/x.zip",
        "score {run}",
        "tau2 certify {run} --output {out}/c.json",
        "export {run} --format tau2-bench --output {out}/x.json",
    ],
)
def test_every_command_that_reads_a_run_says_that_it_is_damaged(
    recorded, command, tmp_path, caplog
):
    run, whole = recorded
    warn_once.cache_clear()
    places = {"run": run, "whole": whole, "folder": run.parent, "out": tmp_path}

    done = maseval(*command.format(**places).split())

    said = " ".join((done.stdout + done.stderr + caplog.text).split())
    assert "damaged" in said and "its checksum does not match its content" in said
    assert "Traceback" not in said
