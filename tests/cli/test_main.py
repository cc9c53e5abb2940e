"""The installed command, from its first line: streams of any encoding, Ctrl-C, readers that go."""

import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maseval.cli import main
from maseval.runs.annotations import read_annotations
from tests.cli.commandline import maseval

# Ctrl-C at the moment when a certain module is about to be loaded.
INTERRUPTED_AT = """\
import signal, sys

class Interruption:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interruption())
sys.argv = ["maseval", "runs", "nowhere"]
from maseval.cli import main
main()
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run with a note that no small character set has."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    maseval(
        "tau2", "run", "-d", "library", "--agent", "noisy", "-n", 3, "--trials", 2, "-o", folder
    )
    maseval("tag", folder, "--note", "Zürich → 東京 ✈")
    return folder


@pytest.fixture
def call_main(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Call ``maseval`` as installed, with standard streams of this encoding."""

    def call(encoding, *arguments):
        streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["maseval", *map(str, arguments)])
            patch.setattr(sys, "stdout", streams[0])
            patch.setattr(sys, "stderr", streams[1])
            with pytest.raises(SystemExit) as end:
                main()
        for stream in streams:
            stream.flush()
        return end.value.code, *(each.buffer.getvalue().decode(encoding) for each in streams)

    return call


@pytest.mark.parametrize(
    "command",
    [
        ["show", "{run}"],
        ["show", "{run}", "renew_all_but_one"],
        ["runs", "{run}"],
        ["tag", "{run}"],
        ["score", "{run}"],
        ["tau2", "tasks", "--domain", "library"],
        ["tau2", "tasks", "policy", "--domain", "library"],
        ["explain", "{run}", "renew_all_but_one"],
        ["tau2", "audit", "library"],
        ["tau2", "run", "--help"],
    ],
    ids=" ".join,
)
def test_no_command_fails_at_what_a_stream_cannot_encode(command, run, call_main):
    code, out, errors = call_main("ascii", *(word.format(run=run) for word in command))

    assert code in (0, 1), errors
    assert out and "─" not in out and errors == ""


def test_a_sign_that_a_stream_lacks_is_escaped_and_the_file_keeps_it(run, call_main):
    assert (
        call_main("ascii", "tag", run)[1].splitlines()[1]
        == "Z\\xfcrich \\u2192 \\u6771\\u4eac \\u2708"
    )
    assert (
        call_main("cp1252", "tag", run)[1].splitlines()[1]
        == "Zürich \\u2192 \\u6771\\u4eac \\u2708"
    )
    assert read_annotations(run).note == "Zürich → 東京 ✈"


def test_an_error_about_a_name_that_a_stream_lacks_is_reported(call_main):
    code, _, errors = call_main("ascii", "show", "läuft")

    assert code == 2 and "l\\xe4uft" in errors


@pytest.mark.parametrize("missing", ["stdout", "stderr", "stdin"])
def test_a_stream_that_is_closed_keeps_no_command_from_its_work(missing, run, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["maseval", "tag", str(run)])
    monkeypatch.setattr(sys, missing, None)

    with pytest.raises(SystemExit) as end:
        main()

    getattr(sys, missing).close()
    assert not end.value.code


@pytest.mark.parametrize(
    "module", ["maseval.cli.app", "rich.table", "maseval.app.results.recording"]
)
def test_ctrl_c_while_loading_is_one_line_and_exit_code_130(module, tmp_path):
    code = INTERRUPTED_AT.format(module=module)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (130, "Interrupted.\n")


def test_a_run_whose_reader_goes_away_is_finished(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    command = ["tau2", "run", "-d", "library", "--agent", "gold", "-n", "2", "-o", "run"]
    done = subprocess.run(
        [sys.executable, "-m", "maseval.cli", *command],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=writing,
        text=True,
    )
    os.close(writing)

    assert done.returncode == 0
    assert "2 simulations" in done.stdout


def test_the_judge_of_a_gate_whose_reader_goes_away_gives_no_verdict(run, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "maseval.cli", "gate", run, "--baseline", run],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writing)

    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_ctrl_c_is_as_before_after_a_command(call_main):
    before = signal.getsignal(signal.SIGINT)

    call_main("utf-8", "--version")

    assert signal.getsignal(signal.SIGINT) is before
