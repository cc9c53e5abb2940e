"""Processes with an end."""

import os
import sys
import time

from maseval.interface.trackers.sending import BoundedProcess


def failure(code, seconds, given=""):
    process = BoundedProcess.start([sys.executable, "-c", code])
    return process.failure(time.monotonic() + seconds, given)


def test_one_that_succeeds_has_no_failure():
    assert failure("print(input())", 60, "hello\n") is None


def test_one_that_fails_says_why_in_its_last_words():
    code = "import sys; print('warning', file=sys.stderr); sys.exit('Error: no such server')"

    assert failure(code, 60) == "no such server"


def test_one_that_says_nothing_fails_all_the_same():
    assert failure("raise SystemExit(3)", 60) == "it failed without a word"


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
