"""Runs as a file, and sets of runs."""

import json
import signal
from pathlib import Path

import pytest

from maseval.runs import RunFolder
from tests.cli.commandline import ended, maseval, started, wait_for_some

SET = """
benchmark = "tau2"
domain = "library"
task_id = "1-2"

[[run]]
name = "gold"
agent = "gold"

[[run]]
name = "noisy"
agent = "noisy"
agent-args = {error_rate = 1.0}
"""


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


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


def test_a_set_of_runs_is_run_and_resumed_as_a_whole() -> None:
    Path("pair.toml").write_text(SET, "utf-8")

    first = maseval("run", "pair.toml", "--json")
    again = maseval("run", "pair.toml", "--json")

    assert first.exit_code == again.exit_code == 0
    gold, noisy = map(json.loads, first.stdout.splitlines())
    assert [Path(each["folder"]).name for each in (gold, noisy)] == ["pair-gold", "pair-noisy"]
    assert gold["overall"]["passed"] == 2 and gold["ran"] == noisy["ran"] == 2
    assert [json.loads(line)["ran"] for line in again.stdout.splitlines()] == [0, 0]
    assert "maseval compare runs/pair-gold runs/pair-noisy" in maseval("run", "pair.toml").stdout


def test_one_instance_of_a_benchmark_is_counted_in_each_run_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = "from examples.booking import BookingBenchmark, load_tasks\nSHOP = BookingBenchmark()\n"
    Path("one_shop.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(".")
    runs = '[[run]]\nname = "a"\n[[run]]\nname = "b"\nnum_tasks = 1\n'
    Path("two.toml").write_text(f'benchmark = "one_shop:SHOP"\nnum_tasks = 3\n{runs}', "utf-8")

    found = maseval("run", "two.toml", "--json")

    assert [json.loads(line)["ran"] for line in found.stdout.splitlines()] == [3, 1]
    assert "3/3 done" in found.stderr and "1/1 done" in found.stderr
    import one_shop

    assert one_shop.SHOP.callbacks == []


def test_what_is_typed_counts_for_every_run_of_a_set() -> None:
    Path("pair.toml").write_text(SET, "utf-8")

    found = maseval("run", "pair.toml", "--trials", "2", "--task-id", "1", "--json")

    assert [json.loads(line)["overall"]["planned"] for line in found.stdout.splitlines()] == [2, 2]


def test_a_run_that_fails_does_not_keep_the_others_from_running() -> None:
    Path("pair.toml").write_text(SET.replace('"noisy"\nagent-args', '"no.py:x"\n#'), "utf-8")

    found = maseval("run", "pair.toml", "--json")

    assert found.exit_code == 2 and "no.py" in found.stderr
    gold, failed = map(json.loads, found.stdout.splitlines())
    assert gold["overall"]["passed"] == 2
    assert failed["name"] == "noisy" and failed["error"].startswith("exit code 2: there is no file")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("domain = ", "is not TOML"),
        (f"x = {'[' * 3000}{']' * 3000}", "more than 100 levels deep"),
        (f"x = {'{a=' * 150}1{'}' * 150}", "more than 100 levels deep"),
        ("domain = 'library'", "benchmark is None"),
        ("run = 3", "write [[run]]"),
        ("benchmark = 'tau2'\n[runs.a]\nagent = 'gold'", "write [[run]] before each run"),
        ("[[run]]\nagent = 'gold'", "a [[run]] has the name None"),
        ("[[run]]\nname = 'a'\n[[run]]\nname = 'a'", "two runs of the name 'a'"),
        (SET + "trails = 3", "--trails"),
        (SET + "trials = 'x'", "file.toml, run noisy"),
    ],
)
def test_a_file_that_is_wrong_is_refused_before_anything_runs(content: str, words: str) -> None:
    Path("file.toml").write_text(content, "utf-8")

    found = maseval("run", "file.toml")

    assert found.exit_code == 2 and words in " ".join(found.stderr.split())
    assert not Path("runs").exists()


def test_a_signal_ends_the_set_and_not_only_its_first_run(tmp_path: Path) -> None:
    options = 'agent_data = {delay_seconds = 0.4}\nconcurrency = 1\n[[run]]\nname = "a"\n'
    content = f'benchmark = "examples.booking:BookingBenchmark"\n{options}'
    Path("slow.toml").write_text(f'{content}[[run]]\nname = "b"\n', "utf-8")

    process = started("run", "slow.toml", folder=tmp_path)
    wait_for_some(tmp_path / "runs" / "slow-a", 1)
    process.send_signal(signal.SIGINT)
    code, _, errors = ended(process)

    assert code == 3, errors
    assert not Path("runs/slow-b").exists()


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
