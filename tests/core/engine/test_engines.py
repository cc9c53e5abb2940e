"""Which engine is meant, and what it is given."""

import subprocess
import sys
import threading
from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from maseval.core.engine import engines
from maseval.core.engine.engines import (
    CallingThread,
    Job,
    ThreadEngine,
    Threads,
    WorkerEvent,
    engine_of,
)
from maseval.core.exceptions import ConfigurationError
from tests.core.worlds import Diary, Shop, numbered, statuses, tasks


class Counting:
    """Another engine: threads that are counted, and an event."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self.jobs = []

    def workers(self, job: Job) -> Threads:
        self.jobs.append(job)
        job.note(WorkerEvent("started", "here", "process 1 on here started"))
        return Threads(job.run, self.most or job.size)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that offers the engine ``counting``."""
    found = [EntryPoint("counting", f"{__name__}:Counting", engines.GROUP)]
    monkeypatch.setattr(engines, "find_entry_points", lambda group: found)


def test_an_engine_is_given_itself_by_name_or_by_an_installed_package(installed):
    mine = Counting()

    assert engine_of(mine) is mine
    assert isinstance(engine_of("threads"), ThreadEngine)
    made = engine_of("counting", most=2)
    assert type(made).__name__ == "Counting" and made.most == 2


def test_an_unknown_name_lists_the_known_ones(installed):
    with pytest.raises(ConfigurationError) as caught:
        engine_of("conting")

    message = (
        "engine is 'conting'; did you mean 'counting'? known engines: counting, processes, threads."
    )
    assert message in str(caught.value)
    with pytest.raises(ConfigurationError, match="give the name of an engine, or an object with"):
        engine_of(42)


def test_a_run_takes_place_where_its_engine_says():
    class Watching(Diary):
        def on_worker_event(self, benchmark, event):
            self._note("worker", event.text)

    mine, diary = Counting(), Watching()
    given = tasks("a", "b", metadata={"domain": "shop"})

    reports = Shop(num_workers=3, callbacks=[diary]).run(given, engine=mine)

    assert statuses(reports) == {"a": "success", "b": "success"}
    [job] = mine.jobs
    assert (job.size, job.timed, job.domains) == (3, False, frozenset({"shop"}))
    assert diary.of("worker") == [("process 1 on here started",)]


def test_an_unknown_engine_is_refused_before_anything_has_begun():
    diary = Diary()

    with pytest.raises(ConfigurationError, match="engine is 'nowhere'"):
        Shop(callbacks=[diary]).run(numbered(1), engine="nowhere")

    assert diary.events == []


def test_threads_need_none_for_one_repetition_at_a_time(monkeypatch):
    used = []

    class Looking(ThreadEngine):
        def workers(self, job):
            used.append(type(super().workers(job)))
            return super().workers(job)

    Shop(num_workers=1).run(numbered(1), engine=Looking())
    Shop(num_workers=2).run(numbered(1), engine=Looking())

    assert used == [CallingThread, Threads]


@pytest.fixture
def workers_alive() -> Callable[..., Any]:
    """Counts the workers that have come since; those given up by other tests may still hang."""
    before = set(threading.enumerate())

    def count():
        fresh = set(threading.enumerate()) - before
        return sum(thread.name == "maseval-worker" for thread in fresh)

    return count


def test_there_are_never_more_threads_than_work(workers_alive):
    seen = []

    def count(query):
        seen.append(workers_alive())

    Shop(count, num_workers=50).run(numbered(3))

    assert max(seen) <= 3
    for thread in threading.enumerate():
        if thread.name == "maseval-worker":
            thread.join(60)
    assert workers_alive() == 0


def test_all_threads_are_there_before_the_first_works(workers_alive):
    seen = []

    Shop(lambda query: seen.append(workers_alive()), num_workers=20).run(numbered(40))

    assert min(seen) == 20


# A thread needs room for its stack; soon there is none left.
FEW_THREADS = """\
import resource, threading
from pathlib import Path
from maseval.core.engine.engines import WorkersUnavailableError
from tests.core.worlds import Shop, numbered

pages = int(Path("/proc/self/statm").read_text().split()[0])
threading.stack_size(256 << 20)
room = pages * resource.getpagesize() + (9 << 28) + (64 << 20)
resource.setrlimit(resource.RLIMIT_AS, (room, room))
try:
    Shop(num_workers=200).run(numbered(40))
except WorkersUnavailableError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory as Linux does")
def test_a_machine_that_gives_no_more_threads_is_refused_in_words():
    command = [sys.executable, "-c", FEW_THREADS]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert told.startswith("this machine allows no more threads (can't start new thread): ")
    assert "200 were asked for; run " in told and "ulimit -u" in told


class Starving:
    """Threads that die of a lack of memory once a repetition of the task ``victim`` is over."""

    def __init__(self, victim: str) -> None:
        self.victim = victim

    def workers(self, job: Job) -> Threads:
        def run(repetition):
            result = job.run(repetition)
            if str(repetition.task.id) == self.victim:
                raise MemoryError
            return result

        return Threads(run, job.size)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_repetition_whose_thread_died_is_reported_and_the_others_finish():
    reports = Shop(num_workers=2).run(tasks(*"abcde"), engine=Starving("b"))

    found = {report["task_id"]: report["status"] for report in reports}
    assert found == {**dict.fromkeys("acde", "success"), "b": "worker_died"}
    (lost,) = (report for report in reports if report["task_id"] == "b")
    assert "memory" in lost["error"]["error_message"]
