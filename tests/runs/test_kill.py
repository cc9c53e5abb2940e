"""Real processes that are killed, refused the disk or set against each other."""

import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from maseval.runs import RunFolder, RunWriteError, run_into, run_state
from tests.damage import KillRig, results_in
from tests.faults.table import shows
from tests.runs import program
from tests.runs.program import IDS
from tests.runs.worlds import config, desk, tasks

ROOT = Path(__file__).parents[2]
KILLS = 40
TRIALS = 3

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and limits")


def command(path: Path, *arguments: float) -> list[str]:
    return [sys.executable, "-m", "tests.runs.program", str(path), *map(str, arguments)]


def ended(path: Path, *arguments: int, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(path, *arguments), cwd=ROOT, capture_output=True, text=True, **options
    )


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    path = tmp_path_factory.mktemp("whole") / "run"
    with RunFolder.open(path, config(*IDS, trials=TRIALS)) as folder:
        run_into(folder, desk(), tasks(*IDS))
    return results_in(path)


def rig(path: Path, seconds: float, seed: int = 0, **options: int) -> KillRig:
    return KillRig(command(path, len(IDS), TRIALS, seconds), path, seed=seed, cwd=ROOT, **options)


class ForkedProcess:
    """A run of ``tests.runs.program`` in a fork of a process that has imported everything.

    It offers what ``KillRig`` uses of ``subprocess.Popen``. Starting an interpreter and importing
    maseval would be most of the time of a kill.
    """

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["pytest", "tests.runs.program"])  # pytest is the main module

    def __init__(self, *arguments: Any) -> None:
        self._process = self.context.Process(target=program.main_in_fork, args=arguments)
        self._process.start()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: Any) -> None:
        self._process.join()

    def poll(self) -> Any:
        return self._process.exitcode

    def send_signal(self, number: Any) -> None:
        if self._process.is_alive():
            os.kill(self._process.pid, number)

    def communicate(self) -> None:
        self._process.join()

    @property
    def returncode(self) -> Any:
        return self._process.exitcode


class ForkingRig(KillRig):
    """A ``KillRig`` whose processes start in milliseconds."""

    def __init__(self, path: Any, seconds: Any, chance: Any) -> None:
        super().__init__([], path, seed=chance)
        self._arguments = (path, len(IDS), TRIALS, seconds)

    def _start(self) -> subprocess.Popen[str]:
        return ForkedProcess(*self._arguments)

    def finish(self) -> subprocess.CompletedProcess[str]:
        with self._start() as process:
            process.communicate()
        return process


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_dozens_of_kills_lose_nothing_that_was_finished(tmp_path, uninterrupted):
    chance, kills, number = random.Random(2024), 0, 0
    while kills < KILLS:
        number += 1
        victim = ForkingRig(tmp_path / f"run{number}", 0.012, chance)
        finished: set[str] = set()
        while kills < KILLS and victim.kill():
            kills += 1
            now = set(victim.results())
            assert finished <= now <= set(uninterrupted)
            finished = now
        assert victim.finish().returncode == 0
        assert victim.results() == uninterrupted
        assert RunFolder.read(victim.folder).damaged == []
        assert run_state(victim.folder).state == "complete"
    assert number > 2


@shows(
    "The files of a run",
    ("`kill -9` at any moment", "the run resumes, and equals one that was never disturbed"),
)
def test_a_killed_run_goes_on(tmp_path, uninterrupted):
    victim = rig(tmp_path / "run", 0.3, seed=1, most_results=2)

    while not victim.results():
        assert victim.kill(), "it came to its end, though it is slow"

    state = run_state(tmp_path / "run")
    assert state.state == "incomplete" and 0 < state.done < state.planned
    assert rig(tmp_path / "run", 0).finish().returncode == 0
    assert victim.results() == uninterrupted


def test_a_full_disk_stops_the_run_with_a_clear_message_and_it_can_go_on(tmp_path, uninterrupted):
    full = ended(
        tmp_path / "run", len(IDS), TRIALS, 0, 60_000, env={**os.environ, "TMPDIR": str(tmp_path)}
    )

    assert full.returncode == 3, full.stderr
    message = f"RunWriteError: {tmp_path / 'run'} cannot store more results: File too large."
    assert message in full.stdout and "results written so far are intact" in full.stdout
    state = run_state(tmp_path / "run")
    assert state.state == "incomplete" and state.done > 0
    assert len(results_in(tmp_path / "run")) == state.done

    # The two that were running when the disk refused are in the rescued file, and not run again.
    [rescued] = (tmp_path / "run").glob("log.rescued*.jsonl")
    kept = rescued.read_text().count("\n")
    with RunFolder.open(tmp_path / "run", config(*IDS, trials=TRIALS)) as folder:
        assert len(folder.recorded) == state.done + kept
    assert ended(tmp_path / "run", len(IDS), TRIALS).returncode == 0
    assert results_in(tmp_path / "run") == uninterrupted


@contextmanager
def unprivileged() -> Iterator[None]:
    """As somebody who may not write everywhere, which root may."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that nobody, too, can reach."""
    path = Path("/tmp") / f"maseval-test-{os.getpid()}-{time.monotonic_ns()}"
    path.mkdir()
    path.chmod(0o777)
    yield path
    for each in (path, *path.rglob("*")):
        each.chmod(0o777)
    shutil.rmtree(path)


def test_a_read_only_folder_is_named_and_left_as_it_is(open_folder, uninterrupted):
    path = open_folder / "run"
    with RunFolder.open(path, config(*IDS, trials=TRIALS)) as folder:
        run_into(folder, desk(), tasks(*IDS[:5]))
    before = {each.name: each.read_bytes() for each in path.iterdir()}
    for each in (*path.iterdir(), path):
        each.chmod(0o555 if each == path else 0o444)

    with unprivileged(), pytest.raises(RunWriteError) as caught:
        RunFolder.open(path, config(*IDS, trials=TRIALS))

    assert f"{path} cannot be written to: Permission denied." in str(caught.value)
    assert "make it writable, then start the run again" in str(caught.value)
    assert {each.name: each.read_bytes() for each in path.iterdir()} == before
    assert len(results_in(path)) == 5 * TRIALS
    for each in (path, *path.iterdir()):
        each.chmod(0o777)
    assert ended(path, len(IDS), TRIALS).returncode == 0
    assert results_in(path) == uninterrupted


def test_a_run_cannot_begin_where_nothing_can_be_written(open_folder):
    open_folder.chmod(0o555)

    with unprivileged(), pytest.raises(RunWriteError, match="written to: Permission denied"):
        RunFolder.open(open_folder / "run", config("a"))
