import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from maseval.core.storage.records import Rescue, read_records

NOBODY = 65534
FULL = OSError(28, "No space left on device", "r.jsonl")


@pytest.fixture
def read_only_folder(monkeypatch):
    """A folder that this process may not write to; an administrator becomes nobody for it."""
    folder, scratch = Path(tempfile.mkdtemp()), Path(tempfile.mkdtemp())
    folder.chmod(0o555)
    scratch.chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    administrator = os.geteuid() == 0
    if administrator:
        os.seteuid(NOBODY)
    yield folder
    if administrator:
        os.seteuid(0)
    folder.chmod(0o755)
    shutil.rmtree(folder)
    shutil.rmtree(scratch)


def report(task_id):
    return {"task_id": task_id, "repeat_idx": 0}


def test_a_result_is_kept_beside_the_intended_file(tmp_path, caplog):
    rescue = Rescue(tmp_path / "r.jsonl")

    rescue.keep(report("a"), FULL)
    rescue.keep(report("b"), FULL)
    rescue.close()

    assert rescue.paths == [tmp_path / "r.rescued.jsonl"]
    assert read_records(rescue.paths[0]).records == [report("a"), report("b")]
    assert "No space left" in caplog.text and str(rescue.paths[0]) in caplog.text
    assert {record.levelname for record in caplog.records} == {"ERROR"}


def test_an_earlier_rescue_is_not_overwritten(tmp_path):
    for task_id in ("a", "b"):
        rescue = Rescue(tmp_path / "r.jsonl")
        rescue.keep(report(task_id), FULL)
        rescue.close()

    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["r.rescued-2.jsonl", "r.rescued.jsonl"]


def test_a_result_of_a_read_only_folder_is_kept_in_a_private_temporary_one(
    read_only_folder, caplog
):
    rescue = Rescue(read_only_folder / "r.jsonl")

    rescue.keep(report("a"), FULL)
    rescue.keep(report("b"), FULL)
    rescue.close()

    [path] = rescue.paths
    assert path.is_relative_to(tempfile.gettempdir())
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert read_records(path).records == [report("a"), report("b")]
    assert str(path) in caplog.text
    assert list(read_only_folder.iterdir()) == []


NO_ROOM = """
    import resource, signal, sys, tempfile
    from pathlib import Path
    from maseval.core.storage.records import Rescue

    tempfile.tempdir = sys.argv[1]
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    rescue = Rescue(Path(sys.argv[1]) / "r.jsonl")
    rescue.keep({"task_id": "a", "repeat_idx": 0}, OSError("full"))
    rescue.close()
    assert rescue.paths == []
"""


def test_a_disk_without_any_room_is_reported_and_left_without_empty_files(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(NO_ROOM), tmp_path],
        capture_output=True,
        text=True,
        check=True,
    )

    assert "only in benchmark.reports" in run.stderr
    assert list(tmp_path.rglob("*.jsonl")) == []


def test_where_nothing_can_be_written_the_log_says_so(read_only_folder, monkeypatch, caplog):
    monkeypatch.setattr(tempfile, "tempdir", str(read_only_folder))
    rescue = Rescue(read_only_folder / "r.jsonl")

    rescue.keep(report("a"), FULL)
    rescue.close()

    assert rescue.paths == []
    assert "task a, repetition 0 is only in benchmark.reports" in caplog.text
