"""The engine of plain processes: batches in order whatever dies, and nothing left behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from maseval.core.engine.processes import ProcessEngine
from maseval.core.exceptions import ConfigurationError, WorkerDiedError
from tests.waiting import wait_until

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def square_once_dead(values):
    """Kill the process of every second batch the first time."""
    died = Path(values[0][0]) / f"died-{values[0][1]}"
    if values[0][1] % 2 and not died.exists():
        died.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return [number * number for _, number in values]


def die_of_poison(values):
    if "poison" in values:
        os.kill(os.getpid(), signal.SIGKILL)
    return len(values)


def invert(values):
    return 1 / values[0]


@posix
def test_a_process_that_dies_is_replaced_and_nothing_is_missing_or_out_of_order(tmp_path):
    batches = [[(str(tmp_path), number), (str(tmp_path), number + 100)] for number in range(6)]
    found = list(ProcessEngine(processes=2).mapped(square_once_dead, batches))

    assert [each.values for each in found] == batches
    assert [each.result for each in found] == [[a[1] ** 2, b[1] ** 2] for a, b in batches]
    assert len(list(tmp_path.glob("died-*"))) == 3


@posix
def test_what_ends_its_process_every_time_is_named():
    found = ProcessEngine(processes=1).mapped(die_of_poison, [["a"], ["poison", "d"]])

    assert next(found).result == 1
    with pytest.raises(WorkerDiedError, match="worked on poison died 3 times"):
        list(found)


def test_what_raises_comes_back_without_a_result():
    found = list(ProcessEngine(processes=1).mapped(invert, [[0], [2]]))

    assert [each.result for each in found] == [None, 0.5]


def test_the_number_of_processes_is_checked():
    with pytest.raises(ConfigurationError, match="processes is 0; give at least 1"):
        ProcessEngine(processes=0)


FORKING = """
import json, os, signal, sys, time
from maseval.core.engine.processes import ProcessEngine

def work(values):
    os.write(1, (json.dumps([os.getpid(), "threading" in sys.modules]) + "\\n").encode())
    time.sleep(600)

try:
    list(ProcessEngine(processes=2).mapped(work, [[1], [2]]))
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
