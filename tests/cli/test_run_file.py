"""Runs as a file."""

import json
from pathlib import Path

import pytest

from maseval.runs import RunFolder
from tests.cli.commandline import maseval

pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")


def test_what_a_file_says_is_the_same_run() -> None:
    typed = ["--domain", "library", "--agent", "noisy", "--agent-args", "error_rate=0.5"]
    typed += ["--task-id", "1-2", "--num-trials", "2"]

    Path("mine.toml").write_text(
        'benchmark = "tau2"\ndomain = ["library"]\nagent = "noisy"\n'
        'agent_args = {error_rate = 0.5}\ntask-id = ["1-2"]\ntrials = 2\n',
        "utf-8",
    )
    assert maseval("tau2", "run", *typed, "--output", "runs/typed").exit_code == 0
    assert maseval("run", "mine.toml").exit_code == 0
    typed_run, file_run = (
        {
            name: value
            for name, value in RunFolder.read(Path("runs", folder)).config.values.items()
            if name not in ("command", "created_at", "run_id")
        }
        for folder in ("typed", "mine")
    )
    assert file_run == typed_run


def test_one_instance_of_a_benchmark_is_counted_in_each_run_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = "from examples.booking import BookingBenchmark, load_tasks\nSHOP = BookingBenchmark()\n"
    Path("one_shop.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(".")
    Path("two.toml").write_text('benchmark = "one_shop:SHOP"\n[grid]\nnum_tasks = [3, 1]', "utf-8")

    found = maseval("run", "two.toml", "--json")

    assert [json.loads(line)["ran"] for line in found.stdout.splitlines()] == [3, 1]
    assert "3/3 done" in found.stderr and "1/1 done" in found.stderr
    import one_shop

    assert one_shop.SHOP.callbacks == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("domain = ", "is not TOML"),
        (f"x = {'[' * 3000}{']' * 3000}", "more than 100 levels deep"),
        (f"x = {'{a=' * 150}1{'}' * 150}", "more than 100 levels deep"),
        ("domain = 'library'", "benchmark is None"),
        (
            "benchmark = 'tau2'\ntrails = 3",
            "line 2: unknown option 'trails'; did you mean",
        ),
        ("benchmark = 'tau2'\n[grid]\ntrials = [1, 'x']", "file.toml, run x:"),
    ],
)
def test_a_file_that_is_wrong_is_refused_before_anything_runs(content: str, words: str) -> None:
    Path("file.toml").write_text(content, "utf-8")

    found = maseval("run", "file.toml")

    assert found.exit_code == 2 and words in " ".join(found.stderr.split())
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("reference", "arguments"),
    [
        ("os:system", 'set = {command = "touch called"}'),
        ("subprocess:Popen", 'set = {args = ["touch", "called"]}'),
        ("mine.py:borrowed", 'set = {command = "touch called"}'),
        ("mine.py:bound", ""),
        ("maseval.core.storage.files:write_bytes", 'set = {path = "called", content = "x"}'),
    ],
)
@pytest.mark.parametrize("door", ["benchmark", "tasks"])
def test_a_file_cannot_call_what_was_not_written_for_it(
    reference: str, arguments: str, door: str
) -> None:
    Path("mine.py").write_text(
        "import functools\nfrom os import system as borrowed\n"
        "bound = functools.partial(borrowed, 'touch called')\n"
        "from examples.booking import BookingBenchmark\n",
        "utf-8",
    )
    lines = [f"benchmark = '{reference}'", arguments]
    if door == "tasks":
        lines = ["benchmark = 'mine.py:BookingBenchmark'", f"tasks = '{reference}'"]
    Path("file.toml").write_text("\n".join(lines), "utf-8")

    refused = maseval("run", "file.toml")

    said = " ".join(refused.stderr.split())
    assert refused.exit_code == 2
    assert "was not written for maseval" in said or "is not a Benchmark" in said
    assert "the code that file.toml names: " in said and reference in refused.stderr
    assert not Path("called").exists() and not Path("runs").exists()


def test_functions_of_the_users_own_files_are_called_after_they_were_named() -> None:
    Path("own.py").write_text(
        "from examples.booking import BookingBenchmark, load_tasks\n"
        "def make():\n    print('called')\n    return BookingBenchmark()\n"
        "def some():\n    return load_tasks()[:1]\n",
        "utf-8",
    )
    Path("file.toml").write_text("benchmark = 'own.py:make'\ntasks = 'own.py:some'\n", "utf-8")

    found = maseval("run", "file.toml")

    assert found.exit_code == 0, found.stderr
    assert "file.toml names: own.py:make, own.py:some" in found.stderr
