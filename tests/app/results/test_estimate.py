"""A run of chosen tasks is named an estimate wherever a number of it is shown."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from examples.booking import BookingBenchmark, load_tasks
from maseval import frames
from maseval.app.comparing.page import comparison_plots
from maseval.app.results.names import open_recording
from maseval.app.sharing.sync import _tracked_run
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.benchmark.tau2.app.running.run import Tau2Run
from maseval.commands import bundle, compare, report, run, show, tau2
from maseval.core.callbacks import FileResultLogger
from maseval.core.exceptions import ConfigurationError
from maseval.core.task import DISCOQueue
from maseval.runs import RunConfigError, RunFolder
from tests.cli.commandline import maseval
from tests.report.reading import index_of
from tests.view.builders import viewer

TASKS = load_tasks().to_list()
WORDS = "estimate from 3 chosen tasks of 12"
LIBRARY = {"domain": "library", "agent": "noisy", "agent_args": {"error_rate": 0.3}}


class ChosenRun(Tau2Run):
    @property
    def config(self) -> Mapping[str, object]:
        return {**super().config, "subset": {"of": 12, "by": "DISCOQueue"}}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three chosen tasks of tau2, as version 0.8 could make it, and one of all twelve."""
    folder = tmp_path_factory.mktemp("runs")
    options = RunOptions(**LIBRARY, num_tasks=3, output=folder / "runs" / "chosen")
    ChosenRun.of(options).execute()
    tau2.run(**LIBRARY, output=folder / "runs" / "whole")
    return folder


@pytest.fixture
def chosen(folders: Path) -> Path:
    return folders / "runs" / "chosen"


@pytest.fixture
def whole(folders: Path) -> Path:
    return folders / "runs" / "whole"


def printed(*command: Path | float | str) -> str:
    done = maseval(*command)
    return " ".join((done.stdout + done.stderr).split())


def test_the_commands_of_one_run_say_so(chosen, whole, tmp_path):
    title = WORDS.capitalize()
    assert title in printed("show", chosen) and title not in printed("show", whole)
    assert "not the score of the benchmark" in printed("show", chosen)
    assert show(chosen, explain=False).summary.subset.chosen == 3
    listed = printed("runs", chosen.parent)
    assert listed.count(WORDS) == 1
    records = json.loads(maseval("runs", chosen.parent, "--json").stdout)
    assert {each["estimate"] for each in records} == {WORDS, None}
    page = index_of(report(chosen, tmp_path / "page.html", explain=False))["results"]
    assert page["rows"][0]["name"] == f"library, {WORDS}" and WORDS in page["notes"][0]
    assert WORDS in (tmp_path / "page.html").read_text()
    assert {each["estimate"] for each in frames.runs(chosen, whole)} == {WORDS, None}


def test_the_viewer_says_so(chosen):
    view = viewer(chosen.parent)

    rows = {each["name"]: each["estimate"] for each in view.get("/api/runs").json()["runs"]}

    assert rows == {"chosen": WORDS, "whole": None}
    page = view.get("/api/run/index?run=chosen").json()
    assert WORDS in json.dumps(page)


def test_what_is_compared_or_sent_says_so(chosen, whole, tmp_path):
    found = compare([whole, chosen])
    with _tracked_run(open_recording(chosen)) as sent:
        parameters = sent.parameters

    assert found.cautions[0].startswith(f"chosen: An {WORDS}")
    page = report(whole, tmp_path / "two.html", explain=False, against=chosen)
    assert WORDS in index_of(page)["compared"]["cautions"][0]
    assert WORDS in page.read_text() and WORDS in str(comparison_plots(found)[0])
    assert found.two.main.tasks == 3
    assert WORDS in printed("compare", whole, chosen)
    assert WORDS in printed("gate", chosen, "--baseline", whole, "--min-comparable", 0.1)
    assert parameters["estimate"] == WORDS
    assert any(WORDS in note for note in bundle(chosen, tmp_path / "b.zip").manifest["notes"])


def test_what_is_scored_certified_or_exported_says_so(chosen, whole, tmp_path):
    assert WORDS in printed("score", chosen)
    assert WORDS not in printed("score", whole)
    certified = tau2.certify(chosen, partial=True)
    assert WORDS in printed("comply", chosen)
    assert WORDS in certified.text() and certified.content["findings"][0]["kind"] == "estimate"
    assert WORDS in printed(
        "export", chosen, "--format", "tau2-bench", "--output", tmp_path / "results.json"
    )
    assert "no verdict" in tau2.certify(tmp_path / "results.json").text()


def test_a_run_of_any_benchmark_takes_a_queue_whose_mark_neither_comes_nor_goes(tmp_path):
    options = {"benchmark": BookingBenchmark, "output": tmp_path / "a"}

    first = run(**options, tasks=DISCOQueue(TASKS, [4, 1]))

    assert str(first.summary.subset) == "estimate from 2 chosen tasks of 12"
    assert first.to_dict()["estimate"] == {"of": 12, "by": "DISCOQueue", "chosen": 2}
    more = run(**options, tasks=DISCOQueue(TASKS, [4, 1, 5]))
    assert str(more.summary.subset) == "estimate from 3 chosen tasks of 12" and more.ran == 1
    with pytest.raises(RunConfigError, match="subset"):
        run(**options, tasks=TASKS)
    run(**{**options, "output": tmp_path / "b"}, tasks=TASKS)
    with pytest.raises(RunConfigError, match="subset"):
        run(**{**options, "output": tmp_path / "b"}, tasks=DISCOQueue(TASKS, [4, 1]))


def test_the_page_of_saved_reports_says_so(tmp_path):
    logger = FileResultLogger(output_dir=tmp_path, filename_pattern="chosen.jsonl")
    benchmark = BookingBenchmark(progress_bar=False, callbacks=[logger])
    benchmark.run(DISCOQueue(TASKS, [4, 1, 5]))

    page = index_of(report(tmp_path / "chosen.jsonl", tmp_path / "page.html"))["results"]

    assert WORDS in page["notes"][0] and page["rows"][0]["name"] == f"all, {WORDS}"


def test_a_mark_of_no_meaning_is_refused(tmp_path):
    plan = {"tasks": {"": ["1"]}, "trials": 1}
    with pytest.raises(ConfigurationError, match="'subset' is 3"):
        RunFolder.open(tmp_path / "odd", {**plan, "subset": 3})
