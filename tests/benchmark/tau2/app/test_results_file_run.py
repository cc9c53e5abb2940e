"""A results file of tau2-bench looked at like a run of our own."""

import json
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from maseval.app.results.names import open_recording
from maseval.app.results.run_summary import RunResult
from maseval.commands import report, show, tau2
from maseval.core.exceptions import ConfigurationError
from tests.benchmark.tau2.app.doctored import shuffled_task_ids
from tests.cli.commandline import maseval
from tests.noisy_runs import noisy_run
from tests.report.reading import index_of, rows_of


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return noisy_run(tmp_path_factory.mktemp("results") / "noisy", 0.3)


@pytest.fixture
def theirs(run: RunResult, tmp_path: Path) -> Path:
    path = tmp_path / "theirs.json"
    tau2.export(run.folder, path)
    return path


def doctored(path: Path, change: Callable[..., Any]) -> Path:
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))
    return path


def all_rewarded(value: dict[str, Any]) -> None:
    for simulation in value["simulations"]:
        simulation["reward_info"]["reward"] = 1.0


def test_what_failed_in_a_file_is_labelled_as_in_the_run(run, theirs):
    assert show(theirs).causes == show(run.folder).causes


def test_the_report_of_a_file_stands_beside_it_and_says_that_rewards_were_recomputed(run, theirs):
    page = report(theirs)

    assert page == theirs.with_name("theirs-report.html")
    index = index_of(page)
    assert index["title"] == "theirs"
    assert sum(row["outcome"] == "pass" for row in rows_of(index)) == (run.summary.overall.passed)
    assert "rewards recomputed from theirs.json" in index["results"]["notes"]


def test_what_is_wrong_with_a_file_stands_above_its_numbers(theirs):
    path = doctored(theirs, all_rewarded)

    shown = maseval("show", path, "--no-explain").stdout
    index = index_of(report(path, explain=False))

    assert 0 < shown.index("edited rewards: ") < shown.index("pass^1")
    assert index["results"]["doubt"]["reasons"][0].startswith("edited rewards: ")


def test_nobody_is_blamed_where_the_task_is_not_that_of_the_conversation(run, theirs):
    path = doctored(theirs, partial(shuffled_task_ids, by=1))
    view = show(path)
    wrong = [line for line in view.lines if not line.passed]

    assert len(wrong) > 12
    assert view.causes == {"unclear: task does not fit": len(wrong)}
    one = show(path, wrong[0].task_id, wrong[0].trial)
    assert one.doubt.startswith("the task does not fit the conversation: the file calls it task")
    assert [each.source for each in one.findings] == ["cause"]
    printed = maseval("show", path, wrong[0].task_id, str(wrong[0].trial)).stdout
    assert "Doubtful: the task does not fit" in printed
    explained = tau2.explain(path, wrong[0].task_id, wrong[0].trial)
    assert [each.rule for each in explained.findings] == [one.findings[0].rule]


def test_a_file_without_simulations_is_an_error_that_says_so(theirs):
    with pytest.raises(ConfigurationError, match="holds no simulation"):
        show(doctored(theirs, lambda value: value["simulations"].clear()))


@pytest.mark.parametrize("command", ["report", "show"])
def test_something_else_than_a_results_file_is_a_named_error(tmp_path, command):
    (tmp_path / "other.json").write_text('{"a": 1}')

    result = maseval(command, tmp_path / "other.json")

    assert result.exit_code != 0 and "neither a results file" in result.stderr


def test_a_number_of_trials_that_is_infinite_is_none(theirs, run):
    changed = doctored(theirs, lambda value: value["info"].update(num_trials=float("inf")))

    view = show(changed, explain=False)
    assert view.summary.overall.in_brief() == run.summary.overall.in_brief()


def count_reports(path: Path) -> int:
    return sum(1 for _ in open_recording(path).reports())


def count_scored(path: Path) -> int:
    (found,) = tau2.score([path])
    return found.compared


@pytest.mark.parametrize("look", [count_reports, count_scored])
def test_a_file_is_read_and_judged_in_less_memory_than_it_has_bytes(theirs, look):
    def padded(value):
        for simulation in value["simulations"]:
            simulation["messages"][0]["raw_data"] = {"padding": "x" * 1_500_000}

    size = doctored(theirs, padded).stat().st_size
    tracemalloc.start()
    try:
        seen = look(theirs)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert seen == 24
    assert peak < size / 2
