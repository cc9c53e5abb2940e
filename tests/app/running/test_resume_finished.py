"""A finished run that is resumed: nothing is judged again that a session of this machine judged."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from maseval.app.results.examined import ExaminedRun
from maseval.app.results.run_summary import RunResult
from maseval.commands import show
from maseval.runs import log
from maseval.runs.report_line import INDEX
from tests.noisy_runs import noisy_run
from tests.runs.test_index import rewritten


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What is done with the reports of a run: which are read, and which are judged."""
    found = {"read": [], "judged": []}
    read, judge = log.report_at, ExaminedRun._find

    def noted_read(path, offset, shared):
        found["read"].append(offset)
        return read(path, offset, shared)

    def noted_judge(self, one, *rest, **options):
        found["judged"].append(one)
        return judge(self, one, *rest, **options)

    monkeypatch.setattr(log, "report_at", noted_read)
    monkeypatch.setattr(ExaminedRun, "_find", noted_judge)
    return found


def run(path: Path, **options: int) -> RunResult:
    return noisy_run(path, 0.3, **options)


def test_a_finished_run_is_resumed_without_reading_or_judging_a_report(tmp_path, work):
    first = run(tmp_path / "run")
    assert not work["judged"]
    again = run(tmp_path / "run")

    assert again.ran == 0 and work == {"read": [], "judged": []}
    assert again.summary.to_dict() == first.summary.to_dict()
    assert show(again.folder).summary.overall.passed == first.summary.overall.passed
    assert len(set(work["judged"])) == len(first.summary.lines)  # who looks at it judges it itself


@pytest.mark.parametrize("trials", [1, 2])
def test_a_run_that_is_resumed_reads_no_line_of_its_log_twice(trials, tmp_path, monkeypatch):
    first = run(tmp_path / "run", trials=1)
    lines = first.folder.joinpath("log.jsonl").read_bytes().count(b"\n")
    taken, take = Counter(), log.LogReading.take

    def noted(self, line):
        taken[line.number] += 1
        take(self, line)

    monkeypatch.setattr(log.LogReading, "take", noted)
    run(tmp_path / "run", trials=trials)

    assert taken == dict.fromkeys(range(1, lines + 1), 1)


def test_a_run_that_gets_more_trials_judges_none_of_the_earlier_ones(tmp_path, work):
    run(tmp_path / "run", trials=1)
    grown = run(tmp_path / "run", trials=2)

    assert grown.ran and work == {"read": [], "judged": []}


def test_a_log_that_was_edited_since_is_judged_again(tmp_path, work):
    first = run(tmp_path / "run")
    passed = [{"passed": True, "reward": 1.0}]
    rewritten(first.folder, lambda record: record.update(eval=passed, index=None))

    again = run(first.folder)

    assert work["judged"]
    assert again.summary.overall.passed == first.summary.overall.passed
    assert any("do not hold" in note for note in again.notes)


def test_an_index_line_that_contradicts_its_report_does_not_count(tmp_path):
    """All checksums and links are right: only what was said shows that the line lies."""
    first = run(tmp_path / "run")

    def claim(record):
        record[INDEX] |= {"kind": "pass", "reward": 1.0}

    rewritten(first.folder, claim)
    found = show(first.folder)

    assert found.summary.overall.passed == first.summary.overall.passed
    assert "its index line says pass, its report fail" in json.dumps(found.to_dict())
