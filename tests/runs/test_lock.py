import errno
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from maseval.runs.exceptions import RunLockedError
from maseval.runs.lock import FolderLock, holder_of

HOLD = """
import signal
from pathlib import Path
from maseval.runs.lock import FolderLock
lock = FolderLock(Path({path!r}))
print("held", flush=True)
signal.pause()
"""


@pytest.fixture
def holding(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Another process that holds a lock until it is killed."""
    processes = []

    def hold(path):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD.format(path=str(path))], stdout=subprocess.PIPE
        )
        processes.append(process)
        assert process.stdout.readline() == b"held\n"
        return process

    yield hold
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def test_the_second_process_learns_who_holds_the_folder_until_that_one_is_gone(tmp_path, holding):
    assert holder_of(tmp_path / "lock") is None
    process = holding(tmp_path / "lock")
    assert holder_of(tmp_path / "lock").pid == process.pid, "to look does not disturb"

    with pytest.raises(RunLockedError) as caught:
        FolderLock(tmp_path / "lock")

    told = str(caught.value)
    assert f"process {process.pid} on {socket.gethostname()}, since 20" in told
    assert str(tmp_path) in told and "choose another folder" in told

    process.kill()
    process.wait()
    assert json.loads((tmp_path / "lock").read_text())["pid"] == process.pid
    assert holder_of(tmp_path / "lock") is None
    FolderLock(tmp_path / "lock").release()


def test_two_openings_in_one_process_exclude_each_other(tmp_path):
    lock = FolderLock(tmp_path / "lock")

    with pytest.raises(RunLockedError, match=f"process {os.getpid()} "):
        FolderLock(tmp_path / "lock")

    lock.release()
    lock.release()
    FolderLock(tmp_path / "lock").release()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": "x"}', "\0\0"])
def test_a_damaged_lock_file_is_nobodys(tmp_path, content):
    (tmp_path / "lock").write_text(content)

    assert holder_of(tmp_path / "lock") is None
    FolderLock(tmp_path / "lock").release()


@pytest.fixture
def no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(descriptor, operation):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr("fcntl.flock", unsupported)


def test_without_locks_two_that_look_at_the_same_time_do_not_both_get_the_folder(
    tmp_path, no_locks, monkeypatch
):
    """Neither has written its name yet when the other looks for it."""
    monkeypatch.setattr("maseval.runs.lock._read", lambda path: None)
    lock = FolderLock(tmp_path / "lock")

    with pytest.raises(RunLockedError, match=r"if that process is gone, remove .*lock.owner"):
        FolderLock(tmp_path / "lock")

    lock.release()
    assert os.listdir(tmp_path) == ["lock"]


def test_without_locks_the_file_of_a_process_that_was_killed_is_named(tmp_path, no_locks):
    gone = {"pid": 2**22 + 1, "host": "elsewhere", "since": ""}
    (tmp_path / "lock.owner").write_text(json.dumps(gone))

    with pytest.raises(RunLockedError, match=r"process 4194305 on elsewhere.*remove .*lock.owner"):
        FolderLock(tmp_path / "lock")

    (tmp_path / "lock.owner").unlink()
    FolderLock(tmp_path / "lock").release()
