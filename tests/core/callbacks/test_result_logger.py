import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from maseval.core.callbacks import FileResultLogger, ResultLogger, read_reports
from maseval.core.exceptions import OutputExistsError, ResultFileError
from tests.core.worlds import FirstOnly


class InMemory(ResultLogger):
    def __init__(self, **options: bool) -> None:
        super().__init__(**options)
        self.kept = []

    def log_iteration(self, report: Mapping[str, object]) -> None:
        self.kept.append(report)

    def finalize(self) -> None:
        pass

    def validate(self) -> bool:
        return self.logged == self.expected


def file_logger(folder: Path, name: str = "r.jsonl", **options: bool) -> FileResultLogger:
    return FileResultLogger(folder, filename_pattern=name, **options)


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize("part", ["traces", "config", "eval", "task", "usage"])
def test_each_flag_leaves_out_its_part_alone(part, rehearsal):
    results = InMemory(**{f"include_{part}": False})

    [report] = rehearsal("a").run(results)

    assert results.kept == [{key: value for key, value in report.items() if key != part}]


@pytest.mark.parametrize(("check", "lines"), [(True, 1), (False, 0)])
def test_a_run_that_lacks_a_task_is_warned_of_if_asked(rehearsal, caplog, check, lines):
    rehearsal("a", "b").run(InMemory(validate_on_completion=check), leave_out=("b",))

    assert len(caplog.records) == lines


def test_reports_come_back_as_they_were(tmp_path, rehearsal):
    reports = rehearsal("a", "b", repeats=2).run(file_logger(tmp_path))

    again = read_reports(tmp_path / "r.jsonl")

    assert again == reports
    assert list(again[0]) == list(reports[0])
    assert len({id(report["config"]["benchmark"]) for report in again}) == 1


def test_what_all_reports_share_is_stored_once(tmp_path, rehearsal):
    rehearsal("a", "b").run(file_logger(tmp_path))

    assert (tmp_path / "r.jsonl").read_text().count("c0ffee") == 0
    assert json.loads((tmp_path / "r.run.json").read_text()) == {
        "run_id": "run-1",
        "benchmark": {"git": {"commit_hash": "c0ffee"}},
        "format": 1,
    }


def test_the_shared_part_is_on_disk_before_the_first_record(tmp_path, rehearsal):
    run, results = rehearsal("a", "b"), file_logger(tmp_path)
    results.on_run_start(run)
    results.on_task_repeat_end(run, run.report("a"))

    assert read_reports(tmp_path / "r.jsonl") == [run.report("a")]


def test_a_report_with_another_shared_part_carries_its_own(tmp_path, rehearsal):
    run, results = rehearsal("a", "b", "c"), file_logger(tmp_path, validate_on_completion=False)
    reports = [
        run.report("a", config={"benchmark": {"git": 1}}),
        run.report("b", config={"benchmark": {"git": 2}}),
        run.report("c", config={"benchmark": {"git": 1}}),
    ]
    results.on_run_start(run)
    for report in reports:
        results.on_task_repeat_end(run, report)

    assert read_reports(tmp_path / "r.jsonl") == reports


def test_a_first_report_without_configuration_does_not_hide_that_of_the_next(tmp_path, rehearsal):
    run, results = rehearsal("a", "b"), file_logger(tmp_path)
    results.on_run_start(run)
    results.on_task_repeat_end(run, run.report("a", config={}))
    results.on_task_repeat_end(run, run.report("b"))

    assert read_reports(tmp_path / "r.jsonl")[1] == run.report("b")
    assert "c0ffee" not in (tmp_path / "r.jsonl").read_text()


def test_without_configuration_nothing_of_it_is_written(tmp_path, rehearsal):
    rehearsal("a").run(file_logger(tmp_path, include_config=False))

    assert all("c0ffee" not in path.read_text() for path in tmp_path.iterdir())
    assert "config" not in read_reports(tmp_path / "r.jsonl")[0]


def test_reports_without_their_run_file_are_read_with_a_warning(tmp_path, rehearsal):
    rehearsal("a").run(file_logger(tmp_path))
    (tmp_path / "r.run.json").unlink()

    with pytest.warns(UserWarning, match=r"r\.run\.json is missing"):
        [report] = read_reports(tmp_path / "r.jsonl")
    assert "benchmark" not in report["config"]


@pytest.mark.parametrize("content", ["{", "[]", "{}"])
def test_a_damaged_run_file_is_named(tmp_path, rehearsal, content):
    rehearsal("a").run(file_logger(tmp_path))
    (tmp_path / "r.run.json").write_text(content)

    with pytest.raises(ResultFileError, match=r"r\.run\.json is damaged"):
        read_reports(tmp_path / "r.jsonl")


def test_metadata_tells_what_was_meant_to_be_in_the_file(tmp_path, rehearsal):
    rehearsal("a", "b", repeats=3).run(file_logger(tmp_path, include_usage=False))

    metadata = json.loads((tmp_path / "r.meta.json").read_text())
    assert metadata.pop("timestamp")
    assert metadata == {
        "output_file": "r.jsonl",
        "n_tasks": 2,
        "n_repeats": 3,
        "total_iterations": 6,
        "lines_written": 6,
        "include_traces": True,
        "include_config": True,
        "include_eval": True,
        "include_task": True,
        "include_usage": False,
        "validation_enabled": True,
    }


def test_runs_within_one_second_have_files_of_their_own(tmp_path, rehearsal, caplog):
    results = FileResultLogger(tmp_path)
    files = []
    for _ in range(3):
        rehearsal("a", "b").run(results)
        files.append(results.output_file)

    assert len(set(files)) == 3
    assert all(len(read_reports(file)) == 2 for file in files)
    assert warned(caplog) == []


def test_a_second_run_is_judged_by_its_own_tasks(tmp_path, rehearsal, caplog):
    results = FileResultLogger(tmp_path)
    rehearsal("a", "b").run(results)
    rehearsal("c").run(results)

    assert warned(caplog) == []
    assert results.expected == results.logged == {("c", 0)}


def test_if_the_run_goes_on_without_a_file_its_reports_are_kept_beside(tmp_path, rehearsal, caplog):
    rehearsal("a").run(file_logger(tmp_path))
    run, results = rehearsal("b"), file_logger(tmp_path)
    with pytest.raises(OutputExistsError):
        results.on_run_start(run)
    results.on_task_repeat_end(run, run.report("b"))
    results.on_run_end(run, [])

    assert read_reports(tmp_path / "r.rescued.jsonl") == [run.report("b")]
    assert "r.rescued.jsonl" in warned(caplog)[0]
    assert caplog.records[0].levelno == logging.ERROR


def test_a_stopped_run_names_what_is_missing(tmp_path, rehearsal, caplog):
    results = file_logger(tmp_path)
    rehearsal(*"abcdefgh").run(results, leave_out=tuple("cdefgh"))

    assert not results.validate()
    assert "missing: c (repetition 0), " in warned(caplog)[0]
    assert warned(caplog)[0].endswith("g (repetition 0) and 1 more")


def test_of_an_adaptive_queue_only_what_it_started_is_expected(tmp_path, rehearsal, caplog):
    results = file_logger(tmp_path)

    reports = rehearsal("a", "b", repeats=2, queue=FirstOnly).run(results)

    assert results.validate()
    assert len(read_reports(tmp_path / "r.jsonl")) == 2 == len(reports)
    assert warned(caplog) == []


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda text: text + text.splitlines()[-1] + "\n", "more than once: b (repetition 0)"),
        (lambda text: text[:-20], "the last line is cut off"),
        (lambda text: text[:5] + "\n" + text, "line 1: not a record"),
        (lambda text: text + "{}\n", "a record lacks 'task_id'"),
        (lambda text: text.replace('"b"', '"z"'), "not expected: z (repetition 0)"),
        (lambda text: text.replace('"b"', '"z"'), "missing: b (repetition 0)"),
    ],
)
def test_validation_says_what_is_wrong(tmp_path, rehearsal, caplog, damage, problem):
    results = file_logger(tmp_path)
    rehearsal("a", "b").run(results)
    assert results.validate()
    path = tmp_path / "r.jsonl"
    path.write_text(damage(path.read_text()))

    assert not results.validate()
    assert any(problem in message for message in warned(caplog))


def test_records_are_flushed_to_the_disk_unless_told_otherwise(tmp_path, rehearsal, monkeypatch):
    flushed: list[int] = []
    really = os.fsync
    monkeypatch.setattr(os, "fsync", lambda target: (flushed.append(target), really(target)))
    run = rehearsal(*"abcd")

    run.run(file_logger(tmp_path, "slow.jsonl"))
    durable = len(flushed)
    flushed.clear()
    run.run(file_logger(tmp_path, "fast.jsonl", atomic_writes=False))

    assert durable - len(flushed) == 4
