"""Commands that look at runs, files and tasks."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from examples.booking import BookingBenchmark, load_tasks
from maseval.app.results.run_summary import RunResult
from maseval.cli import show as cli_show
from maseval.commands import show, tau2
from maseval.core.callbacks import FileResultLogger
from maseval.core.outcome import Outcome
from maseval.runs import RunFolder
from tests.cli.commandline import maseval, require_data
from tests.damage import log_lines


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("looking")


@pytest.fixture(scope="module")
def noisy(folder: Path) -> RunResult:
    return tau2.run(domain="library", agent="noisy", trials=3, output=folder / "runs" / "noisy")


@pytest.fixture(autouse=True)
def beside_the_runs(folder: Path, noisy: RunResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def a_task(noisy: RunResult, outcome: str) -> Outcome:
    return next(line for line in show(noisy.folder).lines if line.kind == outcome)


@pytest.mark.parametrize("columns", [30, 60, 80, 120, 300])
def test_the_name_of_a_run_is_never_cut(columns, tmp_path, monkeypatch):
    name = "20261115-101112-airline+retail+telecom-a-model-with-a-rather-long-name-of-60-letters"
    tau2.run(domain="library", agent="gold", num_tasks=1, output=tmp_path / "runs" / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(columns))

    assert f"runs/{name}" in maseval("runs").stdout


def test_no_runs_is_no_error(tmp_path):
    result = maseval("runs", tmp_path)

    assert result.exit_code == 0 and "maseval demo" in " ".join(result.stdout.split())


@pytest.mark.parametrize("name", ["runs/noisy", "noisy", "last"])
def test_a_run_is_shown_by_path_name_or_as_the_last(name):
    result = maseval("show", name)

    assert result.exit_code == 0
    assert "pass^3" in result.stdout
    assert result.stdout.count("library │") >= 12


def test_a_task_whose_id_is_a_number_has_no_other_number(noisy):
    view = show(noisy.folder)
    names = dict.fromkeys(line.task_id for line in view.lines)
    ids = {name: str(position + 7) for position, name in enumerate(names)}
    lines = [line._replace(task_id=ids[line.task_id]) for line in view.lines]
    view = replace(view, lines=lines)

    headers = [column.header for column in cli_show._trials(view).columns]

    assert headers == ["domain", "task", "trials", "passed"]


def test_messages_are_numbered_as_explanations_name_them(noisy):
    failed = a_task(noisy, "fail")

    shown = maseval("show", "last", failed.task_id, failed.trial).stdout
    named = {int(number) for number in re.findall(r"message (\d+)", shown)}
    numbered = {int(number) for number in re.findall(r"^#(\d+) ", shown, re.M)}

    assert 0 in numbered and named and named <= numbered


def test_long_ids_leave_the_answer_in_sight(tmp_path, monkeypatch):
    require_data()
    task = max((each.task_id for each in tau2.tasks("telecom")), key=len)
    monkeypatch.chdir(tmp_path)
    tau2.run(domain="telecom", agent="noop", task_id=[task], output="runs/one")

    for columns in ("40", "80", "120", "160"):
        monkeypatch.setenv("COLUMNS", columns)
        shown = re.sub("[│\\s]", "", maseval("show", "one", "--failed").stdout)

        assert task in shown
        assert re.search("-fail,?(findings)?unclear:user:.*user_stop", shown)


def test_of_a_task_the_first_trial_that_failed_is_shown(noisy):
    view = show(noisy.folder)
    mixed = next(
        line
        for line in view.lines
        if line.kind == "fail"
        and line.trial > 0
        and any((o.task_id, o.trial, o.kind) == (line.task_id, 0, "pass") for o in view.lines)
    )

    assert "fail, reward 0" in maseval("show", "last", mixed.task_id, "--failed").stdout
    assert "pass, reward 1" in maseval("show", "last", mixed.task_id).stdout


def test_a_task_is_shown_by_a_part_of_its_id_or_its_number(noisy):
    first = tau2.tasks("library")[0].task_id

    by_part = maseval("show", "last", first[:-3]).stdout
    by_number = maseval("show", "last", "0").stdout

    assert by_part == by_number == maseval("show", "last", first).stdout
    assert maseval("explain", "last", first[:-3]).exit_code in (0, 2)


def test_the_number_of_a_task_is_the_same_while_others_are_missing(noisy, tmp_path):
    copy = shutil.copytree(noisy.folder, tmp_path / "run")
    first, second, *_ = dict.fromkeys(one.task_id for one in RunFolder.read(copy).planned)
    # As after a kill, when later tasks were finished before the first.
    kept = [
        line for line in log_lines(copy) if f'"task_id": "{first}", "repeat'.encode() not in line
    ]
    (copy / "log.jsonl").write_bytes(b"".join(kept))

    listed = maseval("show", copy).stdout

    assert re.search(rf"│ *1 │ library │ {second} ", listed) and f"│ {first} " not in listed
    assert second in maseval("show", copy, "1").stdout.splitlines()[0]


@pytest.mark.parametrize("columns", [40, 80])
def test_a_path_is_never_wrapped(columns, tmp_path, monkeypatch):
    folder = tmp_path / "a_folder_with_a_name_that_is_long" / "and_another_one_inside_of_it" / "run"
    monkeypatch.setenv("COLUMNS", str(columns))

    ran = maseval("tau2", "run", "-d", "library", "-n", "1", "--agent", "gold", "-o", folder)

    assert f"in {folder}\n" in ran.stdout
    assert maseval("show", folder).stdout.startswith(f"{folder}\n")


def test_the_report_of_a_logger_s_file_is_written_beside_it(tmp_path):
    logger = FileResultLogger(tmp_path, "own.jsonl")
    BookingBenchmark(callbacks=[logger], progress_bar=False).run(load_tasks(), agent_data={})

    result = maseval("report", tmp_path / "own.jsonl")

    assert result.stdout.strip() == str(tmp_path / "own.html")
    assert "full-house" in (tmp_path / "own.html").read_text()


def test_a_file_without_reports_is_told(tmp_path):
    (tmp_path / "empty.jsonl").touch()

    result = maseval("report", tmp_path / "empty.jsonl")

    assert result.exit_code != 0 and "nothing to report" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "maseval runs"),
        (["last", "zero"], "no task 'zero'"),
        (["last", "library/zero"], "no task 'library/zero'"),
        (["last", "--domain", "retail"], "it has library"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(arguments, words):
    result = maseval("show", *arguments)

    assert result.exit_code == 2
    assert words in result.stderr


def edited(path: Path, **changes: float) -> None:
    results = json.loads(path.read_text())
    results["simulations"][0]["reward_info"].update(changes)
    path.write_text(json.dumps(results))


def test_an_export_is_judged_like_the_run_and_an_edited_reward_is_found(folder):
    exported = maseval("export", "last", "--format", "tau2-bench", "--output", "theirs.json")
    honest = maseval("score", "theirs.json", "--fail-on-disagreement")
    found = json.loads((folder / "theirs.json").read_text())["simulations"][0]
    edited(folder / "theirs.json", reward=1.0 - found["reward_info"]["reward"])
    forged = maseval("score", "theirs.json", "--fail-on-disagreement")
    only_told = maseval("score", "theirs.json")

    assert exported.stdout.strip() == "theirs.json"
    assert (
        honest.exit_code == 0 and "36 of 36 recorded verdicts confirmed (100.0%)" in honest.stdout
    )
    assert forged.exit_code == 1 and only_told.exit_code == 0
    assert "differs" in forged.stdout and "reward: recorded" in forged.stdout


def test_an_export_replaces_nothing_unasked():
    maseval("export", "last", "--format", "tau2-bench", "--output", "once.json")

    again = maseval("export", "last", "--format", "tau2-bench", "--output", "once.json")
    overwritten = maseval(
        "export", "last", "--format", "tau2-bench", "--output", "once.json", "--overwrite"
    )

    assert again.exit_code == 1 and "already exists" in again.stderr
    assert overwritten.exit_code == 0


def test_tools_and_policy_are_shown():
    tools = maseval("tau2", "tasks", "tools", "--domain", "library").stdout
    policy = maseval("tau2", "tasks", "policy", "--domain", "library").stdout

    assert "agent, read" in tools and "agent, write" in tools and "user, " in tools
    assert policy.startswith("#")


def test_tools_need_a_domain():
    result = maseval("tau2", "tasks", "tools")

    assert result.exit_code == 2 and "--domain" in result.stderr


def test_files_that_are_missing_are_told(tmp_path, monkeypatch):
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path))

    verified = maseval("tau2", "data", "verify")
    path = maseval("tau2", "data", "path").stdout.strip()

    assert verified.exit_code == 1
    assert verified.stdout.count("missing") >= 18
    assert path.startswith(str(tmp_path))


@pytest.mark.data
def test_files_that_are_there_are_verified():
    require_data()
    maseval("tau2", "data", "fetch")

    verified = maseval("tau2", "data", "verify")

    assert verified.exit_code == 0
    assert verified.stdout.count(": ok") == 18


def test_a_run_remembers_the_command_and_shows_it(tmp_path):
    words = ["tau2", "run", "--domain", "library", "--agent", "gold", "--num-tasks", "1"]
    typed = [*words, "--output", str(tmp_path / "two words")]
    maseval(*typed)
    again = maseval(*typed, "--concurrency", 2)

    command = f"maseval {' '.join(words)} --output '{tmp_path}/two words'"
    assert again.exit_code == 0
    assert command in maseval("show", tmp_path / "two words").stdout.splitlines()
