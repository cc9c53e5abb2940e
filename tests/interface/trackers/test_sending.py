"""Processes with an end."""

import os
import sys
import time

import pytest

from maseval.interface.trackers import BoundedProcess

WORDS = "import sys; print('warning', file=sys.stderr); sys.exit('Error: no such server')"


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        ("print('hello')", None),
        (WORDS, "no such server"),
        ("raise SystemExit(3)", "it failed without a message"),
    ],
)
def test_one_that_fails_says_why_in_its_last_words(code, failure):
    process = BoundedProcess.start([sys.executable, "-c", code])

    assert process.failure(time.monotonic() + 60) == failure


def test_one_that_hangs_is_killed_with_all_it_has_started(tmp_path):
    os.mkfifo(tmp_path / "alive")
    child = "import signal; pipe = open('alive', 'wb', 0); pipe.write(b'1'); signal.pause()"
    code = (
        f"import os, subprocess, sys; os.chdir({str(tmp_path)!r}); "
        f"subprocess.run([sys.executable, '-c', {child!r}])"
    )
    process = BoundedProcess.start([sys.executable, "-c", code])
    with (tmp_path / "alive").open("rb", buffering=0) as pipe:
        assert pipe.read(1) == b"1"

        assert process.failure(time.monotonic()) == "no answer in time"
        # The pipe ends when the last process that has it open is gone.
        assert pipe.read(1) == b""
