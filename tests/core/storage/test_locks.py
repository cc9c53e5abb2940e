import errno
import os
import threading

import pytest

from maseval.core.storage import files
from maseval.core.storage.files import LocksUnavailableError, lock


@pytest.fixture
def opened(tmp_path):
    """Opens one file again and again."""
    files = []

    def open_it():
        files.append((tmp_path / "lock").open("a+b"))
        return files[-1]

    yield open_it
    for file in files:
        file.close()


def test_one_opening_at_a_time_holds_the_lock(opened):
    first, second = opened(), opened()

    assert lock(first.fileno())
    assert not lock(second.fileno())

    first.close()
    assert lock(second.fileno())


def test_shared_locks_exclude_only_the_others(opened):
    first, second, third = opened(), opened(), opened()

    assert lock(first.fileno(), shared=True) and lock(second.fileno(), shared=True)
    assert not lock(third.fileno())


def test_waiting_ends_when_the_lock_is_free(opened):
    first, second = opened(), opened()
    lock(first.fileno())
    got = []
    waiting = threading.Thread(target=lambda: got.append(lock(second.fileno(), wait=True)))

    waiting.start()
    first.close()
    waiting.join(60)

    assert got == [True]


def test_a_locked_file_can_still_be_read_and_written(opened, tmp_path):
    file = opened()
    lock(file.fileno())

    os.write(file.fileno(), b"name")

    assert (tmp_path / "lock").read_bytes() == b"name"


@pytest.mark.parametrize("number", [errno.ENOTSUP, errno.ENOLCK, errno.ENOSYS, errno.EINVAL])
def test_a_file_system_without_locks_is_reported_as_such(opened, monkeypatch, number):
    def unsupported(descriptor, shared, wait):
        raise OSError(number, "not supported")

    monkeypatch.setattr(files, "_lock", unsupported)

    with pytest.raises(LocksUnavailableError):
        lock(opened().fileno())
