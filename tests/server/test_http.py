"""ChatServer over raw HTTP: whatever a client sends, it hears something it can use."""

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.server import ChatServer, Refusal
from tests.server.provider import ask, asking, saying


def echo(request: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
    return saying(request["messages"][-1]["content"] if request["messages"] else "")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(echo, lambda: ["m", "a/b"]) as running:
        yield running


def raw(server: ChatServer, sent: bytes) -> str:
    """Everything that comes back to these bytes, until the server hangs up."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=60) as line:
        line.sendall(sent)
        line.shutdown(socket.SHUT_WR)
        heard = b""
        while piece := line.recv(65536):
            heard += piece
    return heard.decode()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not an object"),
        (b"{}", "no list of messages"),
        (b'{"messages": "hi"}', "no list of messages"),
        (b'{"messages": [{}, "hi"]}', 'messages[1] is not an object but "hi"'),
    ],
)
def test_a_request_that_makes_no_sense_is_explained(server, body, words):
    reply = ask(server.url, body)

    assert reply.status == 400
    assert words in reply.error["message"] and reply.error["code"] == "invalid_request"


@pytest.mark.parametrize(
    "path", ["/responses", "/embeddings", "/completions", "/chat", "/messages", ""]
)
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_another_path_says_what_is_served(server, path, method):
    reply = ask(server.url, {"input": "hi"}, path, method)

    assert reply.status == 404
    assert f"nothing is served at /v1{path};" in reply.error["message"]
    assert "choose chat completions" in reply.error["message"]


def test_models_are_listed(server):
    listed = ask(server.url, b"", "/models", "GET").json["data"]

    assert [model["id"] for model in listed] == ["m", "a/b"]


def test_another_method_is_refused(server):
    put = ask(server.url, asking("hi"), "/chat/completions", "PUT")

    assert put.status == 405 and "PUT" in put.error["message"]


def test_a_connection_serves_many_requests_and_outlives_errors(server):
    line = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    statuses = []
    with closing(line):
        line.connect()
        first = line.sock
        for body in (b"{", json.dumps(asking("hi")).encode(), b"[]"):
            for path in ("/v1/chat/completions", "/v1/embeddings"):
                line.request("POST", path, body)
                response = line.getresponse()
                response.read()
                statuses.append(response.status)
        assert line.sock is first

    assert statuses == [400, 404, 200, 404, 400, 404]


def test_the_body_of_an_answer_does_not_wait_until_its_headers_have_arrived():
    options = []

    def watched(request, headers):
        for each in server._connections:
            options.append(each.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        return echo(request, headers)

    with ChatServer(watched) as server:
        ask(server.url, asking("hi"))

    assert len(options) == 1 and options[0]


POST = "POST /v1/chat/completions HTTP/1.1\r\n"


@pytest.mark.parametrize(
    ("sent", "status", "words"),
    [
        *(
            (f"{POST}Content-Length: {n}", 400, "not a number of bytes")
            for n in ("abc", "-1", "1e3")
        ),
        (f"{POST}Content-Length: {'9' * 5000}", 400, "not a number of bytes"),
        (f'{POST}Content-Length: 99\r\n\r\n{{"mess', 400, "ended after 10 of 99 bytes"),
        (f"{POST}Content-Length: 999999999", 413, "too long"),
        (f"{POST}Transfer-Encoding: chunked", 411, "no Content-Length"),
        ("HELLO", 400, "HELLO"),
    ],
)
def test_what_is_no_whole_request_is_refused_in_json_and_the_connection_ended(
    server, sent, status, words
):
    heard = raw(server, f"{sent}\r\n\r\n".encode())

    assert heard.startswith(f"HTTP/1.1 {status}") or sent == "HELLO"
    assert words in heard and '"error"' in heard and "<html" not in heard.lower()
    assert "Connection: close" in heard or sent == "HELLO"


@pytest.mark.parametrize("options", ["usage", None, {"include_usage": "yes"}, []])
def test_odd_wishes_for_a_stream_do_no_harm(server, options):
    reply = ask(server.url, asking("hi", stream=True, stream_options=options))

    assert reply.status == 200 and reply.text.endswith("data: [DONE]\n\n")
    assert ('"usage"' in reply.text) is (options == {"include_usage": "yes"})


@pytest.mark.parametrize("stream", [False, True])
def test_an_internal_failure_is_reported(stream, caplog):
    def broken(request, headers):
        raise RuntimeError("out of order")

    with ChatServer(broken) as server:
        reply = ask(server.url, asking("hi", stream=stream))

    assert reply.status == 500 and reply.error["message"] == "RuntimeError: out of order"
    assert "out of order" in caplog.text


def test_a_refusal_takes_its_headers_along():
    def refuse(request, headers):
        raise Refusal("wait", status=429, code="slow", headers={"Retry-After": "3"})

    with ChatServer(refuse) as server:
        reply = ask(server.url, asking("hi"))

    assert (reply.status, reply.headers["Retry-After"]) == (429, "3")
    assert reply.error == {"message": "wait", "type": "slow", "param": None, "code": "slow"}


@pytest.mark.parametrize(
    ("origin", "status"),
    [("https://evil.example", 403), ("null", 403), ("http://localhost:3000", 200)],
)
def test_pages_of_the_web_may_not_spend_somebodys_money(server, origin, status):
    assert ask(server.url, asking("hi"), Origin=origin).status == status


def test_a_client_that_hangs_up_disturbs_nobody(server, capsys):
    for sent in (
        b"POST /v1/chat",
        b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 9\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", server.server_port)) as line:
            line.sendall(sent)
    body = json.dumps(asking("x" * 3_000_000, stream=True)).encode()
    with socket.create_connection(("127.0.0.1", server.server_port)) as line:
        line.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body)
        )
        line.sendall(body)

    assert ask(server.url, asking("hi")).content == "hi"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_port_in_use_is_named(server, host):
    with pytest.raises(
        ConfigurationError, match=rf"{server.server_port}: .*give another port, or 0"
    ):
        ChatServer(echo, host=host, port=server.server_port)


@pytest.mark.parametrize(
    "address", [{"port": 70000}, {"port": -1}, {"host": "no.such.host.invalid"}, {"host": "x" * 70}]
)
def test_an_address_that_cannot_be_had_is_named(address):
    with pytest.raises(ConfigurationError, match="cannot listen on"):
        ChatServer(echo, **address)


def test_it_also_listens_everywhere_and_on_ipv6():
    with ChatServer(echo, host="0.0.0.0") as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert ask(server.url, asking("hi")).content == "hi"
    if socket.has_ipv6:
        with ChatServer(echo, host="::1") as server:
            assert server.url.startswith("http://[::1]:")
            assert ask(server.url, asking("hi")).content == "hi"


def test_closing_ends_the_connections_that_clients_keep():
    server = ChatServer(echo).start()
    line = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    with closing(line):
        line.request("POST", "/v1/chat/completions", json.dumps(asking("hi")))
        line.getresponse().read()
        server.close()
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            line.request("POST", "/v1/chat/completions", json.dumps(asking("hi")))
            line.getresponse()
    with pytest.raises(ConnectionError):
        ask(server.url, asking("hi"))


def test_closing_does_not_wait_for_an_answer_that_takes_long():
    asked, wait = threading.Event(), threading.Event()
    failed, answered = [], []

    def slow(request, headers):
        asked.set()
        wait.wait(60)
        answered.append(request)
        return echo(request, headers)

    def client():
        try:
            ask(server.url, asking("hi"))
        except (ConnectionError, http.client.HTTPException) as error:
            failed.append(error)

    server = ChatServer(slow).start()
    thread = threading.Thread(target=client)
    thread.start()
    assert asked.wait(60)
    server.close()
    thread.join(60)

    assert len(failed) == 1 and answered == []
    wait.set()
