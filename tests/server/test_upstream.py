"""No key is stored or repeated, whoever sends it."""

import json

import pytest

from maseval.server import ReplayServer
from tests.server.provider import ask, asking, saying

HEADER = "CANARY-header-7f3a9b"
AZURE = "CANARY-azure-1d94aa"
SERVER = "CANARY-server-51c08d"
ENVIRONMENT = 'CANARY-"env"-9e21aa'
SPOKEN = "sk-CANARYspoken123456"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers"


def files_in(path):
    return "".join(file.read_text() for file in path.rglob("*") if file.is_file())


@pytest.mark.parametrize("key", [HEADER, SERVER, ENVIRONMENT, SPOKEN])
def test_an_answer_that_repeats_a_key_is_passed_on_and_not_recorded(
    path, upstream, monkeypatch, key
):
    monkeypatch.setenv("SOME_API_KEY", ENVIRONMENT)
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "login", "arguments": json.dumps({"password": key})},
    }
    upstream.will(saying("Fine.", tool_calls=[call]), saying("Bye."))
    told = []
    recorder = ReplayServer(
        path, record=True, upstream=upstream.url, upstream_key=SERVER, on_request=told.append
    )
    with recorder as server:
        first = ask(server.url, asking("hi"), Authorization=f"Bearer {HEADER}").json
        ask(server.url, asking(f"My key is {key}."), Authorization=f"Bearer {HEADER}")

    assert first["choices"][0]["message"]["tool_calls"] == [call]
    assert [each.outcome for each in told] == ["refused", "recorded"]
    assert "contains a key" in told[0].words
    assert "Bye." in files_in(path) and "CANARY" not in files_in(path)


def test_the_key_of_a_request_does_not_count(path, upstream):
    upstream.will(saying("1"))
    with ReplayServer(path, record=True, upstream=upstream.url) as server:
        ask(server.url, asking("hi", api_key=AZURE, options={"access_token": AZURE}))

    assert upstream.bodies[0]["api_key"] == AZURE
    with ReplayServer(path) as server:
        again = asking("hi", api_key="another", options={"access_token": AZURE})
        assert ask(server.url, again).content == "1"


def test_errors_of_the_provider_do_not_repeat_the_key(path, upstream):
    upstream.will_fail(401, {"error": {"message": f"Incorrect key: {HEADER} or {SERVER}"}})
    server = ReplayServer(path, record=True, upstream=upstream.url, upstream_key=SERVER)

    with server:
        reply = ask(server.url, asking("hi"), Authorization=f"Bearer {HEADER}")

    assert reply.error["message"] == "Incorrect key: <redacted> or <redacted>"
