"""Whatever is killed, and whenever: nothing is lost, nothing is recorded twice.

``MASEVAL_RAY_KILLS`` is the number of kills in all: of worker processes, of whole nodes, of the
driver, and of the driver together with a node.
"""

import os
import random
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from maseval.core.benchmark import Benchmark
from maseval.core.callbacks import BenchmarkCallback
from maseval.core.engine.engines import Job
from maseval.core.storage import strict_json
from maseval.interface.ray.engine import RayEngine, RayWorkers
from maseval.runs import RunFolder, run_state
from maseval.runs.report_line import lines_of
from tests.damage import KillRig, results_in
from tests.interface.ray.conftest import CHECKOUT, NODES
from tests.interface.ray.program import IDS, TRIALS, run, slow_desk

KILLS = int(os.environ.get("MASEVAL_RAY_KILLS", "30"))
OF_NODES = KILLS // 4
OF_DRIVERS = KILLS // 3
OF_WORKERS = KILLS - OF_NODES - OF_DRIVERS
# Of the kills of drivers, these are of a node as well.
EACH_THIRD = 3


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("whole") / "run"
    run(path, slow_desk(num_workers=30), "threads")
    return results_in(path)


def assert_whole(path: Path, undisturbed: Any) -> None:
    assert results_in(path) == undisturbed
    assert RunFolder.read(path).damaged == []
    lines = [strict_json.loads_object(line.text) for line in lines_of(path / "log.jsonl")]
    reported = [(one["task_id"], one["repeat_idx"]) for one in lines if one["kind"] == "report"]
    assert len(reported) == len(set(reported)) == len(IDS) * TRIALS
    assert run_state(path).state == "complete"


@contextmanager
def meanwhile(kill: Any, times: Any, chance: Any) -> Iterator[Any]:
    """Kill at random moments, as long as there is something to kill."""
    done, over, failures = [], threading.Event(), []

    def repeat():
        try:
            while len(done) < times and not over.wait(chance.uniform(0.1, 1.5)):
                done.extend([1] if kill() else [])
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield done
    finally:
        over.set()
        thread.join()
    assert failures == []


def survives(
    folder: Path, kill: Any, times: Any, undisturbed: Any, before: Any = lambda: None
) -> None:
    """Run into folder after folder until so many kills were survived."""
    chance, kills, number = random.Random(2024), 0, 0
    while kills < times:
        number += 1
        before()
        # With so many kills even the innocent see many deaths.
        engine = Watched("auto", processes=3, most_deaths=1000)
        path = folder / f"run{number}"
        with meanwhile(partial(kill, engine, chance), times - kills, chance) as done:
            run(path, slow_desk(num_workers=6), engine)
        kills += len(done)
        assert_whole(path, undisturbed)


class Watched(RayEngine):
    """An engine whose processes can be killed."""

    current = None

    def workers(self, job: Job) -> RayWorkers:
        self.current = super().workers(job)
        return self.current

    def busy(self) -> list[Any]:
        """The processes that hold repetitions."""
        actors = [*self.current.actors] if self.current else []
        return [one.place.process for one in actors if one.working and one.place]


def lone_processes(folder: Path) -> Any:
    """Those of tasks that Ray tries again, on the cluster in this folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if place.joinpath("cmdline").read_bytes().startswith(b"ray::run_alone"):
                parent = place.joinpath("stat").read_text().rpartition(")")[2].split()[1]
                if str(folder) in Path("/proc", parent, "cmdline").read_text():
                    found.append(int(place.name))
    return found


def test_a_killed_worker_process_loses_nothing(nodes, tmp_path, undisturbed):
    def kill(running, chance):
        busy = [*running.busy(), *lone_processes(nodes.folder)]
        if busy:
            with suppress(ProcessLookupError):
                os.kill(chance.choice(busy), signal.SIGKILL)
        return bool(busy)

    survives(tmp_path, kill, OF_WORKERS, undisturbed)


def test_a_killed_node_loses_nothing(nodes, tmp_path, undisturbed):
    def kill(running, chance):
        return bool(running.busy()) and nodes.kill()

    survives(tmp_path, kill, OF_NODES, undisturbed, before=nodes.repair)
    nodes.repair()


class KillOtherNodes(BenchmarkCallback):
    """Kills every node but the driver's as soon as a simulation is over."""

    def __init__(self, nodes: Any) -> None:
        self.nodes, self.killed = nodes, 0

    def on_task_repeat_end(self, benchmark: Benchmark, report: Any) -> None:
        while self.nodes.kill():
            self.killed += 1


def test_the_node_that_is_left_does_the_work_of_all_others(nodes, tmp_path, undisturbed):
    kills = KillOtherNodes(nodes)

    run(tmp_path / "run", slow_desk(num_workers=6, callbacks=[kills]), RayEngine("auto", NODES))

    nodes.repair()
    assert kills.killed == NODES - 1
    assert_whole(tmp_path / "run", undisturbed)


def test_a_killed_driver_loses_nothing_alone_or_together_with_a_node(nodes, tmp_path, undisturbed):
    chance, kills, number = random.Random(2024), 0, 0
    while kills < OF_DRIVERS:
        number += 1
        path = tmp_path / f"run{number}"
        command = [sys.executable, "-m", "tests.interface.ray.program", str(path)]
        rig = KillRig(command, path, seed=chance, most_results=12, cwd=CHECKOUT)
        finished: set[str] = set()
        while kills < OF_DRIVERS and rig.kill():
            kills += 1
            if kills % EACH_THIRD == 0:
                nodes.kill()
                nodes.repair()
            now = set(rig.results())
            assert finished <= now <= set(undisturbed)
            finished = now
        last = rig.finish()
        assert last.returncode == 0, last.stderr
        assert_whole(path, undisturbed)
