"""Recording: what was not recorded is asked for once, kept, and passed on unharmed."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.server import ReplayServer
from tests.server.provider import Answered, Provider, ask, asking, provider, saying

RECORDER = {"record": True, "upstream_key": "the-key-of-the-server"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers"


@pytest.fixture
def recorder(path: Path, upstream: Provider) -> Iterator[ReplayServer]:
    with ReplayServer(path, upstream=upstream.url, **RECORDER) as server:
        yield server


def played(path: Path, *requests: dict[str, Any]) -> list[Answered]:
    with ReplayServer(path) as server:
        return [ask(server.url, request) for request in requests]


def test_what_was_recorded_can_be_played_when_the_provider_is_gone(path):
    with (
        provider() as upstream,
        ReplayServer(path, upstream=upstream.url, **RECORDER) as server,
    ):
        upstream.will(saying("1"), saying("2"))
        first = [ask(server.url, asking(text)).json for text in ("one", "two")]

    again = played(path, asking("two"), asking("one"))

    assert (server.recorded, server.played, server.misses, server.unused) == (2, 0, 0, [])
    assert [reply.json for reply in again] == [first[1], first[0]] == [saying("2"), saying("1")]


def test_a_question_asked_again_in_one_session_is_recorded_again(path, upstream):
    upstream.will(*(saying(str(number)) for number in range(4)))
    with ReplayServer(path, upstream=upstream.url, **RECORDER) as server:
        first = [ask(server.url, asking("roll")).content for _ in range(2)]
    with ReplayServer(path, upstream=upstream.url, **RECORDER) as server:
        second = [ask(server.url, asking("roll")).content for _ in range(3)]

    assert (first, second) == (["0", "1"], ["0", "1", "2"])
    assert [reply.content for reply in played(path, *[asking("roll")] * 4)] == list("0120")


def test_the_provider_is_asked_what_the_client_asked_but_never_for_a_stream(recorder, upstream):
    upstream.will(saying("1"))
    request = asking("one", temperature=0.0, user="me", seed=None, top_k=3)

    reply = ask(
        recorder.url, {**request, "stream": True, "stream_options": {"include_usage": True}}
    )

    assert upstream.bodies == [request] and upstream.paths == ["/v1/chat/completions"]
    assert reply.headers["Content-Type"].startswith("text/event-stream")
    assert '"content": "1"' in reply.text and '"total_tokens": 5' in reply.text


@pytest.mark.parametrize("own", [None, "the-key-of-the-server"])
def test_the_servers_key_is_used_or_else_the_clients(path, upstream, own):
    upstream.will(saying("1"))
    sent = {"Authorization": "Bearer the-key-of-the-client", "api_key": "another"}

    with ReplayServer(path, record=True, upstream=upstream.url, upstream_key=own) as server:
        ask(server.url, asking("one"), OpenAI_Project="p", Cookie="c=1", **sent)

    (headers,) = upstream.headers
    assert headers["authorization"] == f"Bearer {own or 'the-key-of-the-client'}"
    assert headers.get("api-key") == (None if own else "another")
    assert headers["openai-project"] == "p" and "cookie" not in headers


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_a_providers_error_is_passed_on_and_not_recorded(recorder, upstream, path, status):
    body = {"error": {"message": "no", "code": "their_code", "type": "theirs", "param": "x"}}
    upstream.will_fail(status, body, Retry_After="7", X_Request_Id="r1", Set_Cookie="c=1")
    upstream.will(saying("1"))

    failed = ask(recorder.url, asking("one"))
    again = ask(recorder.url, asking("one"))

    assert (failed.status, failed.json) == (status, body)
    assert failed.headers["Retry-After"] == "7" and failed.headers["X-Request-Id"] == "r1"
    assert "Set-Cookie" not in failed.headers
    assert again.content == "1" and recorder.recorded == 1 and recorder.misses == 0
    assert [reply.content for reply in played(path, asking("one"), asking("one"))] == ["1", "1"]


def test_an_error_that_is_no_json_is_passed_on_as_text(recorder, upstream):
    upstream.will_fail(502, b"<html>Bad \xff Gateway</html>")

    reply = ask(recorder.url, asking("one"))

    assert reply.status == 502 and "Bad \ufffd Gateway" in reply.error["message"]


@pytest.mark.parametrize("content", [b"<html>", b"[]", b"null", b"[" * 100_000, b"\xff"])
def test_an_answer_that_is_no_answer_is_a_bad_gateway(recorder, upstream, content):
    upstream.will(content)

    reply = ask(recorder.url, asking("one"))

    assert reply.status == 502 and "not a JSON object" in reply.error["message"]
    assert recorder.recorded == 0


@pytest.mark.parametrize("choices", [5, "yes", [5], [{"message": "hi"}]])
def test_an_answer_that_no_client_could_read_is_not_recorded(recorder, upstream, choices):
    upstream.will({"choices": choices})

    reply = ask(recorder.url, asking("one"))

    assert reply.status == 502 and "not a chat completion" in reply.error["message"]
    assert recorder.recorded == 0


@pytest.mark.parametrize("answer", [{"choices": []}, {"error": {"message": "busy"}}])
def test_an_answer_without_choices_is_passed_on_and_not_recorded(recorder, upstream, answer):
    upstream.will(answer, saying("1"))

    assert ask(recorder.url, asking("one")).json == answer
    assert ask(recorder.url, asking("one")).content == "1"
    assert (recorder.recorded, recorder.unused) == (1, [])


def test_a_redirect_does_not_take_the_key_elsewhere(recorder, upstream):
    with provider() as elsewhere:
        elsewhere.will(saying("stolen"))
        upstream.will_fail(302, {}, Location=f"{elsewhere.url}/chat/completions")

        reply = ask(recorder.url, asking("one"))

    assert reply.status == 502 and elsewhere.headers == []


def test_a_provider_that_is_not_there_is_a_bad_gateway(path):
    with provider() as gone:
        pass
    with ReplayServer(path, upstream=gone.url, **RECORDER) as server:
        reply = ask(server.url, asking("one"))

    assert reply.status == 502 and reply.error["code"] == "upstream_unreachable"


@pytest.mark.parametrize(
    "url", ["api.openai.com", "", "ftp://x/v1", "http://", "http://x:99999/v1", "http://[::1"]
)
def test_an_upstream_is_an_address(path, url):
    with pytest.raises(ConfigurationError, match="give a whole address, like http://"):
        ReplayServer(path, record=True, upstream=url)


def test_a_password_in_the_upstreams_address_is_not_repeated(path):
    with pytest.raises(ConfigurationError, match="environment variable") as caught:
        ReplayServer(path, record=True, upstream="http://me:hunter2@localhost:1/v1")

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("end", ["", "/", "/chat/completions"])
def test_the_upstreams_address_may_be_written_in_many_ways(path, upstream, end):
    upstream.will(saying("1"))
    with ReplayServer(path, upstream=upstream.url + end, **RECORDER) as server:
        ask(server.url, asking("one"))

    assert upstream.paths == ["/v1/chat/completions"]


def test_the_answers_of_many_clients_are_all_kept(recorder, upstream, path):
    upstream.will(saying("same"))
    with ThreadPoolExecutor(50) as pool:
        for number in range(50):
            pool.submit(ask, recorder.url, asking(str(number % 25)))

    assert recorder.recorded == len(upstream.bodies) == 50
    assert len(recorder.cache.entries()) == 50
    again = played(path, *(asking(str(number)) for number in range(25)), asking("25"))
    assert [reply.status for reply in again] == [200] * 25 + [422]


def test_an_answer_under_way_is_kept_when_the_server_is_closed(path, upstream):
    upstream.will(saying("1"))
    upstream.gate.clear()
    heard = []
    server = ReplayServer(path, upstream=upstream.url, **RECORDER).start()
    client = threading.Thread(target=lambda: heard.append(ask(server.url, asking("one"))))
    client.start()
    assert upstream.asked.wait(60)
    assert server.under_way == 1
    closing = threading.Thread(target=server.close)
    closing.start()
    closing.join(0.2)
    assert closing.is_alive()

    upstream.gate.set()
    closing.join(60)
    client.join(60)

    assert heard[0].content == "1" and server.recorded == 1
    assert played(path, asking("one"))[0].content == "1"


def test_an_answer_that_cannot_be_kept_is_not_paid_for_again(recorder, upstream, path):
    upstream.will(saying("1"))
    path.write_text("a file, so that nothing can lie below")

    reply = ask(recorder.url, asking("one"))

    assert reply.status == 422 and "cannot be recorded" in reply.error["message"]


HEADER = "CANARY-header-7f3a9b"
AZURE = "CANARY-azure-1d94aa"
SERVER = "CANARY-server-51c08d"
ENVIRONMENT = 'CANARY-"env"-9e21aa'
SPOKEN = "sk-CANARYspoken123456"


def files_in(path: Path) -> str:
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
