"""``maseval chaos-server`` as a process."""

import inspect
import json
import re
import signal
from http.client import HTTPConnection

import pytest

from maseval import commands
from maseval.testing.faults import ChaosServer
from maseval.testing.provider_server import serving
from tests.cli.commandline import ended, maseval, started
from tests.server.provider import ask, asking


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_says_what_it_spoiled_and_sums_up(tmp_path, number):
    options = ("--faults", "429, 500", "--rate", "0.5", "--seed", "3", "--port", "0")
    process = started("chaos-server", *options, folder=tmp_path, COLUMNS="200")
    try:
        said = [process.stdout.readline() for _ in range(2)]
        url = re.search(r"http://\S+/v1", said[0])[0]
        statuses = [ask(url, asking("hi")).status for _ in range(20)]
        process.send_signal(number)
        code, out, errors = ended(process)
    finally:
        process.kill()
        process.communicate()

    assert code == 0, errors
    assert set(statuses) == {200, 429, 500} and f"OPENAI_BASE_URL={url}" in said[1]
    spoiled = sum(status != 200 for status in statuses)
    assert out.count("request ") == spoiled
    assert f"{20 - spoiled} good" in out.splitlines()[-1]


def test_no_two_servers_have_the_same_port():
    ports = [
        inspect.signature(each).parameters["port"].default
        for each in (commands.view, commands.replay_server, commands.chaos_server)
    ]
    texts = [maseval(name, "--help").stdout for name in ("view", "replay-server", "chaos-server")]

    assert len(set(ports)) == 3
    assert all(str(port) in text for port, text in zip(ports, texts, strict=True))


def test_the_faults_are_listed():
    listed = maseval("chaos-server", "--list").stdout

    assert "malformed" in listed and "an answer that is not JSON" in listed


def test_an_unknown_fault_is_an_error_without_a_traceback():
    refused = maseval("chaos-server", "--faults", "429,rain", "--port", "0")

    assert refused.exit_code != 0 and "'rain' is not a fault" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("body", "length"), [(b'{"a"', None), (b"[1]", None), (b"[" * 50_000, None), (b"", "many")]
)
def test_a_request_that_is_no_json_object_is_refused_and_the_next_is_answered(body, length):
    with serving(ChaosServer([], rate=0)) as server:
        connection = HTTPConnection("127.0.0.1", server.server_port)
        connection.putrequest("POST", "/v1/chat/completions")
        connection.putheader("Content-Length", length or str(len(body)))
        connection.endheaders(body)
        refused = connection.getresponse()

        assert refused.status == 400 and "error" in json.loads(refused.read())
        assert ask(server.base_url, asking("hi")).status == 200
