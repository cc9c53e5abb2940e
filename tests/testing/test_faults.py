import http.client
import json

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.testing import FAULTS, ChaosServer, serving
from tests.server.provider import ask, asking


def played(seed: int, requests: int = 40, **options: float) -> list[int]:
    server = ChaosServer([FAULTS["429"], FAULTS["500"]], seed=seed, **options)
    with serving(server):
        return [ask(server.base_url, asking("hi")).status for _ in range(requests)]


def test_the_same_seed_spoils_the_same_requests():
    assert played(1) == played(1) != played(2)
    assert {*played(1)} == {200, 429, 500}


def test_the_rate_is_the_share_of_requests_that_are_spoiled():
    assert set(played(1, rate=0.0)) == {200}
    assert 200 not in played(1, rate=1.0)


def test_a_good_answer_says_the_text_in_the_protocols_form_also_as_a_stream():
    with serving(ChaosServer([], text="Well?")) as server:
        answer = ask(server.base_url, asking("hi")).json
        stream = ask(server.base_url, asking("hi", stream=True)).text

    assert answer["choices"][0]["message"]["content"] == "Well?"
    assert '"content": "Well?"' in stream and stream.endswith("data: [DONE]\n\n")
    assert server.played == {"good": 2}


def test_every_fault_can_be_played_to_a_client_that_reads_bytes():
    for name in FAULTS:
        if name in ("slow", "drip", "huge"):
            continue
        with serving(ChaosServer([FAULTS[name]], rate=1.0)) as server:
            line = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
            try:
                line.request("POST", "/v1/chat/completions", json.dumps(asking("hi")))
                status = line.getresponse().status
            except http.client.HTTPException:
                status = None
            finally:
                line.close()
        assert (status is None) is (name in ("drop", "not-http", "headers"))
        assert server.played == {name: 1}


def test_a_rate_that_is_none_is_refused():
    with pytest.raises(ConfigurationError, match="a share from 0 to 1"):
        ChaosServer([], rate=2)


def test_a_port_that_is_taken_is_named():
    with serving() as first, pytest.raises(ConfigurationError, match="cannot listen on"):
        ChaosServer([], port=first.server_port)


@pytest.mark.parametrize(
    ("body", "length"), [(b'{"a"', None), (b"[1]", None), (b"[" * 50_000, None), (b"", "many")]
)
def test_a_request_that_is_no_json_object_is_refused_and_the_next_is_answered(body, length):
    with serving(ChaosServer([], rate=0)) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
        connection.putrequest("POST", "/v1/chat/completions")
        connection.putheader("Content-Length", length or str(len(body)))
        connection.endheaders(body)
        refused = connection.getresponse()

        assert refused.status == 400 and "error" in json.loads(refused.read())
        assert ask(server.base_url, asking("hi")).status == 200
