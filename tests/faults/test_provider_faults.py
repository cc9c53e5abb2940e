"""A provider that misbehaves, through the real client libraries and a real server on loopback."""

import gzip
import json
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from maseval.core import provider_errors as errors
from maseval.core.call_policy import CallPolicy
from maseval.core.messages import INVALID_ARGUMENTS, arguments_of
from maseval.core.model import ModelAdapter, resolve_model
from maseval.testing import FAULTS, OpenAIProtocol, ProviderServer, Reply, serving
from tests.faults.table import shows
from tests.interface.inference.protocols import AnthropicProtocol, GoogleProtocol, ResponsesProtocol
from tests.interface.libraries import needing
from tests.waiting import wait_until

HI = {"role": "user", "content": "hi"}
KEY = "canary-0123456789-do-not-sing"
AREA = "A model's provider"


class Expected(NamedTuple):
    """What a model raises, after how many requests if every answer has the fault."""

    kind: type[errors.ProviderError]
    requests: int = 1

    @property
    def outcome(self) -> str:
        return f"`{self.kind.__name__}`"


def expect(names: str, kind: type[errors.ProviderError], requests: int = 1) -> dict[str, Expected]:
    return dict.fromkeys(names.split(), Expected(kind, requests))


ERRORS = {
    **expect("429", errors.RateLimitError, 6),
    **expect("wait", errors.WaitTooLongError),
    **expect("500 503 refusal-200", errors.OverloadedError, 6),
    **expect("401", errors.AuthenticationError),
    **expect("404", errors.ModelNotFoundError),
    **expect("quota", errors.QuotaExhaustedError),
    **expect("413", errors.MalformedRequestError),
    **expect("overflow", errors.ContextOverflowError),
    **expect("filter", errors.ContentFilterError),
    **expect("drop cut not-http headers length no-length chunk", errors.ProviderConnectionError, 6),
    **expect("slow drip", errors.ProviderTimeoutError, 6),
    **expect(
        "malformed html empty list no-choices bytes no-name message number no-content no-calls "
        "list-arguments deep-answer 304 not-gzip brotli digits",
        errors.MalformedResponseError,
        6,
    ),
    **expect("huge bomb many-calls calls", errors.AnswerTooLargeError),
    **expect("redirect", errors.RedirectRefusedError),
    **expect("loop", errors.RedirectRefusedError, 4),
}
REFUSED_BY_TOOLS = "read: the call fails as the agent's mistake"
LEFT_OUT = "read; the number is left out of the sums, with a warning"
READ = {
    "number-ids": "read: the id becomes text",
    **dict.fromkeys(("deep", "deeper"), REFUSED_BY_TOOLS),
    **dict.fromkeys(("infinity", "nan", "1e400"), LEFT_OUT),
    "surrogate": "read; replaced when it is sent back",
    "twice": "read: the last one counts",
}

pytestmark = needing("openai")


EACH_LIBRARY = [
    "openai/served",
    "openai-responses/served",
    pytest.param("anthropic/served", marks=needing("anthropic")),
    pytest.param("google/served", marks=needing("google.genai")),
]


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with serving() as running:
        yield running


def model_of(
    server: ProviderServer, model_id: str = "openai/served", path: str = "/v1", **options: int
) -> ModelAdapter:
    policy = CallPolicy(base_delay=0.001)
    given = {"api_key": KEY, "base_url": f"{server.url}{path}", "timeout": 120, **options}
    return resolve_model(model_id, policy=policy, **given)


def spoiled(name: str, times: int = 1) -> list[Reply]:
    return [FAULTS[name].spoil(Reply(OpenAIProtocol.text("Hello")))] * times


def test_every_fault_that_a_server_can_play_is_in_the_table():
    assert {*ERRORS, *READ} == set(FAULTS)


def test_a_number_that_is_none_is_reported_once(server, caplog):
    server.will(*spoiled("infinity", 2))
    model = model_of(server)

    assert [model.generate("hi"), model.generate("hi")] == ["Hello", "Hello"]

    assert caplog.text.count("a provider reports inf as its usage") <= 1
    assert model.gather_usage().total_tokens == 0


def test_what_was_received_is_quoted_and_does_nothing_where_it_is_shown(server):
    server.will(*[Reply("\x1b[2J<h1>Sign in</h1>" + "x" * 10_000)] * 6)

    with pytest.raises(errors.MalformedResponseError) as caught:
        model_of(server).generate("hi")

    assert "\\u{1B}[2J<h1>Sign in</h1>xxx" in str(caught.value)
    assert "\x1b" not in str(caught.value) and "x" * 200 not in str(caught.value)


def test_answers_that_cannot_be_read_in_different_ways_are_asked_for_again(server):
    server.will(*spoiled("html"), *spoiled("empty"), *spoiled("list"), OpenAIProtocol.text("Hello"))

    assert model_of(server).generate("hi") == "Hello"


def test_a_compressed_answer_is_read(server):
    body = gzip.compress(b'{"choices": [{"message": {"role": "assistant", "content": "Hello"}}]}')
    server.will(Reply(body, headers={"Content-Encoding": "gzip"}))

    assert model_of(server).generate("hi") == "Hello"
    assert server.requests[0].headers["accept-encoding"] == "gzip, deflate"


def test_a_redirect_on_the_same_host_is_followed(server):
    server.will(Reply("", 307, {"Location": "/v2/chat/completions"}), OpenAIProtocol.text("Hello"))

    assert model_of(server).generate("hi") == "Hello"
    assert server.requests[1].path == "/v2/chat/completions"


@shows(
    AREA,
    ("no host of that name, or nothing that listens there", "`UnreachableError`"),
)
@pytest.mark.parametrize("model_id", EACH_LIBRARY)
@pytest.mark.parametrize("address", ["http://nowhere.invalid", "http://127.0.0.1:9"])
def test_a_host_that_cannot_be_reached_is_not_one_that_hangs_up(model_id, address):
    model = resolve_model(
        model_id, policy=CallPolicy(base_delay=0.001), api_key=KEY, base_url=address
    )

    with pytest.raises(errors.UnreachableError) as caught:
        model.generate("hi")

    assert caught.value.details["attempts"] == 6
    assert caught.value.fatal_for_run


needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl here")


def secured(server: ProviderServer, folder: Path) -> str:
    """Let a server speak TLS with a certificate that it has signed itself; return its file."""
    file, key = folder / "certificate.pem", folder / "key.pem"
    subject = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")
    made = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject)
    subprocess.run([*made, "-keyout", key, "-out", file], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return str(file)


@shows(
    AREA,
    ("a certificate that is not trusted, or a server without TLS", "`UntrustedServerError`"),
)
@pytest.mark.parametrize("model_id", EACH_LIBRARY)
@pytest.mark.parametrize("speaks_tls", [False, pytest.param(True, marks=needs_openssl)])
def test_a_server_that_is_not_trusted_is_asked_once_and_ends_the_run(
    model_id, speaks_tls, tmp_path
):
    server = ProviderServer()
    if speaks_tls:
        secured(server, tmp_path)
    with serving(server):
        address = server.url.replace("http:", "https:")
        model = resolve_model(model_id, api_key=KEY, base_url=address)
        with pytest.raises(errors.UntrustedServerError, match="SSL_CERT_FILE") as caught:
            model.generate("hi")

    assert caught.value.details["attempts"] == 1
    assert caught.value.fatal_for_run


@needs_openssl
def test_a_certificate_that_is_vouched_for_is_trusted(tmp_path, monkeypatch):
    server = ProviderServer()
    monkeypatch.setenv("SSL_CERT_FILE", secured(server, tmp_path))
    with serving(server):
        server.will(OpenAIProtocol.text("Hello"))
        address = server.url.replace("http:", "https:")
        model = resolve_model("openai/served", api_key=KEY, base_url=address)

        assert model.generate("hi") == "Hello"


CLIENTS = {
    "openai/served": ("/v1", OpenAIProtocol),
    "openai-responses/served": ("/v1", ResponsesProtocol),
    "anthropic/served": ("", AnthropicProtocol),
    "google/served": ("", GoogleProtocol),
}


@shows(AREA, ("a redirect to another port", "not followed: no key and no conversation is sent"))
@pytest.mark.parametrize("model_id", EACH_LIBRARY)
def test_no_library_takes_its_key_to_another_address(server, model_id):
    path, protocol = CLIENTS[model_id]
    with serving() as other:
        other.will(protocol.text("Hello"))
        server.will(Reply("", 307, {"Location": f"{other.url}/anywhere"}))

        with pytest.raises(errors.RedirectRefusedError, match=other.url):
            model_of(server, model_id, path).generate("hi")

        assert other.requests == []


@pytest.mark.parametrize("model_id", EACH_LIBRARY[2:])
@pytest.mark.parametrize(
    "name", ["malformed", "html", "empty", "list", "bytes", "deep-answer", "huge", "bomb", "loop"]
)
def test_the_other_libraries_are_held_to_the_same_limits(server, model_id, name):
    server.will(*spoiled(name, 10))

    with pytest.raises(errors.ProviderError) as caught:
        model_of(server, model_id, CLIENTS[model_id][0]).generate("hi")

    assert type(caught.value) is ERRORS[name].kind
    assert len(server.requests) == ERRORS[name].requests


def responses_answer(*output: object, **parts: Any) -> dict[str, Any]:
    return {**ResponsesProtocol.text("Hello"), "output": [*output], **parts}


def responses_call(**parts: Any) -> dict[str, Any]:
    (call,) = ResponsesProtocol.calls(("look_up", {}))["output"]
    return responses_answer({**call, **parts})


def responses_usage(value: float) -> dict[str, Any]:
    counts = dict.fromkeys(("input_tokens", "output_tokens", "total_tokens"), value)
    return {**ResponsesProtocol.text("Hello"), "usage": counts}


def responses_text(old: str, new: str) -> str:
    answer = json.dumps(ResponsesProtocol.text("Hello"))
    assert old in answer
    return answer.replace(old, new, 1)


HALF_MESSAGE = {"type": "message", "role": "assistant"}
# The faults of chat completions that the Responses API has in a form of its own.
RESPONSES_FAULTS = {
    "filter": ResponsesProtocol.content_filter(),
    "no-choices": responses_answer(),
    "no-name": responses_call(name=""),
    "message": responses_answer({**HALF_MESSAGE, "content": 1.5}),
    "no-content": responses_answer(HALF_MESSAGE),
    "no-calls": responses_answer(output=None),
    "list-arguments": responses_call(arguments=[1]),
    "number": responses_answer({**HALF_MESSAGE, "content": [{"type": "output_text", "text": 5}]}),
    "calls": responses_answer(*responses_call()["output"] * 999),
    "many-calls": responses_answer(*responses_call()["output"] * 10_000),
    "number-ids": responses_call(call_id=7),
    "deep": responses_call(arguments="[" * 900 + "]" * 900),
    "deeper": responses_call(arguments="[" * 100_000),
    "infinity": responses_usage(float("inf")),
    "nan": responses_usage(float("nan")),
    "digits": responses_text('"usage": ', f'"n": {"9" * 5000}, "usage": '),
    "1e400": responses_text('"input_tokens": ', '"input_tokens": 1e400, "x": '),
    "surrogate": responses_text('"text": "', '"text": "\\ud800'),
    "twice": responses_text('{"id": ', '{"output": [], "id": '),
}


def responses_spoiled(name: str, times: int = 1) -> Any:
    good = Reply(ResponsesProtocol.text("Hello"))
    if name in RESPONSES_FAULTS:
        return [Reply(RESPONSES_FAULTS[name])] * times
    spoiled = FAULTS[name].spoil(good)
    assert spoiled != good
    return [spoiled] * times


SPOILED = {"openai/served": spoiled, "openai-responses/served": responses_spoiled}


@shows(AREA, *((FAULTS[name].text, expected.outcome) for name, expected in ERRORS.items()))
@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("api", SPOILED)
def test_a_fault_has_a_name_and_is_not_asked_for_ever(server, api, name):
    expected = ERRORS[name]
    server.will(*SPOILED[api](name, 10))
    # The two that are only slow would be waited for.
    seconds = 0.2 if expected.kind is errors.ProviderTimeoutError else 120

    with pytest.raises(errors.ProviderError) as caught:
        model_of(server, api, timeout=seconds).generate("hi")

    assert type(caught.value) is expected.kind
    # One that was given up may not have been read yet.
    wait_until(lambda: len(server.requests) >= expected.requests, "all requests")
    assert len(server.requests) == expected.requests
    assert KEY not in str(caught.value)


@shows(AREA, *((FAULTS[name].text, outcome) for name, outcome in READ.items()))
@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("api", SPOILED)
def test_what_can_be_read_is_read(server, api, name):
    server.will(*SPOILED[api](name))

    answer = model_of(server, api).chat([HI])

    match name:
        case "number-ids":
            assert answer.tool_calls[0]["id"] == "7"
        case "deep" | "deeper":
            arguments = answer.tool_calls[0]["function"]["arguments"]
            assert arguments_of(arguments).keys() == {INVALID_ARGUMENTS}
        case "surrogate":
            assert answer.content == "\ud800Hello"
        case "twice":
            assert answer.content == "Hello"
        case _:
            assert answer.content == "Hello" and answer.usage["input_tokens"] == 0


def openai_answer(**choice: Any) -> dict[str, Any]:
    return {**OpenAIProtocol.text("Hello"), "choices": [{"finish_reason": "stop", **choice}]}


def anthropic_answer(*blocks: object, reason: str = "end_turn") -> dict[str, Any]:
    return {**AnthropicProtocol.text("Hello"), "content": [*blocks], "stop_reason": reason}


CALL = {"type": "tool_use", "id": "id_0", "name": "look"}
NONSENSE = {
    "openai/served": [
        *(openai_answer(message=message) for message in (0, True, "Hello", [], [{}], {})),
        openai_answer(message={"content": None, "tool_calls": 0}),
        openai_answer(message={"content": False}),
        openai_answer(text=5.5, message=7),
        {"choices": {}},
        {"choices": [None]},
    ],
    "openai-responses/served": [
        *map(responses_answer, (1, "Hello", [], {}, None, {"type": 5}, {"type": ""})),
        *(responses_call(arguments=given) for given in (0, [], False)),
        responses_answer({**HALF_MESSAGE, "content": "Hello"}),
        responses_answer({**HALF_MESSAGE, "content": [{"type": "output_text"}]}),
        responses_answer(output="Hello"),
        responses_answer(output=None),
    ],
    "anthropic/served": [
        *map(anthropic_answer, (1, "Hello", [], {}, None, {"type": 5}, {"type": ""})),
        *(anthropic_answer({**CALL, "input": given}) for given in (0, "{}", [], False)),
        anthropic_answer(reason="tool_use"),
        {**AnthropicProtocol.text("Hello"), "content": "Hello"},
    ],
    "google/served": [
        {"candidates": 1.5},
        {"candidates": [7]},
        {"candidates": ["Hello"]},
        {"candidates": [{}]},
        {"candidates": [{"finishReason": {}}]},
        {"candidates": [{"finishReason": "STOP"}]},
        {"candidates": [{"content": {"parts": "no"}}]},
        {"candidates": [{"content": {"parts": [{}]}}]},
    ],
}
SILENCE = {
    "openai/served": [
        openai_answer(message={"content": None}),
        openai_answer(message={"content": ""}),
        openai_answer(message={"role": "assistant"}, finish_reason="length"),
    ],
    "openai-responses/served": [
        responses_answer({**HALF_MESSAGE, "content": []}),
        responses_answer({"type": "reasoning", "id": "rs_1", "summary": []}),
        responses_answer(status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
    ],
    "anthropic/served": [anthropic_answer(), anthropic_answer({"type": "text", "text": ""})],
    "google/served": [
        {"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]},
        {"candidates": [{"finishReason": "MAX_TOKENS"}]},
    ],
}


@pytest.mark.parametrize("model_id", EACH_LIBRARY)
def test_an_answer_that_makes_no_sense_is_the_providers_fault(server, model_id):
    model = model_of(server, model_id, CLIENTS[model_id][0])
    model.policy = CallPolicy(max_attempts=1)
    for answer in NONSENSE[model_id]:
        server.will(answer)
        with pytest.raises(errors.MalformedResponseError):
            pytest.fail(f"{answer} was read as {model.chat([HI])}")


@pytest.mark.parametrize("model_id", EACH_LIBRARY)
def test_a_well_formed_answer_may_be_empty(server, model_id):
    model = model_of(server, model_id, CLIENTS[model_id][0])
    for answer in SILENCE[model_id]:
        server.will(answer)
        said = model.chat([HI])
        assert not said.content and not said.tool_calls


@pytest.mark.parametrize("model_id", EACH_LIBRARY[2:3])
def test_a_number_that_json_cannot_hold_is_sent_back_as_text(server, model_id):
    called = json.dumps(AnthropicProtocol.calls(("look", {"at": float("nan")})))
    server.will(Reply(called), AnthropicProtocol.text("Well."))
    model = model_of(server, model_id, "")

    answer = model.chat([HI])
    model.chat([HI, answer.to_message()])

    assert server.requests[1].body["messages"][1]["content"][0]["input"] == {"at": "nan"}


def test_a_page_that_comes_with_an_error_is_quoted(server):
    server.will(*[Reply("<html>Bad gateway</html>", 502, {"Content-Type": "text/html"})] * 6)

    with pytest.raises(errors.OverloadedError, match="<html>Bad gateway</html>"):
        model_of(server).generate("hi")
