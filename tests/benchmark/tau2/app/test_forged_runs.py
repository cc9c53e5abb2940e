"""A run folder whose log was written anew, all its checksums right: recomputing finds it out."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maseval import frames
from maseval.app.results.names import open_recording
from maseval.app.sharing.sync import _tracked_run
from maseval.commands import bundle, report, runs, show, tau2, unbundle
from maseval.core.outcome import Outcome
from maseval.core.words import percent
from maseval.runs import RunFolder
from tests.cli.commandline import last_json, maseval
from tests.damage import FORGERIES, forge_run
from tests.faults.table import shows
from tests.noisy_runs import noisy_run
from tests.report.reading import index_of, rows_of

WORDS = {
    "passed": "recorded verdicts do not hold",
    "excused": "simulations are recorded without the verdict that recomputing gives",
}
FOUND = (
    "`score` and `certify` name the cause; `show`, report, viewer and `bundle --open` mark the "
    "false verdicts"
)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four tasks, two trials each, of which some passed."""
    folder = tmp_path_factory.mktemp("forged") / "runs" / "honest"
    noisy_run(folder, 0.5, num_tasks=4)
    return folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def forged(honest: Path, tmp_path: Path) -> Callable[..., Any]:
    def forge(name):
        folder = tmp_path / "runs" / name
        shutil.copytree(honest, folder)
        if name != "honest":
            FORGERIES[name].do(folder)
        return folder

    return forge


def failures(folder: Path) -> list[Outcome]:
    return [line for line in show(folder, explain=False).lines if line.kind != "pass"]


def test_the_honest_run_holds(forged):
    folder = forged("honest")
    view, (scored,) = show(folder), tau2.score([folder])

    assert 0 < len(failures(folder)) < 8
    assert view.check.note is None and view.check.to_dict()["checked"] == 8
    assert [each.kind for each in scored.findings] == ["part of a split"]
    assert scored.agrees and tau2.certify(folder, partial=True).is_sound
    assert [state.unconfirmed for state in runs(folder.parent)] == [None]


@shows(
    "Forged runs: the log is written anew, and all its checksums are right",
    *((each.text, FOUND) for each in FORGERIES.values()),
)
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_run_is_found_out(name, forged, honest):
    folder = forged(name)
    wrong = len(failures(honest))
    assert RunFolder.read(folder).damaged == []

    (scored,) = tau2.score([folder])
    certified = maseval("tau2", "certify", folder, "--partial", "--json")
    view = show(folder)

    assert not scored.agrees and scored.passes == 8 - wrong
    assert certified.exit_code == 1 and json.loads(certified.stdout)["findings"]
    assert len(view.check.differing) >= wrong
    assert view.summary.overall.passed == 8 - wrong
    assert view.summary.overall.pass_1["value"] == pytest.approx(scored.pass_hat[1].value)


@pytest.mark.parametrize("name", ["passed", "excused"])
def test_the_numbers_of_a_forged_run_are_recomputed(name, forged, tmp_path):
    folder = forged(name)
    (scored,) = tau2.score([folder])
    number = pytest.approx(scored.pass_hat[1].value)

    page = index_of(report(folder, tmp_path / "page.html", explain=True))
    with _tracked_run(open_recording(folder)) as sent:
        assert sent.metrics["verdicts_replaced"] > 0
    (frame,) = frames.runs(folder)

    assert sum(each["outcome"] == "pass" for each in rows_of(page)) == scored.passes
    assert WORDS[name] in frame["unconfirmed"]
    assert frame["pass_1"] == frame["pass_1_recomputed"] == number
    assert frame["pass_1_recorded"] > frame["pass_1"]
    (as_recorded,) = frames.runs(folder, as_recorded=True)
    assert as_recorded["pass_1"] == frame["pass_1_recorded"]
    failed = f"{8 - scored.passes} of 8 simulations"
    assert failed in maseval("show", folder, "--failed", "--no-explain").stdout


@pytest.mark.parametrize("name", ["passed", "excused"])
def test_wherever_a_forged_run_is_shown_it_is_marked(name, forged, tmp_path):
    folder = forged(name)
    before = maseval("runs", folder.parent)
    shown = maseval("show", folder, "--no-explain")
    listed = maseval("runs", folder.parent)
    listed_as_json = last_json(maseval("runs", folder.parent, "--json").stdout)
    page = report(folder, tmp_path / "page.html", explain=False).read_text()

    words = WORDS[name]
    assert words not in before.stdout and "as recorded" in before.stdout
    assert "as recorded" not in listed.stdout and listed_as_json[0]["checked"]
    assert words in shown.stdout and "x verdict does not hold" in shown.stdout
    assert words in listed.stdout and words in listed_as_json[0]["unconfirmed"]
    assert words in page and "record: verdict does not hold" in page
    (state,) = runs(folder.parent)
    assert listed_as_json[0]["pass^1_recomputed"] == state.recomputed
    assert percent(state.recomputed["value"]) in listed.stdout
    assert f"recorded {percent(state.pass_1['value'])}" in " ".join(listed.stdout.split())
    doubt = index_of(tmp_path / "page.html")["results"]["doubt"]
    assert words in doubt["reasons"][0]
    assert doubt["recomputed"] == state.recomputed
    assert doubt["recorded"]["value"] == state.pass_1["value"]


# How a conversation ended is taken as recorded: interrupted ones have no verdict, and are missing.


def test_one_simulation_of_a_forged_run_is_marked(forged, honest):
    folder, wrong = forged("passed"), failures(honest)[0]

    view = show(folder, wrong.task_id, wrong.trial)
    shown = maseval("show", folder, wrong.task_id, wrong.trial)

    assert view.line.kind == "pass" and "its own checks is 0" in view.misstatement
    assert "Doubtful: the recorded verdict does not hold" in shown.stdout


def test_a_forged_run_is_bundled_with_a_note_and_does_not_hold_when_it_is_opened(forged, tmp_path):
    made = bundle(forged("passed"), tmp_path / "forged.zip")
    found = unbundle(made.path, tmp_path / "opened")
    told = maseval("bundle", "--open", made.path, "--output", tmp_path / "again")

    assert any("do not hold" in note for note in made.manifest["notes"])
    assert found.verdicts and not found.holds
    assert "recorded verdicts do not hold" in found.verdicts
    assert told.exit_code == 1 and "recorded verdicts do not hold" in told.stderr


def test_what_was_remembered_of_a_log_does_not_count_for_another(forged):
    folder = forged("honest")
    show(folder, explain=False)
    forge_run(folder, lambda each: each["eval"][0].update(passed=True, reward=1.0))

    (listed,) = runs(folder.parent)
    assert listed.unconfirmed is None
    show(folder, explain=False)
    (listed,) = runs(folder.parent)
    assert "do not hold" in listed.unconfirmed


def test_nothing_in_the_folder_of_a_run_speaks_for_its_verdicts(forged):
    folder = forged("passed")
    before = {path.name for path in folder.iterdir()}
    show(folder, explain=False)

    assert {path.name for path in folder.iterdir()} == before


def test_the_viewer_marks_a_forged_run_in_the_background(forged, honest):
    pytest.importorskip("starlette")
    from tests.view.builders import finish_background_work, viewer

    folder = forged("passed")
    client = viewer(folder.parent)

    client.get("/api/runs")
    finish_background_work("maseval-labels")
    (row,) = client.get("/api/runs").json()["runs"]
    client.get("/api/run/index", params={"run": "passed"})
    finish_background_work("maseval-labels")
    index = client.get("/api/run/index", params={"run": "passed"}).json()

    (scored,) = tau2.score([folder])
    assert row["problem"] is None and "recorded verdicts do not hold" in row["doubt"]["reasons"][0]
    assert row["doubt"] == index["results"]["doubt"]
    assert row["pass_1"] == row["doubt"]["recomputed"]
    assert row["pass_1"]["value"] == pytest.approx(scored.pass_hat[1].value)
    assert row["doubt"]["recorded"]["value"] == 1
    assert index["results"]["rows"][0]["measures"][0]["value"] == row["pass_1"]["value"]
    marked = [each for each in rows_of(index) if "record: verdict does not hold" in each["labels"]]
    assert len(marked) == len(failures(honest))
    assert {each["outcome"] for each in marked} == {"fail"}
    task = index["tasks"][marked[0]["task"]]
    query = {"run": "passed", "domain": task["domain"], "task": task["id"]}
    packet = client.get("/api/run/packet", params={**query, "trial": marked[0]["trial"]}).json()
    assert "the recorded verdict does not hold" in packet["trials"][0]["doubt"]


def test_simulations_of_another_run_are_found_by_their_seeds(tmp_path):
    options = {"domain": "library", "agent": "noisy", "num_tasks": 1, "trials": 2}
    run = tau2.run(**options, seed=5, output=tmp_path / "runs" / "run")
    (honest,) = tau2.score([run.folder])
    forge_run(run.folder, lambda report: report.update(seed=6))
    (swapped,) = tau2.score([run.folder])

    assert "foreign seeds" not in {each.kind for each in honest.findings}
    assert "foreign seeds" in {each.kind for each in swapped.findings}
    assert not swapped.agrees
