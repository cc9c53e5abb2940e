"""The engine of plain processes: batches in order whatever dies, and nothing left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from maseval.core.engine.children import ChildProcess, map_in_forks, may_fork, wait_for
from maseval.core.engine.processes import ProcessEngine
from maseval.core.exceptions import ConfigurationError
from tests.waiting import wait_until

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def work_on(batch: Any) -> Any:
    if batch == "poison":
        os.kill(os.getpid(), signal.SIGKILL)
    return 1 / batch


@pytest.mark.skipif(not may_fork(), reason="a thread of another test, or not Linux")
def test_results_come_in_order_and_what_raises_or_dies_is_left_to_the_caller():
    batches = [1, 2, "poison", 4, 0, 5, "poison", 8]
    found = list(map_in_forks(work_on, batches, 2))

    assert [batch for batch, _ in found] == batches
    results = dict(found)
    assert (results["poison"], results[0]) == (None, None)
    assert [results[each] for each in (1, 2, 5)] == [1.0, 0.5, 0.2]


def leave_another_behind(channel: Any) -> None:
    if (other := os.fork()) == 0:
        time.sleep(600)
    channel.send(other)
    time.sleep(1)  # so that its parent waits for the end
    os.kill(os.getpid(), signal.SIGKILL)


@posix
def test_the_end_of_a_process_is_noticed_where_the_system_does_not_report_it(monkeypatch):
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    child, sent = ChildProcess(leave_another_behind), []

    while not child.lost:
        wait_for([child], None)
        sent += child.receive()

    os.kill(sent[0], signal.SIGKILL)  # it has kept the pipe of the child open
    assert child.lost == "it was ended by SIGKILL"


def test_the_number_of_processes_is_checked():
    with pytest.raises(ConfigurationError, match="processes is 0; give at least 1"):
        ProcessEngine(processes=0)


FORKING = """
import json, os, signal, sys, time
from maseval.core.engine.children import map_in_forks

def work(values):
    os.write(1, (json.dumps([os.getpid(), "threading" in sys.modules]) + "\\n").encode())
    time.sleep(600)

try:
    list(map_in_forks(work, [[1], [2]], 2))
except KeyboardInterrupt:
    sys.exit("interrupted")
"""


@posix
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_no_process_is_left_behind_however_the_first_one_ends(end):
    parent = subprocess.Popen(
        [sys.executable, "-c", FORKING],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    children = [json.loads(parent.stdout.readline())[0] for _ in range(2)]
    if end is signal.SIGINT:
        os.killpg(parent.pid, end)  # as a terminal does: all processes get it
    else:
        os.kill(parent.pid, end)
    _, words = parent.communicate()

    wait_until(lambda: not any(map(is_there, children)), "the children to end")
    assert words == ("interrupted\n" if end is signal.SIGINT else "")


def is_there(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return ") Z " not in state
