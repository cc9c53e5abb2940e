"""Threads: as many as are busy at once, and none left when the run is over."""

import threading

import pytest

from tests.core.worlds import Shop, numbered


@pytest.fixture
def workers_alive():
    """Counts the workers that have come since; those given up by other tests may still hang."""
    before = set(threading.enumerate())

    def count():
        fresh = set(threading.enumerate()) - before
        return sum(thread.name == "maseval-worker" for thread in fresh)

    return count


def left(workers_alive):
    for thread in threading.enumerate():
        if thread.name == "maseval-worker":
            thread.join(60)
    return workers_alive()


def test_no_thread_outlives_its_run(workers_alive):
    Shop(num_workers=8).run(numbered(30))

    assert left(workers_alive) == 0


def test_there_are_never_more_threads_than_work(workers_alive):
    seen = []

    def count(query):
        seen.append(workers_alive())

    Shop(count, num_workers=50).run(numbered(3))

    assert max(seen) <= 3
    assert left(workers_alive) == 0


def test_worker_threads_do_not_keep_the_process_alive():
    seen = []
    Shop(lambda query: seen.append(threading.current_thread().daemon), num_workers=2).run(
        numbered(4)
    )

    assert seen == [True] * 4


def test_one_worker_without_deadlines_is_the_calling_thread():
    seen = []
    Shop(lambda query: seen.append(threading.current_thread())).run(numbered(2))

    assert seen == [threading.current_thread()] * 2
