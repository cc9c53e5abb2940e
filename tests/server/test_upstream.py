"""No key reaches a tape, whoever sends or repeats it, and recordings are still found."""

import json

import pytest

from maseval.server import ReplayServer
from maseval.server.upstream import exchange_secrets
from tests.server.provider import ask, asking, saying

HEADER = "CANARY-header-7f3a9b"
AZURE = "CANARY-azure-1d94aa"
SERVER = "CANARY-server-51c08d"
ENVIRONMENT = 'CANARY-"env"-9e21aa'
BODY = "CANARY-body-3377fe"
NESTED = "CANARY-nested-c4d2e0"
SPOKEN = "sk-CANARYspoken123456"
QUOTED = "hf_CANARYquoted123456"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tape.jsonl"


def question(text, **more):
    tools = [
        {
            "type": "function",
            "function": {
                "name": "login",
                "parameters": {"type": "object", "properties": {"password": {"type": "string"}}},
            },
        }
    ]
    return asking(text, tools=tools, **more)


def test_no_key_is_ever_written_and_what_was_recorded_is_found(path, upstream, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", ENVIRONMENT)
    quoting = f"{HEADER} {AZURE} {SERVER} {ENVIRONMENT} {BODY} {NESTED} {SPOKEN} {QUOTED}"
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "login", "arguments": json.dumps({"password": ENVIRONMENT})},
    }
    answer = saying(f"You sent {quoting}; max_tokens is 5.", tool_calls=[call])
    upstream.will(answer, saying("fine"))
    request = question(
        f"My key is {SPOKEN}.",
        api_key=BODY,
        options={"access_token": NESTED, "max_tokens": 5},
        max_tokens=5,
    )
    recorder = ReplayServer(
        path, record=True, upstream=upstream.url, upstream_key=SERVER, host="127.0.0.1"
    )
    with recorder as server:
        told = ask(server.url, request, Authorization=f"Bearer {HEADER}", api_key=AZURE).json
        spoken = told["choices"][0]["message"]
        following = {**request, "messages": [*request["messages"], spoken]}
        ask(server.url, following, Authorization=f"Bearer {HEADER}")

    written = path.read_text()
    assert "CANARY" not in written
    assert "max_tokens is 5" in written and written.count("<redacted>") > 8
    # The provider got everything; the client already heard what will be played.
    assert upstream.bodies[0]["api_key"] == BODY
    assert "CANARY" not in json.dumps(told)

    monkeypatch.delenv("SOME_API_KEY")
    with ReplayServer(path) as server:
        again = ask(server.url, {**request, "api_key": "another"}).json
        last = ask(server.url, following)
    assert again == told and last.content == "fine"
    assert server.misses == 0


def test_errors_of_the_provider_do_not_repeat_the_key(path, upstream):
    upstream.will_fail(401, {"error": {"message": f"Incorrect key: {HEADER} or {SERVER}"}})
    server = ReplayServer(path, record=True, upstream=upstream.url, upstream_key=SERVER)

    with server:
        reply = ask(server.url, asking("hi"), Authorization=f"Bearer {HEADER}")

    assert reply.error["message"] == "Incorrect key: <redacted> or <redacted>"


def test_a_miss_repeats_no_secret(path, upstream, monkeypatch):
    upstream.will(saying("1"))
    with ReplayServer(path, record=True, upstream=upstream.url) as server:
        ask(server.url, asking("hi"))
    monkeypatch.setenv("SOME_API_KEY", ENVIRONMENT)

    with ReplayServer(path) as server:
        reply = ask(server.url, asking(f"my key: {ENVIRONMENT}, {HEADER}"), Authorization=HEADER)

    assert "CANARY" not in reply.text and "my key: <redacted>" in reply.text


def test_a_miss_for_a_secret_alone_says_so(path, upstream, monkeypatch):
    upstream.will(saying("1"))
    with ReplayServer(path, record=True, upstream=upstream.url) as server:
        ask(server.url, asking(f"my key: {SPOKEN}"))

    with ReplayServer(path) as server:
        reply = ask(server.url, asking("my key: sk-another1234567890"))

    assert "line 2 differs only in a secret" in reply.error["message"]


def test_an_answer_keeps_its_words(monkeypatch):
    monkeypatch.setenv("LOGIN_TOKEN", "short")
    answer = saying("See https://x.org/?key=12345678 or `Bearer YOUR-TOKEN-HERE`; short.")
    answer["choices"][0]["logprobs"] = {"content": [{"token": "See", "logprob": -0.1}]}

    secrets = exchange_secrets("no-key-needed", "replay", answer=answer)

    assert secrets.removed_from(answer) == answer
