"""What was found out about a run is found out once, and never taken for what it is not."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maseval.app.results import examined, explained
from maseval.app.results.examined import FILE, REVIEW
from maseval.benchmark.tau2.app.results.support import Tau2Support
from maseval.commands import compare, report, show, tau2
from maseval.core.engine import children
from maseval.core.engine.children import may_fork
from maseval.core.outcome import Simulation
from maseval.core.report import Report
from maseval.data.kept import place_for
from maseval.frames import findings
from maseval.runs import RunFolder
from maseval.runs.verdict_check import MISFIT, SimulationDoubt
from tests.damage import FORGERIES
from tests.noisy_runs import noisy_run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return noisy_run(tmp_path_factory.mktemp("examined") / "run", 0.3).folder


@pytest.fixture
def run(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    copy = tmp_path / "run"
    copy.mkdir()
    for file in ("config.json", "log.jsonl", "seal.json"):
        (copy / file).write_bytes((made / file).read_bytes())
    return copy


def kept_file(run: Path) -> Path:
    return place_for(run / "log.jsonl", FILE)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The reports that the benchmark was asked to review."""
    asked, original = [], Tau2Support.review

    def review(self, report):
        asked.append(report)
        return original(self, report)

    monkeypatch.setattr(Tau2Support, "review", review)
    return asked


@pytest.fixture
def divide(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A function after which every run counts as a large one, on a machine with two cores."""

    if not may_fork():  # asked now, as a test before may have left a thread
        pytest.skip("children begin with what this process has")

    def patch():
        monkeypatch.setattr(examined, "_WORTH_SHARING", 1)
        monkeypatch.setattr(children, "usable_cores", lambda: 2)

    return patch


def test_other_processes_find_the_same_in_a_large_run(run, asked, divide):
    alone = examined.examine_run(RunFolder.read(run), REVIEW)
    kept = sorted(kept_file(run).read_bytes().split(b"\n"))
    kept_file(run).unlink()
    asked.clear()
    divide()
    seen = []

    found = examined.examine_run(RunFolder.read(run), REVIEW, lambda *each: seen.append(each))

    assert len(asked) == 1  # here, about the first
    assert (found.lines, found.each) == (alone.lines, alone.each)
    assert found.check.to_dict() == alone.check.to_dict()
    assert seen == [(each, len(found.lines)) for each in range(1, len(found.lines) + 1)]
    assert sorted(kept_file(run).read_bytes().split(b"\n")) == kept


def test_what_other_processes_cannot_find_is_found_here(run, asked, divide, monkeypatch):
    here = os.getpid()
    original = Tau2Support.review

    def check(self, report):
        if os.getpid() != here and report["task_id"] == last:
            raise MemoryError
        return original(self, report)

    *_, (_, last, _) = RunFolder.read(run).planned
    alone = examined.examine_run(RunFolder.read(run)).findings
    kept_file(run).unlink()
    asked.clear()
    monkeypatch.setattr(Tau2Support, "review", check)
    divide()

    assert examined.examine_run(RunFolder.read(run)).findings == alone
    assert 1 < len(asked) < len(alone)


def test_the_page_of_a_forged_run_is_the_same_whatever_is_known_of_it(run, tmp_path):
    FORGERIES["passed"].do(run)
    first = report(run, tmp_path / "first.html").read_bytes()

    found = examined.examine_run(RunFolder.read(run), REVIEW)

    assert report(run, tmp_path / "again.html").read_bytes() == first
    assert b"timeline" not in kept_file(run).read_bytes()
    assert found.check.differing


def test_a_second_look_asks_nothing_and_says_the_same(run, asked):
    first = show(run).to_dict()
    assert asked
    asked.clear()

    assert show(run).to_dict() == first
    assert asked == []


def test_every_command_uses_what_another_found(run, asked, tmp_path):
    view = show(run)
    failed = next(line for line in view.lines if line.kind == "fail")
    asked.clear()

    report(run, tmp_path / "page.html")
    tau2.comply([run])
    list(findings(run))
    one = show(run, failed.task_id, failed.trial)

    assert asked == []
    assert one.findings == view.findings_on(one.line)


def test_findings_of_other_rules_are_found_again(run, asked, monkeypatch):
    show(run)
    asked.clear()
    monkeypatch.setattr(Tau2Support, "findings_version", lambda self, folder: "other rules")

    show(run)

    assert asked


def test_a_domain_of_ones_own_is_not_kept(run, monkeypatch):
    monkeypatch.setattr("maseval.benchmark.tau2.app.results.support.DOMAINS", {})

    show(run)

    assert not kept_file(run).exists()


def test_only_a_report_that_is_new_is_examined(run, asked):
    before = show(run)
    asked.clear()
    with RunFolder.open(run, RunFolder.read(run).config.values) as folder:
        one = next(folder.reports())
        folder.append({**one, "duration_seconds": 1234.5})

    after = show(run)

    assert len(asked) == 1
    assert after.lines[0].seconds == 1234.5
    assert after.lines[1:] == before.lines[1:]


def test_findings_that_came_with_a_run_are_not_believed(run, asked, tmp_path, monkeypatch):
    first = show(run).to_dict()
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "elsewhere"))
    asked.clear()

    assert show(run).to_dict() == first
    assert asked


def test_whatever_the_file_holds_the_answer_is_the_same(run):
    first = show(run).to_dict()
    whole = kept_file(run).read_bytes()

    for damaged in (b"", whole[: len(whole) // 2], whole[:70] + b"x" + whole[71:], b"\0" * 99):
        kept_file(run).write_bytes(damaged)
        assert show(run).to_dict() == first
    kept_file(run).unlink()
    kept_file(run).mkdir()
    assert show(run).to_dict() == first


def test_compared_runs_are_explained_once(run, made, asked, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for file in ("config.json", "log.jsonl", "seal.json"):
        (other / file).write_bytes((made / file).read_bytes())
    first = compare([run, other]).to_dict()
    asked.clear()

    assert compare([run, other]).to_dict() == first
    assert asked == []


class OfAnotherTask(RunFolder):
    """A run whose first report is found to be of another task than it says."""

    def report(self, simulation: Simulation) -> Report:
        found = super().report(simulation)
        if simulation != next(iter(self.planned)):
            return found
        doubt = SimulationDoubt(MISFIT, "its calls are those of another task")
        return {**found, "doubt": doubt}


def test_a_conversation_of_another_task_is_not_reviewed_by_this_one(run, asked):
    doubtful = OfAnotherTask.read(run)
    first, *others = [Simulation.of(each) for each in doubtful.reports()]

    found = examined.examine_run(doubtful)

    (only,) = found.findings[first]
    assert (only.kind, only.text) == (explained.MISFIT, "its calls are those of another task")
    assert {Simulation.of(each) for each in asked} == set(others)
