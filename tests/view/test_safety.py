"""Hostile requests: what a page elsewhere, a link in a folder or a raw socket might try."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from maseval.runs import RunFolder
from maseval.view.app import create_app
from maseval.view.serving import ViewServer
from tests.runs.worlds import config, finished_run, report
from tests.view.builders import viewer

pytestmark = pytest.mark.needs(library="starlette")


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "localhost:x", "a@127.0.0.1"]
)
def test_a_foreign_name_for_this_machine_is_not_answered(tmp_path, host):
    answer = viewer(tmp_path).get("/api/runs", headers={"host": host})

    assert answer.status_code == 421
    assert str(tmp_path) not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:8766", "localhost", "LOCALHOST:1", "[::1]:8766"])
def test_the_names_of_this_machine_are_answered(tmp_path, host):
    assert viewer(tmp_path).get("/api/runs", headers={"host": host}).status_code == 200


def test_every_answer_forbids_what_a_page_of_ours_does_not_need(tmp_path):
    for address in ("/", "/api/runs", "/assets/dom.js", "/nowhere", "/api/run/index?run=none"):
        headers = viewer(tmp_path).get(address, headers={"origin": "http://evil.example"}).headers

        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "require-trusted-types-for 'script'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert not [name for name in headers if name.startswith("access-control")]


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_can_link_to_a_page_but_not_load_anything(tmp_path, site):
    client = viewer(tmp_path)

    loaded = client.get("/api/runs", headers={"sec-fetch-site": site, "sec-fetch-mode": "no-cors"})
    linked = client.get("/", headers={"sec-fetch-site": site, "sec-fetch-mode": "navigate"})

    assert (loaded.status_code, linked.status_code) == (403, 200)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, and links to another one outside of it."""
    outside = tmp_path_factory.mktemp("outside")
    finished_run(outside / "secret", "a")
    finished_run(outside / "secret" / "inner", "a")
    root = outside / "root"
    finished_run(root / "run", "a")
    (root / "link").symlink_to(outside / "secret")
    (root / "loop").symlink_to(root / "loop")
    return root


@pytest.mark.parametrize(
    "name",
    [
        *("../secret", "a/../../secret", "..", "%2e%2e/secret", "/etc", "//etc", "a//b", "./run"),
        *("run/", "run\0", "run\\..\\..", "C:\\", "link", "link/inner", "loop", "\udcff", "~", "."),
        *("run/log.jsonl", "run/config.json", "a" * 5000),
    ],
)
@pytest.mark.parametrize("path", ["index", "live", "packet"])
def test_nothing_outside_of_the_folder_can_be_named(folder, name, path):
    given = {"run": name.encode("utf-8", "surrogateescape"), "domain": "", "task": "a"}
    answer = viewer(folder).get(f"/api/run/{path}", params=given)

    assert answer.status_code == 404


def test_links_are_not_followed_in_the_list(folder):
    assert [row["name"] for row in viewer(folder).get("/api/runs").json()["runs"]] == ["run"]


@pytest.mark.parametrize(
    "name", ["../pages.py", "view/../../pages.py", "page.html", "view/view.html", "%2e%2e/page.py"]
)
def test_only_scripts_and_styles_are_served(tmp_path, name):
    assert viewer(tmp_path).get(f"/assets/{name}").status_code == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_nothing_but_reading_is_answered(tmp_path, method):
    assert viewer(tmp_path).request(method, "/api/runs").status_code == 405


def test_where_others_can_connect_the_token_is_shown_once_and_becomes_a_cookie(tmp_path):
    client = viewer(tmp_path, token="open-sesame", hosts=None)

    outside = client.get("/api/runs")
    wrong = client.get("/?token=open")
    welcome = client.get("/search?q=a&token=open-sesame")
    inside = client.get("/api/runs")

    assert (outside.status_code, wrong.status_code, inside.status_code) == (401, 401, 200)
    assert (welcome.status_code, welcome.headers["location"]) == (303, "/search?q=a")
    cookie = welcome.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie


def test_the_way_in_leads_to_no_other_host(tmp_path):
    client = viewer(tmp_path, token="open-sesame", hosts=None)

    answer = client.get("//evil.example/?token=open-sesame")

    assert answer.headers.get("location", "/").startswith("/")
    assert not answer.headers.get("location", "/").startswith("//")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ViewServer]:
    with ViewServer(create_app(tmp_path_factory.mktemp("served"))) as server:
        yield server


def raw(server: ViewServer, request: bytes) -> bytes:
    """What comes back until the server hangs up, or says nothing more."""
    found = b""
    with socket.create_connection(("127.0.0.1", server.port)) as connection, suppress(OSError):
        connection.sendall(request)
        connection.settimeout(1 if b"close" not in request else 60)
        while part := connection.recv(65536):
            found += part
    return found


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /api/runs HTTP/1.0\r\n\r\n",
        b"GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
        b"GET http://evil.example/api/runs HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"GET /api/run/index?run=%00 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
        b"GET /../../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
        b"GET /assets/../../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
        b"\x16\x03\x01\x00\x00 not HTTP at all\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 200_000 + b"\r\n\r\n",
        b"POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /api/runs HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n",
    ],
)
def test_a_raw_socket_gets_nothing_it_should_not_and_the_server_stays(served, request_):
    found = raw(served, request_)
    well = raw(served, b"GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")

    assert b"root:" not in found and b'"runs"' not in found
    assert b'"runs"' in well


def test_a_key_that_a_provider_quoted_does_not_reach_the_page(tmp_path):
    key = "sk-" + "a1" * 20
    error = {"error_type": "AgentError", "error_message": "no", "details": {"api_key": key}}
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        folder.append(report("a", status="agent_error", error=error, seed=f"https://u:{key}@host"))
    client = viewer(tmp_path)

    pages = [
        client.get("/api/run/index", params={"run": "run"}).text,
        client.get("/api/run/packet", params={"run": "run", "domain": "", "task": "a"}).text,
        client.get("/api/runs").text,
    ]

    assert not [page for page in pages if key in page]
