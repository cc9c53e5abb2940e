"""Which engine is meant, and what it is given."""

from importlib.metadata import EntryPoint

import pytest

from maseval.core.engine import engines
from maseval.core.engine.engines import (
    CallingThread,
    SeveralNodes,
    ThreadEngine,
    Threads,
    WorkerEvent,
    engine_of,
)
from maseval.core.exceptions import ConfigurationError
from tests.core.worlds import Diary, Shop, numbered, statuses, tasks


class Counting:
    """Another engine: threads that are counted, and an event."""

    def __init__(self, most=None):
        self.most = most
        self.jobs = []

    def workers(self, job):
        self.jobs.append(job)
        job.note(WorkerEvent("started", "here", "process 1 on here started"))
        return Threads(job.run, self.most or job.size)


@pytest.fixture
def installed(monkeypatch):
    """A package that offers the engine ``counting``."""
    found = [EntryPoint("counting", f"{__name__}:Counting", engines.GROUP)]
    monkeypatch.setattr(engines, "entry_points", lambda group: found)


def test_an_engine_is_given_itself_by_name_or_by_an_installed_package(installed):
    mine = Counting()

    assert engine_of(mine) is mine
    assert isinstance(engine_of("threads"), ThreadEngine)
    made = engine_of("counting", most=2)
    assert type(made).__name__ == "Counting" and made.most == 2


def test_an_unknown_name_lists_the_known_ones(installed):
    with pytest.raises(ConfigurationError) as caught:
        engine_of("conting")

    message = "engine is 'conting'; did you mean 'counting'? known engines: counting, threads."
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
    assert not isinstance(ThreadEngine(), SeveralNodes)
