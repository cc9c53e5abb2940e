"""Runs in plain processes: the same reports, whatever dies, and nothing is left behind."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from examples.booking import BookingBenchmark, load_tasks
from maseval import commands
from maseval.commands import tau2
from maseval.core.engine import processes
from maseval.core.engine.processes import ProcessEngine
from maseval.core.environment import Environment
from maseval.core.exceptions import ConfigurationError
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.tracing import JsonObject
from maseval.runs import RunFolder
from tests.core.engine.gated import GATE
from tests.normalised import normalise
from tests.waiting import wait_until

ROOT = Path(__file__).parents[3]

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


class Deadly(BookingBenchmark):
    """Kills its process at some tasks, each once, or one of them every time."""

    def __init__(self, folder: Path, always: list[str] | tuple[Any, ...] = ()) -> None:
        super().__init__(progress_bar=False, num_workers=3)
        self.folder, self.always = str(folder), always

    def setup_environment(
        self, agent_data: JsonObject, task: Task, seed_generator: SeedGenerator
    ) -> Environment:
        died = Path(self.folder) / str(task.id)
        if task.id in self.always or not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().setup_environment(agent_data, task, seed_generator)


def reports_of(folder: Path) -> set[str]:
    return {
        json.dumps(normalise(each), sort_keys=True) for each in RunFolder.read(folder).reports()
    }


def test_a_seeded_run_gives_the_same_reports_as_threads(tmp_path):
    options = {"domain": "library", "agent": "noisy", "trials": 2, "seed": 7, "num_tasks": 5}
    here = tau2.run(output=tmp_path / "here", **options, engine="threads").folder
    there = tau2.run(output=tmp_path / "there", **options, processes=2).folder

    assert reports_of(there) == reports_of(here)
    assert len(reports_of(here)) == 10


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"num_tasks": 1}, 1),
        ({"num_tasks": 3, "concurrency": 2}, 2),
        ({"num_tasks": 6, "concurrency": 6}, 3),
        ({"num_tasks": 6, "concurrency": 6, "force": True}, 5),
    ],
)
def test_there_are_no_more_workers_than_simulations_and_unless_forced_cores(
    more, expected, tmp_path, monkeypatch
):
    started = []

    class Counted(processes.WorkerProcess):
        def __init__(self):
            started.append(self)
            super().__init__()

    monkeypatch.setattr(processes, "WorkerProcess", Counted)
    monkeypatch.setattr(processes, "usable_cores", lambda: 3)
    run = tau2.run(domain="library", agent="gold", processes=5, output=tmp_path / "run", **more)

    assert run.complete and len(started) == expected


@posix
def test_what_was_in_a_process_that_died_is_begun_again(tmp_path):
    tasks = load_tasks()[:4]
    reports = Deadly(tmp_path).run(tasks, engine=ProcessEngine(processes=2))

    assert sorted(each["task_id"] for each in reports) == sorted(str(each.id) for each in tasks)
    assert {each["status"] for each in reports} <= {"success", "worker_died"}
    assert len(list(tmp_path.iterdir())) == 4


@posix
def test_a_simulation_that_ends_its_process_every_time_is_given_up_alone(tmp_path):
    tasks = load_tasks()[:3]
    for task in tasks:
        (tmp_path / str(task.id)).touch()
    reports = Deadly(tmp_path, always=[tasks[1].id]).run(tasks, engine=ProcessEngine(processes=1))

    found = {each["task_id"]: each["status"] for each in reports}
    assert found.pop(str(tasks[1].id)) == "worker_died"
    assert set(found.values()) == {"success"}


class Torn(BookingBenchmark):
    """Writes where it should not."""

    def setup_environment(
        self, agent_data: JsonObject, task: Task, seed_generator: SeedGenerator
    ) -> Environment:
        for name in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                    os.write(int(name), b"hello")
        return super().setup_environment(agent_data, task, seed_generator)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="asks Linux for what is open")
def test_foreign_bytes_in_its_pipe_are_named_as_the_reason_why_a_process_was_ended():
    benchmark = Torn(progress_bar=False, num_workers=1)

    [report] = benchmark.run(load_tasks()[:1], engine=ProcessEngine(1))

    assert report["status"] == "worker_died"
    assert "foreign code in it wrote to its pipe" in report["error"]["error_message"]


def test_the_rounds_of_a_run_are_served_by_processes_that_are_started_once(tmp_path, monkeypatch):
    started, rounds = [], []

    class Counted(processes.WorkerProcess):
        def __init__(self):
            started.append(self)
            super().__init__()

        def begin(self, equipment, *, alone):
            rounds.append(self)
            super().begin(equipment, alone=alone)

    monkeypatch.setattr(processes, "WorkerProcess", Counted)
    run = tau2.run(
        **{"domain": "library", "agent": "noisy", "output": tmp_path / "run", "seed": 3},
        **{"processes": 2, "force": True, "until": "+-30", "trials": 4},
    )

    assert run.complete and len(started) == 2
    assert set(rounds) == set(started) and len(rounds) >= 4


class OnlyHere:
    """A value that no process but its own can read."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[int]]:
        return refuse_elsewhere, (os.getpid(),)


def refuse_elsewhere(pid: Any) -> Any:
    if pid != os.getpid():
        raise LookupError("a class that is not known here")
    return OnlyHere()


def test_an_order_that_cannot_be_read_is_ended_and_those_sent_along_are_run():
    tasks = load_tasks()
    odd = tasks[1]
    odd.metadata["value"] = OnlyHere()
    benchmark = BookingBenchmark(progress_bar=False, num_workers=len(tasks))

    reports = benchmark.run(tasks, agent_data={}, engine=ProcessEngine(1))

    by_task = {report["task_id"]: report for report in reports}
    failed = by_task.pop(str(odd.id))
    assert failed["status"] != "success"
    assert "LookupError: a class that is not known here" in failed["error"]["error_message"]
    assert len(by_task) == len(tasks) - 1
    assert {report["status"] for report in by_task.values()} == {"success"}


def test_what_cannot_be_sent_is_named_with_the_way_out():
    benchmark = BookingBenchmark(progress_bar=False)
    benchmark.helper = lambda: None

    with pytest.raises(ConfigurationError, match=r"the benchmark cannot be sent.*engine='threads'"):
        benchmark.run(load_tasks()[:1], engine="processes")


def test_a_program_that_starts_itself_again_is_told_the_way_out(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import threading\n"
        "from examples.booking import BookingBenchmark, load_tasks\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "BookingBenchmark().run(load_tasks()[:1], engine='processes')\n"
    )
    ended = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    assert "under if __name__ == '__main__':" in ended.stderr.splitlines()[-1]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes start anew")
def test_processes_are_forked_before_the_threads_that_watch_a_run(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(  # one that starts anew would run this again
        "from maseval.commands import tau2\n"
        "done = tau2.run(domain='library', agent='gold', num_tasks=3, processes=2, "
        f"output={str(tmp_path / 'run')!r})\n"
        "print(done.complete)\n"
    )
    ended = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)

    assert ended.stdout == "True\n", ended.stderr


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="asks Linux for the children")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_no_process_and_whole_records(end, tmp_path):
    folder = tmp_path / "run"
    command = ["tau2", "run", "--domain", "library", "--agent", "noisy", "--trials", "400"]
    command += ["--output", str(folder), "--engine", "processes", "--processes", "2", "--seed", "1"]
    run = subprocess.Popen(
        [sys.executable, "-m", "maseval", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    log = folder / "log.jsonl"
    wait_until(lambda: log.exists() and log.read_bytes().count(b"\n") > 20, "some reports")
    started = [int(word) for word in children_of(run.pid)]
    os.killpg(run.pid, end) if end is signal.SIGINT else os.kill(run.pid, end)
    words = run.communicate()[1]

    wait_until(lambda: not any(Path(f"/proc/{each}").exists() for each in started), "the end")
    assert len(started) >= 2  # and one of Python's own
    assert "Traceback" not in words
    before = RunFolder.read(folder)
    assert len(before.recorded) > 15 and not before.damaged


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="asks Linux for the children")
@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_a_kill_in_the_middle_changes_no_result(victim, tmp_path, monkeypatch):
    gate, folder = tmp_path / "gate", tmp_path / "run"
    monkeypatch.setenv(GATE, str(gate))
    wanted = {"benchmark": "tests.core.engine.gated:Gated", "tasks": "tests.core.engine.gated:some"}
    command = [sys.executable, "-m", "maseval", "run", wanted["benchmark"], "-j", "4", "--seed=1"]
    command += ["--tasks", wanted["tasks"], "--engine=processes", "--processes=2"]
    run = subprocess.Popen(
        [*command, "--output", str(folder)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    log = folder / "log.jsonl"
    wait_until(lambda: log.exists() and log.read_bytes().count(b'"report"') >= 2, "some reports")
    finished = reports_of(folder)
    workers = [int(each) for each in children_of(run.pid) if "resource_tr" not in command_of(each)]
    os.kill(run.pid if victim == "driver" else workers[0], signal.SIGKILL)
    if victim == "driver":
        run.communicate()
        wait_until(lambda: not any(Path(f"/proc/{each}").exists() for each in workers), "the end")
    gate.touch()
    if victim == "driver":
        commands.run(**wanted, seed=1, output=folder)
    else:
        assert b"died" in run.communicate()[1] and run.returncode == 0

    commands.run(**wanted, seed=1, output=tmp_path / "here", engine="threads")
    assert finished < reports_of(folder) == reports_of(tmp_path / "here")


def command_of(process: str) -> str:
    return Path(f"/proc/{process}/cmdline").read_text()


def children_of(process: int) -> list[str]:
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()
