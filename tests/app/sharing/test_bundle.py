"""A run becomes one archive; others check it and open it as a run of their own."""

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maseval.app.sharing.bundle import BundleError, open_bundle
from maseval.commands import bundle, gate, show, tau2, unbundle
from maseval.core.exceptions import ConfigurationError, NotRunError, OutputExistsError
from maseval.core.storage import strict_json, zip_archive
from maseval.core.storage.zip_archive import ArchiveError
from maseval.runs import RunFolder, RunLockedError, list_runs
from tests.cli.commandline import maseval
from tests.damage import DAMAGES
from tests.frames.recordings import library_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library_run(trials=1, output=tmp_path_factory.mktemp("runs") / "mine").folder


@pytest.fixture(scope="module")
def archive(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundle(run, tmp_path_factory.mktemp("bundles") / "mine.maseval.zip").path


def contents(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def packed(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def relisted(files: dict[str, bytes], **changes: str) -> dict[str, bytes]:
    """The files with a list of theirs that is right, as somebody could make it."""
    manifest = json.loads(files["bundle.json"]) | changes
    manifest["files"] = {
        name: {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
        for name, content in files.items()
        if name != "bundle.json"
    }
    listed = {key: manifest[key] for key in sorted(manifest) if key != "sha256"}
    manifest["sha256"] = hashlib.sha256(strict_json.dumps(listed).encode()).hexdigest()
    return {**files, "bundle.json": json.dumps(manifest).encode()}


@pytest.mark.parametrize(("name", "words"), [("none.zip", "does not exist"), (".", "not a file")])
def test_what_is_no_file_is_refused_by_name_and_nothing_is_made(name, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    result = maseval("bundle", "--open", name)

    assert result.exit_code == 2
    assert f"{name} {'is ' if name == '.' else ''}{words}; name the archive" in result.stderr
    assert os.listdir(tmp_path) == []


def test_a_bundle_holds_the_run_and_what_it_was_made_by(run, archive):
    files = contents(archive)
    manifest = json.loads(files["bundle.json"])

    assert set(files) == {"config.json", "log.jsonl", "bundle.json"}
    assert files["log.jsonl"] == (run / "log.jsonl").read_bytes()
    assert manifest["seal"] == RunFolder.read(run).seal
    assert manifest["data"].keys() == {"library"}
    (versions,) = manifest["versions"]
    assert versions["packages"]["pydantic"]
    assert versions["python"].startswith("3.")
    assert manifest["notes"] == []


@pytest.mark.data
def test_a_run_of_another_release_is_checked_by_that_releases_data(
    tmp_path, monkeypatch, shared_data, tau2_data_of_1_0_1
):
    monkeypatch.setenv("MASEVAL_TAU2_DATA", str(shared_data / "tau2-v1.0.1"))
    options = {"domain": "retail", "task_id": ["0"], "data_version": "1.0.1"}
    runs = {
        agent: tau2.run(agent=agent, output=tmp_path / agent, **options).folder
        for agent in ("gold", "noop")
    }

    found = unbundle(bundle(runs["gold"], tmp_path / "gold.zip").path, tmp_path / "theirs")

    assert (found.data, found.unchecked, found.verdicts) == ([], None, None)
    assert gate(runs["noop"], runs["gold"]).comparison.notes == []


def test_the_same_run_gives_the_same_bytes(run, archive, tmp_path):
    again = bundle(run, tmp_path / "again.zip").path

    assert again.read_bytes() == archive.read_bytes()


def test_a_bundle_opens_as_a_run_folder_like_any_other(run, archive, tmp_path):
    found = unbundle(archive, tmp_path / "theirs")

    assert found.holds
    assert (found.unchecked, found.data) == (None, [])
    original, opened = show(run), show(found.path)
    assert opened.summary == original.summary
    (scored,) = tau2.score([found.path])
    assert scored.agreeing == found.simulations == original.summary.overall.recorded
    assert os.listdir(tmp_path) == ["theirs"]


def test_without_a_folder_it_is_opened_below_the_runs_under_its_name(
    archive, tmp_path, monkeypatch
):
    monkeypatch.setenv("MASEVAL_RUNS_DIR", str(tmp_path / "runs"))

    assert unbundle(archive, verify=False).path == tmp_path / "runs" / "mine"
    assert show("mine").lines


def test_nothing_that_exists_is_replaced(run, archive, tmp_path):
    (tmp_path / "x").symlink_to(tmp_path / "nowhere")

    with pytest.raises(OutputExistsError, match="already exists"):
        unbundle(archive, tmp_path / "x")
    with pytest.raises(OutputExistsError, match="already exists"):
        bundle(run, archive)


def test_a_run_without_its_end_is_not_bundled_as_whole(run, tmp_path):
    cut = shutil.copytree(run, tmp_path / "cut")
    DAMAGES["cut"].do(cut)

    with pytest.raises(BundleError, match="the last 2 lines are missing"):
        bundle(cut, tmp_path / "cut.zip")

    # Without its seal, as after a kill: what is there can be bundled, and what is not is said.
    (cut / "seal.json").unlink()
    made = maseval("bundle", cut, "--output", tmp_path / "cut.zip")
    opened = maseval(
        "bundle", "--open", tmp_path / "cut.zip", "-o", tmp_path / "opened", "--no-verify"
    )
    planned = len(RunFolder.read(run).planned)
    for done in (made, opened):
        assert f"only {planned - 1} of {planned} planned simulations are recorded" in done.stderr
        assert "its log has no closing line" in done.stderr
    DAMAGES["cut"].do(tmp_path / "opened")
    assert RunFolder.read(tmp_path / "opened").damaged


def test_a_bundle_of_the_first_form_is_still_opened(archive, tmp_path):
    files = contents(archive)
    manifest = json.loads(files["bundle.json"])
    del manifest["simulations"]
    files["bundle.json"] = json.dumps(manifest).encode()
    files |= {"report.html": b"<html>100% passed</html>", "certificate.json": b"{}"}
    first = packed(tmp_path / "first.zip", relisted(files, form="maseval bundle 1"))

    opened = unbundle(first, tmp_path / "out")

    assert opened.holds
    assert not {"report.html", "certificate.json"} & {*os.listdir(opened.path)}


def test_a_run_without_its_configuration_file_is_bundled(run, archive, tmp_path):
    lost = shutil.copytree(run, tmp_path / "mine")
    (lost / "config.json").unlink()

    found, original = contents(bundle(lost, tmp_path / "x.zip").path), contents(archive)
    for name in ("config.json", "log.jsonl"):
        assert found[name] == original[name]


def test_other_data_than_the_run_had_is_reported(archive, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "maseval.benchmark.tau2.app.results.outcomes.data_fingerprint",
        lambda domain, *, version: {"db.json": "another"},
    )

    found = unbundle(archive, tmp_path / "out")

    assert not found.holds
    assert "library: db.json is not what the run was made with" in found.data
    assert found.unchecked == "the data here is not that of the run"


def without(files: Any, name: str) -> dict[str, Any]:
    return {key: content for key, content in files.items() if key != name}


def edited(name: str) -> Callable[..., Any]:
    """Change a file, and not the list."""
    return lambda files: {**files, name: files[name].replace(b"library", b"LIBRARY", 1)}


def relogged(change: Callable[..., Any]) -> Callable[..., Any]:
    """Change the lines of the log, and make the list fit."""

    def changed(files):
        lines = change(files["log.jsonl"].splitlines(keepends=True))
        return relisted({**files, "log.jsonl": b"".join(lines)})

    return changed


def boasting(files: Any) -> Any:
    listed = json.loads(files["bundle.json"])["simulations"]
    assert listed["closed"] and listed["planned"] == listed["recorded"] > 0
    return relisted(files, simulations={**listed, "recorded": listed["recorded"] + 1})


LISTED = ("config.json", "log.jsonl")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        *((edited(name), f"its {name} was changed") for name in LISTED),
        (relogged(lambda lines: [*lines[:-3], *lines[-2:]]), r"its log is damaged: .*missing"),
        (relogged(lambda lines: lines[:-1]), "its log ends with"),
        (boasting, "its simulations are"),
        (lambda files: {**files, "../../evil": b"x"}, "does not belong there"),
        (lambda files: {**files, "evil.py": b"x"}, "does not belong there"),
        (lambda files: {**files, "judged.jsonl": b"{}"}, "not the listed ones"),
        (lambda files: without(files, "log.jsonl"), "has no log.jsonl"),
        (lambda files: without(files, "bundle.json"), "has no bundle.json"),
        (lambda files: {**files, "bundle.json": b"{}"}, "not of the form"),
        (lambda files: {**files, "bundle.json": b"[" * 100_000}, "cannot be used"),
        (lambda files: relisted(files, form="maseval bundle 9"), "not of the form"),
        (
            lambda files: {**files, "bundle.json": files["bundle.json"].replace(b"mine", b"mime")},
            "changed after it was written",
        ),
    ],
)
def test_what_is_not_a_bundle_is_refused_and_nothing_stays(change, words, archive, tmp_path):
    hostile = packed(tmp_path / "hostile.zip", change(contents(archive)))

    with pytest.raises((BundleError, ArchiveError), match=words):
        unbundle(hostile, tmp_path / "out")

    assert os.listdir(tmp_path) == ["hostile.zip"]


def test_a_bundle_that_unpacks_to_too_much_is_refused(archive, tmp_path, monkeypatch):
    monkeypatch.setattr(zip_archive, "_MOST", 1000)
    with pytest.raises(ArchiveError, match="unpacks to more than 1,000 bytes"):
        unbundle(archive, tmp_path / "out")

    assert os.listdir(tmp_path) == []


def test_a_run_that_is_running_or_damaged_or_empty_is_not_bundled(run, tmp_path):
    config = RunFolder.read(run).config.values
    running = pytest.raises(RunLockedError, match="still running")
    with RunFolder.open(tmp_path / "open", config), running:
        bundle(tmp_path / "open", tmp_path / "x.zip")
    with pytest.raises(NotRunError, match="no finished simulation"):
        bundle(tmp_path / "open", tmp_path / "x.zip")
    damaged = unbundle(bundle(run, tmp_path / "y.zip").path, tmp_path / "damaged", verify=False)
    log = damaged.path / "log.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"success"', b'"sUccess"', 1))
    with pytest.raises(BundleError, match="is damaged"):
        bundle(damaged.path, tmp_path / "x.zip")
    assert not (tmp_path / "x.zip").exists()


def test_a_run_of_any_benchmark_is_bundled(tmp_path):
    ran = maseval("run", "examples.booking:BookingBenchmark", "--output", tmp_path / "booking")
    assert ran.exit_code == 0, ran.stderr

    done = maseval("bundle", tmp_path / "booking", "--output", tmp_path / "b.zip")
    opened = maseval("bundle", "--open", tmp_path / "b.zip", "--output", tmp_path / "opened")

    assert (done.exit_code, opened.exit_code) == (0, 0)
    assert "verdicts were not checked: this benchmark does not" in " ".join(opened.stderr.split())
    assert maseval("show", tmp_path / "opened").exit_code == 0


def test_a_bundle_that_is_being_opened_is_not_listed_as_a_run(archive, tmp_path):
    with open_bundle(archive, tmp_path / "out"):
        assert list_runs(tmp_path) == []

    assert [run.name for run in list_runs(tmp_path)] == ["out"]


def test_a_bundle_carries_public_formats_on_request(tmp_path):
    run = tau2.run(domain="library", agent="noisy", num_tasks=3, output=tmp_path / "run").folder
    made = [
        bundle(run, tmp_path / f"{name}.maseval.zip", formats=["atif", "eee"]).path
        for name in ("one", "two")
    ]
    opened = unbundle(made[0], tmp_path / "opened")

    assert made[0].read_bytes() == made[1].read_bytes()
    assert opened.holds and opened.simulations == 3
    file = tmp_path / "opened" / "trajectories.atif.jsonl"
    assert [line.passed for line in show(file).lines] == [line.passed for line in show(run).lines]
    results = json.loads((tmp_path / "opened" / "results.eee.json").read_text())
    rows = (tmp_path / "opened" / "results.eee_samples.jsonl").read_bytes()
    checksum = results["detailed_evaluation_results"]["checksum"]
    assert hashlib.sha256(rows).hexdigest() == checksum
    with pytest.raises(ConfigurationError, match="cannot carry 'csv'; choose one of atif, eee"):
        bundle(run, tmp_path / "other.zip", formats=["csv"])
