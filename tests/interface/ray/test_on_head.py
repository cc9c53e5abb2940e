"""The head of a real cluster is killed: the command ends within a minute, and says how to go on."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maseval.runs import RunFolder
from tests.interface.ray.conftest import CHECKOUT, Nodes
from tests.waiting import wait_until

SECONDS = 60


@pytest.fixture
def head(nodes: Any, ray_folder: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any]]:
    """A cluster of one node beside the usual one, and the process that keeps its books."""
    monkeypatch.delenv("RAY_gcs_server_request_timeout_seconds", raising=False)
    cluster = Nodes(ray_folder, number=1)
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    [process] = cluster.processes("gcs_server")
    yield cluster, process
    cluster.shutdown()


def started(address: Any, path: Path) -> Any:
    # Workers go on for a while without a head; this run takes longer than that.
    options = [str(path), address, "12"]
    program = [sys.executable, "-m", "tests.interface.ray.program", *options]
    return subprocess.Popen(program, cwd=CHECKOUT, stderr=subprocess.PIPE, text=True)


def assert_ends_with_the_sentence(run: Any, since: Any) -> None:
    err = run.communicate(timeout=2 * SECONDS)[1]
    assert time.monotonic() - since < SECONDS, err
    assert run.returncode == 1
    last = err.strip().splitlines()[-1]
    assert "RunStoppedError: the connection to the head of the Ray cluster at" in last
    assert "run the same command again to resume" in last


@pytest.mark.parametrize("way", ["auto", "client"])
def test_a_head_that_is_killed_ends_the_run_and_loses_nothing(way, head, tmp_path):
    cluster, process = head
    log = tmp_path / "run" / "log.jsonl"
    run = started("auto" if way == "auto" else cluster.client_address, tmp_path / "run")
    wait_until(lambda: log.is_file() and log.read_bytes().count(b'"kind": "report"') > 3, "reports")

    killed = time.monotonic()
    if way == "auto":
        os.kill(process, signal.SIGKILL)
    else:
        cluster.kill_head()

    assert_ends_with_the_sentence(run, killed)
    folder = RunFolder.read(tmp_path / "run")
    assert len(folder.recorded) > 3 and not folder.damaged


def test_a_head_that_is_killed_while_a_program_connects_ends_it_in_the_same_words(head, tmp_path):
    _, process = head
    os.kill(process, signal.SIGSTOP)
    run = started("auto", tmp_path / "run")
    time.sleep(10)  # it waits for an answer by now
    assert run.poll() is None

    os.kill(process, signal.SIGKILL)

    assert_ends_with_the_sentence(run, time.monotonic())
