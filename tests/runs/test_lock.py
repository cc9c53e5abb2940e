import json
import os
import socket
import subprocess
import sys

import pytest

from maseval.runs.exceptions import RunLockedError
from maseval.runs.lock import FolderLock, Holder, holder_of

HOLD = """
import signal, sys
from pathlib import Path
from maseval.runs.lock import FolderLock
sys.argv = ["/usr/bin/maseval", "tau2", "run", "--api-key", "canary-0123"]
lock = FolderLock(Path({path!r}))
print("held", flush=True)
signal.pause()
"""


@pytest.fixture
def holding(tmp_path):
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


def test_the_second_process_learns_who_holds_the_folder(tmp_path, holding):
    process = holding(tmp_path / "lock")

    with pytest.raises(RunLockedError) as caught:
        FolderLock(tmp_path / "lock")

    told = str(caught.value)
    assert f"process {process.pid} on {socket.gethostname()} (maseval tau2 run), since 20" in told
    assert str(tmp_path) in told and "choose another folder" in told
    assert "canary" not in told + (tmp_path / "lock").read_text()


def test_two_openings_in_one_process_exclude_each_other(tmp_path):
    lock = FolderLock(tmp_path / "lock")

    with pytest.raises(RunLockedError, match=f"process {os.getpid()} "):
        FolderLock(tmp_path / "lock")

    lock.release()
    lock.release()
    FolderLock(tmp_path / "lock").release()


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path, holding):
    process = holding(tmp_path / "lock")
    process.kill()
    process.wait()
    assert json.loads((tmp_path / "lock").read_text())["pid"] == process.pid

    FolderLock(tmp_path / "lock").release()


def test_a_lock_file_left_by_a_process_whose_number_is_used_again_is_taken_over(tmp_path):
    left = {"pid": os.getpid(), "host": socket.gethostname(), "since": "", "command": "x"}
    (tmp_path / "lock").write_text(json.dumps({**left, "born": "1"}))

    assert holder_of(tmp_path / "lock") is None
    FolderLock(tmp_path / "lock").release()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": "x"}', "\0\0"])
def test_a_damaged_lock_file_is_nobodys(tmp_path, content):
    (tmp_path / "lock").write_text(content)

    assert holder_of(tmp_path / "lock") is None
    FolderLock(tmp_path / "lock").release()


def test_somebody_who_looks_sees_the_holder_and_does_not_disturb(tmp_path, holding):
    assert holder_of(tmp_path / "lock") is None
    process = holding(tmp_path / "lock")

    assert holder_of(tmp_path / "lock").pid == process.pid

    process.kill()
    process.wait()
    assert holder_of(tmp_path / "lock") is None


def test_where_the_system_has_no_locks_the_name_in_the_file_decides(tmp_path, monkeypatch):
    def unsupported(descriptor, shared, wait):
        raise OSError(95, "not supported")

    monkeypatch.setattr("maseval.core.storage.files._lock", unsupported)
    lock = FolderLock(tmp_path / "lock")
    with pytest.raises(RunLockedError):
        FolderLock(tmp_path / "lock")
    lock.release()
    FolderLock(tmp_path / "lock").release()


def test_this_process_is_alive_and_one_on_another_host_is_taken_to_be():
    here = Holder.this_process()

    assert here.is_alive
    assert Holder(2**22 + 1, "elsewhere", "", "").is_alive
    assert not Holder(2**22 + 1, here.host, "", "").is_alive
