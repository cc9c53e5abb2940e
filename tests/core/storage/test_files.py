import errno
import gc
import json
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from maseval.core.exceptions import OutputExistsError
from maseval.core.storage import files
from maseval.core.storage.files import LocksUnavailableError, Scratch, atomic_file, lock, write_json


def test_a_file_that_cannot_be_replaced_leaves_no_trace_of_the_attempt(tmp_path):
    target = tmp_path / "taken.json"
    target.mkdir()

    with pytest.raises(OutputExistsError, match=r"taken\.json is a folder"):
        write_json(target, {"a": 1})

    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("name", ["file/x.json", "file/below/x.json"])
def test_what_stands_where_a_folder_should_be_is_named(name, tmp_path):
    (tmp_path / "file").write_text("mine")

    with pytest.raises(OutputExistsError, match="is not a folder"):
        write_json(tmp_path / name, {"a": 1})


def test_a_file_replaces_the_old_one_and_makes_its_folders(tmp_path):
    target = tmp_path / "new" / "folder" / "x.json"

    write_json(target, {"a": 1})
    write_json(target, {"a": 2})

    assert json.loads(target.read_text()) == {"a": 2}
    assert list(target.parent.iterdir()) == [target]


def test_until_it_is_whole_a_reader_sees_the_old_file(tmp_path):
    target = tmp_path / "x.json"
    write_json(target, {"a": 1})

    with atomic_file(target) as file:
        file.write(b"half")
        file.flush()
        assert json.loads(target.read_text()) == {"a": 1}

    assert target.read_bytes() == b"half"


def test_an_error_half_way_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "x.json"
    write_json(target, {"a": 1})

    with pytest.raises(KeyboardInterrupt), atomic_file(target) as file:
        file.write(b"half")
        raise KeyboardInterrupt

    assert json.loads(target.read_text()) == {"a": 1}
    assert list(tmp_path.iterdir()) == [target]


def test_a_new_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").touch()
    write_json(tmp_path / "x.json", {})

    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Any]]:
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


@pytest.mark.parametrize("number", [errno.ENOTSUP, errno.ENOLCK, errno.ENOSYS, errno.EINVAL])
def test_a_file_system_without_locks_is_reported_as_such(opened, monkeypatch, number):
    def unsupported(descriptor, kind):
        raise OSError(number, "not supported")

    monkeypatch.setattr(files.fcntl, "flock", unsupported)

    with pytest.raises(LocksUnavailableError):
        lock(opened().fileno())


def test_values_come_back_in_any_order_and_to_many_threads():
    values = [{"said": "ü\ud800\n" * number, "nan?": [None, 1e400]} for number in range(50)]
    aside = Scratch()

    with ThreadPoolExecutor(4) as pool:
        places = list(pool.map(aside.put, values))
        found = list(pool.map(aside.get, reversed(places)))

    assert found == values[::-1]


def test_the_file_is_closed_with_its_object():
    aside = Scratch()
    file = aside._file
    del aside
    gc.collect()

    assert file.closed
