"""Processes with an end."""

import os
import sys
import time

import pytest

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
    child = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(600)"
    code = (
        f"import os, subprocess, sys; os.chdir({str(tmp_path)!r}); "
        f"subprocess.run([sys.executable, '-c', {child!r}])"
    )
    process = BoundedProcess.start([sys.executable, "-c", code])
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        time.sleep(0.05)

    assert process.failure(time.monotonic()) == "no answer in time"
    with pytest.raises(ProcessLookupError):
        for _ in range(200):  # whoever inherits it has to collect it
            os.kill(int((tmp_path / "pid").read_text()), 0)
            if "Z" in _state(int((tmp_path / "pid").read_text())):
                raise ProcessLookupError
            time.sleep(0.05)


def _state(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""
