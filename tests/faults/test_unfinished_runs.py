"""Runs that came to nothing, or were damaged, are opened, reported and exported like any other."""

import json
import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from maseval import commands, frames
from maseval.commands import report, show, tau2
from maseval.core.exceptions import NotRunError
from maseval.core.report import NO_VERDICT_STATUSES
from maseval.runs import RunFolder
from maseval.view.library import Library
from maseval.view.rows import live_of
from maseval.view.viewed import ViewedRun
from tests.cli.commandline import maseval
from tests.damage import log_lines
from tests.report.reading import index_of, rows_of
from tests.view.builders import viewer

pytestmark = pytest.mark.needs(library="starlette")

FAULTS = {
    "provider_error": "the provider",
    "user_error": "the simulated user",
    "worker_died": "the worker process",
    "task_timeout": "the time limit",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "whole"
    args = {"error_rate": 0.3}
    return tau2.run(
        domain="library", agent="noisy", agent_args=args, trials=2, output=folder
    ).folder


@pytest.fixture
def runs(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a complete run, which others are made from."""
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    shutil.copytree(whole, tmp_path / "runs" / "whole")
    return tmp_path / "runs"


def make(runs: Path, name: str, statuses: list[str]) -> Path:
    """A run of the same tasks in which each simulation ended by an error of this status."""
    recorded = RunFolder.read(runs / "whole")
    error = {"error_type": "Trouble", "error_message": "out of order", "traceback": ""}
    empty = {"traces": {}, "eval": None, "final_answer": None, "usage": {}, "error": error}
    with RunFolder.open(runs / name, dict(recorded.config.values)) as folder:
        for each, status in zip(recorded.reports(), statuses, strict=False):
            folder.append({**each, **empty, "status": status})
    return runs / name


@pytest.mark.parametrize("recorded", [24, 3, 0], ids=["all ended", "some ended", "none ended"])
def test_a_run_without_a_verdict_says_what_happened_whose_fault_it_was_and_how_to_resume(
    runs, tmp_path, recorded
):
    run = make(runs, "outage", [[*FAULTS][at % 4] for at in range(recorded)])
    page = index_of(report(run, tmp_path / "page.html"))
    client = viewer(runs)
    in_viewer = client.get("/api/run/index", params={"run": "outage"}).json()
    printed = " ".join(maseval("show", run).stdout.split())
    (frame,) = frames.runs(run)

    assert not page["results"]["measures"] and frame["pass_1"] is None
    # Where something ended, its error stands on top, and how to resume beside it.
    said = [*page["results"]["notes"], *page["results"].get("obstacle", ())]
    (words,) = (each for each in said if each.startswith("No verdict"))
    assert words.endswith(f"with --output {run}: it resumes.")
    assert "".join(words.split()) in "".join(printed.split())
    for status, who in [*FAULTS.items()][:recorded]:
        assert f" {status} ({who})" in words
    assert (f"{24 - recorded} missing (no record)" in words) == (recorded < 24)
    assert [each["status"] for each in rows_of(page)].count("provider_error") == -(-recorded // 4)
    assert len(rows_of(page)) == recorded
    assert sum(len(task.get("unrecorded", ())) for task in page["tasks"]) == 24 - recorded
    assert in_viewer["live"]["state"] == "incomplete" and rows_of(in_viewer) == [
        {**each, "labels": []} for each in rows_of(page)
    ]
    viewed = [*in_viewer["results"]["notes"], *in_viewer["results"].get("obstacle", ())]
    assert words in viewed or not recorded


def test_a_run_without_a_verdict_is_exported_with_the_others(runs, tmp_path):
    make(runs, "outage", ["provider_error"] * 24)
    make(runs, "killed", [])
    make(runs, "every way", sorted(NO_VERDICT_STATUSES))

    site = commands.export_site(tmp_path / "site", runs)

    assert (site.runs, site.unreadable) == (4, {})


def test_an_answer_that_fails_for_one_run_leaves_the_rest_of_the_site(runs, tmp_path, monkeypatch):
    make(runs, "outage", ["provider_error"] * 24)

    def refuse(self, labelled):
        if self.source.path.name == "outage":
            raise NotRunError("nothing to see")
        return original(self, labelled)

    original = ViewedRun._overview
    monkeypatch.setattr(ViewedRun, "_overview", refuse)

    site = commands.export_site(tmp_path / "site", runs)

    assert site.unreadable == {"outage": "nothing to see"}


def test_a_log_with_changed_rewards_has_one_state_and_one_number_everywhere(runs, tmp_path):
    log = runs / "whole" / "log.jsonl"
    lines = log_lines(runs / "whole")
    reports = [at for at, line in enumerate(lines) if b'"kind": "report"' in line]
    for at in reports[:7]:
        lines[at] = re.sub(rb'"reward": [01]\.0', b'"reward": 0.5', lines[at])
    log.write_bytes(b"".join(lines))
    library = Library(runs)
    (row,) = library.rows()
    live, page = live_of(library.run("whole")), library.run("whole").index()
    printed, shown = index_of(report(runs / "whole", tmp_path / "page.html")), show(runs / "whole")
    (listed,) = json.loads(maseval("runs", runs, "--json").stdout)

    assert row["state"] == live["state"] == listed["state"] == "damaged"
    number = row["pass_1"]["value"]
    assert number == shown.summary.overall.pass_1["value"]
    for found in (page, printed):
        assert found["results"]["rows"][-1]["measures"][0]["value"] == number
        first = found["results"]["doubt"]["reasons"][0]
        assert first.startswith("its log is damaged in 7 places")
        assert first not in found["results"]["notes"]
