"""``maseval replay-server`` as a process: what it prints, how it ends, and how it fails."""

import enum
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from maseval.server import ReplayServer
from tests.cli.commandline import ended, maseval, started
from tests.server.provider import Provider, ask, asking, provider, saying
from tests.waiting import wait_until


@pytest.fixture
def upstream() -> Iterator[Provider]:
    with provider() as running:
        running.will(saying("1"))
        yield running


@pytest.fixture
def answers(tmp_path: Path, upstream: Provider) -> Path:
    """A folder with answers to "one" and "two"."""
    path = tmp_path / "answers"
    with ReplayServer(path, record=True, upstream=upstream.url) as server:
        for text in ("one", "two"):
            ask(server.url, asking(text))
    return path


class Running:
    """A server as a process; ``said`` is what it has printed before it was of use."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said = [process.stdout.readline() for _ in range(2)]
        self.url = re.search(r"http://\S+/v1", self.said[0])[0]

    def end(self, number: enum.IntEnum = signal.SIGINT) -> tuple[int, str, str]:
        self.process.send_signal(number)
        return ended(self.process)


@contextmanager
def running(*arguments: str, folder: Path, **environment: str) -> Iterator[Running]:
    process = started(
        "replay-server", *arguments, "--port", 0, folder=folder, **{"COLUMNS": "300", **environment}
    )
    try:
        yield Running(process)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_is_and_sums_up_in_the_end(answers, tmp_path, number):
    with running("answers", folder=tmp_path) as server:
        assert ask(server.url, asking("one")).content == "1"
        code, out, errors = server.end(number)

    assert server.said[0] == f"Serving at {server.url} (Ctrl-C ends it)\n"
    assert server.said[1] == f"OPENAI_BASE_URL={server.url} OPENAI_API_KEY=no-key-needed\n"
    assert out == "1 played, 0 recorded, 0 missed, 1 never asked for\n"
    assert (code, errors) == (0, "")


def test_a_miss_is_shown_and_makes_it_fail(answers, tmp_path):
    with running("answers", folder=tmp_path) as server:
        assert ask(server.url, asking("three")).status == 422
        code, out, errors = server.end()

    missed, total = out.splitlines()
    assert missed.startswith("missed m, 1 message: no answer to this request was recorded; ")
    assert total == "0 played, 0 recorded, 1 missed, 2 never asked for"
    assert (code, errors) == (1, "")


def test_recording_adds_answers_with_the_key_of_the_variable(answers, tmp_path, upstream):
    options = ("answers", "--record", "--upstream", upstream.url, "--key-env", "MY_SECRET")
    with running(*options, folder=tmp_path, MY_SECRET="CANARY-12345678") as server:
        ask(server.url, asking("two"))
        ask(server.url, asking("three"), Authorization="Bearer no-key-needed")
        code, out, _ = server.end()

    assert out == "1 played, 1 recorded, 0 missed, 1 never asked for\n" and code == 0
    assert upstream.headers[-1]["authorization"] == "Bearer CANARY-12345678"
    assert not any("CANARY" in file.read_text() for file in answers.rglob("*.json"))
    with ReplayServer(answers) as server:
        assert ask(server.url, asking("three")).content == "1"


def test_ending_it_waits_for_what_is_being_recorded(answers, tmp_path, upstream):
    upstream.gate.clear()
    with running("answers", "--record", "--upstream", upstream.url, folder=tmp_path) as server:
        client = threading.Thread(target=ask, args=(server.url, asking("three")))
        client.start()
        wait_until(lambda: len(upstream.bodies) == 3)
        server.process.send_signal(signal.SIGTERM)
        waiting = server.process.stdout.readline()
        upstream.gate.set()
        code, out, _ = ended(server.process)
        client.join()

    assert waiting == "Still recording (1); Ctrl-C stops without waiting.\n"
    assert "1 recorded" in out and code == 0
    with ReplayServer(answers) as server:
        assert ask(server.url, asking("three")).content == "1"


def test_a_second_signal_gives_up_what_is_being_recorded(answers, tmp_path, upstream):
    upstream.gate.clear()
    before = sorted(answers.rglob("*.json"))
    with running("answers", "--record", "--upstream", upstream.url, folder=tmp_path) as server:
        client = threading.Thread(target=_asked_in_vain, args=(server.url,))
        client.start()
        wait_until(lambda: len(upstream.bodies) == 3)
        server.process.send_signal(signal.SIGINT)
        server.process.stdout.readline()
        code, out, errors = server.end()
        upstream.gate.set()
        client.join()

    assert (code, errors) == (0, "") and "0 recorded" in out
    assert sorted(answers.rglob("*.json")) == before


def _asked_in_vain(url: str) -> None:
    with pytest.raises(OSError):
        ask(url, asking("three"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nowhere",), "there are no recorded answers in 'nowhere'; record some with --record"),
        (("answers", "--record"), "give both or neither of record (--record) and upstream"),
        (("answers", "--upstream", "http://localhost:1/v1"), "give both or neither"),
        (("answers", "--record", "--upstream", "openai"), "the upstream is 'openai'; give"),
        (("answers", "--port", 99999), "cannot listen on 127.0.0.1:99999"),
        (("answers", "--host", "no.such.invalid"), "cannot listen on no.such.invalid"),
        (("file",), "file is not a folder"),
    ],
    ids=str,
)
def test_what_is_wrong_is_one_message(answers, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()

    result = maseval("replay-server", *arguments)

    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ") and words in result.stderr
    assert result.stdout == ""


def test_a_port_in_use_and_the_server_as_its_own_upstream(answers):
    with ReplayServer(answers) as server:
        used = maseval("replay-server", answers, "--port", server.server_port)
        port = server.server_port
    itself = maseval(
        *("replay-server", answers, "--port", port),
        *("--record", "--upstream", f"http://localhost:{port}/v1"),
    )

    assert used.exit_code == itself.exit_code == 2
    assert "give another port, or 0 for a free one" in used.stderr
    assert "the upstream is this server itself" in itself.stderr
    assert "Traceback" not in used.stderr + itself.stderr
