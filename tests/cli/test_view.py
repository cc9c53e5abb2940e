import re
import signal
import socket
import subprocess
import sys

import httpx
import pytest

pytest.importorskip("starlette")

from tests.runs.worlds import finished_run

pytestmark = pytest.mark.needs(library="starlette")


@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_the_address_and_ends_cleanly_while_somebody_listens(tmp_path, way):
    finished_run(tmp_path / "run", "a")
    command = [sys.executable, "-m", "maseval.cli", "view", str(tmp_path), "--port", "0"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*command, "--no-browser"], stdout=pipe, stderr=pipe, text=True
    ) as program:
        line = program.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/", line)[0]
        with httpx.stream("GET", f"{address}api/events", timeout=60) as events:
            next(events.iter_lines())
            program.send_signal(way)
            _, errors = program.communicate(timeout=300)

    assert str(tmp_path) in line and "Ctrl-C" in line
    assert (program.returncode, errors) == (0, "")


def test_a_port_that_is_taken_is_an_error_in_one_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "maseval.cli", "view", str(tmp_path), "--port", port]
        done = subprocess.run(command, capture_output=True, text=True)

    assert done.returncode != 0
    assert "cannot listen" in done.stderr and "Traceback" not in done.stderr
