"""FAULTS: the ways in which a provider misbehaves, and ChaosServer, which plays them.

Each turns a good reply in OpenAI's protocol into a bad one. What maseval does at each of them is
listed in docs/errors.md.
"""

import gzip
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from maseval.core.exceptions import ConfigurationError
from maseval.core.messages import ChatResponse, chat_usage
from maseval.server.completion import completion
from maseval.testing.provider_server import ProviderServer, Reply, Request

SLOW_SECONDS = 5.0
HUGE_BYTES = 50_000_000


@dataclass(frozen=True)
class Fault:
    """A way to misbehave; ``spoil`` turns a good reply into a bad one."""

    name: str
    text: str
    spoil: Callable[[Reply], Reply]


def _status(
    number: int, message: str, code: str | None = None, **headers: str
) -> Callable[..., Reply]:
    error = {"message": message, "type": code or "an_error", "code": code}
    kept = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda reply: Reply({"error": error}, number, kept)


def _body(content: object, **headers: str) -> Callable[[Reply], Reply]:
    kept = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda reply: Reply(content, headers=kept)


def _half(reply: Reply) -> Reply:
    return replace(reply, cut_after=len(json.dumps(reply.body)) // 2)


def _change_answer(change: Callable[[dict[str, Any]], object]) -> Callable[[Reply], Reply]:
    def spoil(reply: Reply) -> Reply:
        answer = deepcopy(reply.body)
        assert isinstance(answer, dict), "only an answer in OpenAI's form can be changed"
        change(answer)
        return replace(reply, body=answer)

    return spoil


def _call(**parts: object) -> Callable[[Reply], Reply]:
    def change(answer: dict[str, Any]) -> None:
        function: dict[str, object] = {"name": "look_up", "arguments": "{}"}
        call: dict[str, object] = {"id": "call_1", "type": "function", "function": function}
        for name, value in parts.items():
            (call if name == "id" else function)[name] = value
        answer["choices"][0]["message"] = {"role": "assistant", "tool_calls": [call]}
        answer["choices"][0]["finish_reason"] = "tool_calls"

    return _change_answer(change)


def _calls(number: int) -> Callable[[Reply], Reply]:
    call = {"id": "1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    return _choice(message={"role": "assistant", "tool_calls": [call] * number})


def _choice(**parts: object) -> Callable[[Reply], Reply]:
    return _change_answer(lambda answer: answer["choices"][0].update(parts))


def _usage(value: float) -> Callable[[Reply], Reply]:
    numbers = ("prompt_tokens", "completion_tokens", "total_tokens")
    return _change_answer(lambda answer: answer.update(usage=dict.fromkeys(numbers, value)))


def _finish(reason: str) -> Callable[[Reply], Reply]:
    return _choice(finish_reason=reason, message={"role": "assistant", "content": None})


def _raw(content: bytes) -> Callable[[Reply], Reply]:
    return lambda reply: Reply(raw=content)


def _head(header: bytes, body: bytes = b"{}") -> Callable[[Reply], Reply]:
    kind = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    return _raw(kind + header + b"\r\n\r\n" + body)


def _text(old: str, new: str) -> Callable[[Reply], Reply]:
    return lambda reply: replace(reply, body=json.dumps(reply.body).replace(old, new, 1))


# As some networks answer everything until somebody signs in.
_HTML = "<!doctype html><html><body><h1>Sign in to the network</h1></body></html>"

_EVERY = (
    Fault("429", "rate limit", _status(429, "slow down", "rate_limit_exceeded", Retry_After="0")),
    # Longer than any call waits: a run must end, and say when to come back.
    Fault(
        "wait",
        "a rate limit for an hour",
        _status(429, "come back later", "rate_limit_exceeded", Retry_After="3600"),
    ),
    Fault("500", "server error", _status(500, "something broke")),
    Fault("503", "overloaded", _status(503, "overloaded")),
    Fault("413", "a proxy takes no request of this size", _status(413, "Payload Too Large")),
    Fault("401", "the key is refused", _status(401, "no such key", "invalid_api_key")),
    Fault("404", "no such model", _status(404, "the model does not exist", "model_not_found")),
    # The status of a rate limit, but waiting does not help.
    Fault("quota", "no credit left", _status(429, "You exceeded your quota", "insufficient_quota")),
    Fault(
        "overflow",
        "the conversation is too long",
        _status(400, "This model's maximum context length is 8192", "context_length_exceeded"),
    ),
    Fault("filter", "the answer is withheld by a content filter", _finish("content_filter")),
    Fault("drop", "hangs up without an answer", lambda reply: replace(reply, drop=True)),
    Fault("cut", "hangs up in the middle of the answer", _half),
    Fault("slow", "answers after some seconds", lambda reply: replace(reply, delay=SLOW_SECONDS)),
    # Each piece comes in time, and the answer does not.
    Fault("drip", "answers byte by byte", lambda reply: replace(reply, pause=0.1)),
    Fault("malformed", "an answer that is not JSON", _body('{"choices": [{"mess')),
    Fault("html", "a web page instead of an answer", _body(_HTML, Content_Type="text/html")),
    Fault("empty", "an empty body", _body("")),
    Fault("list", "a list instead of an object", _body([])),
    Fault(
        "no-choices", "an answer without a choice", _change_answer(lambda a: a.update(choices=[]))
    ),
    Fault("bytes", "random bytes", _body(bytes(range(128, 256)) * 4)),
    Fault("no-name", "a tool call without a name", _call(name="")),
    Fault("message", "a message that is a number", _choice(message=1.5)),
    Fault("number", "content that is a number", _choice(message={"content": 5})),
    Fault("no-content", "a message without content", _choice(message={"role": "assistant"})),
    Fault("no-calls", "ends because of tool calls, and has none", _finish("tool_calls")),
    Fault("list-arguments", "arguments that are a list", _call(arguments=[1])),
    Fault("many-calls", "10,000 tool calls", _calls(10_000)),
    Fault("calls", "999 tool calls", _calls(999)),
    Fault("number-ids", "tool-call ids that are numbers", _call(id=7)),
    # Below and above the depth at which Python's own parser gives up.
    Fault("deep", "arguments nested 900 deep", _call(arguments="[" * 900 + "]" * 900)),
    Fault("deeper", "arguments nested 100,000 deep", _call(arguments="[" * 100_000)),
    Fault("deep-answer", "an answer nested 100,000 deep", _body('{"choices":' * 100_000)),
    Fault("infinity", "usage with Infinity", _usage(float("inf"))),
    Fault("nan", "usage with NaN", _usage(float("nan"))),
    Fault("huge", "an answer of 50 MB", lambda reply: Reply(b" " * HUGE_BYTES)),
    # Small where bytes are counted as they arrive, and large in memory.
    Fault(
        "bomb",
        "50 MB, compressed to 50 kB",
        lambda reply: Reply(gzip.compress(b" " * HUGE_BYTES), headers={"Content-Encoding": "gzip"}),
    ),
    Fault(
        "redirect",
        "a redirect to another host",
        lambda reply: Reply("", 307, {"Location": "http://elsewhere.invalid/v1/chat/completions"}),
    ),
    Fault(
        "loop",
        "redirects in a circle",
        lambda reply: Reply("", 307, {"Location": "/v1/chat/completions"}),
    ),
)

_WIRE = (
    Fault("not-http", "an answer that is not HTTP", _raw(b"SSH-2.0-OpenSSH_9.0\r\n")),
    Fault("headers", "a header of 300 kB", _head(b"X-Long: " + b"x" * 300_000)),
    Fault("length", "fewer bytes than announced", _head(b"Content-Length: 99999")),
    Fault("no-length", "a length that is no number", _head(b"Content-Length: many")),
    Fault("chunk", "a chunked answer cut off", _head(b"Transfer-Encoding: chunked", b"50\r\n{")),
    Fault("304", "a status that is neither an answer nor a refusal", lambda reply: Reply("", 304)),
    Fault("not-gzip", "announced as gzip, and not gzip", _body("{}", Content_Encoding="gzip")),
    Fault("brotli", "an encoding that was not asked for", _body("{}", Content_Encoding="br")),
    Fault(
        "refusal-200",
        "a refusal with the status of a good answer",
        _body({"error": {"message": "overloaded", "code": 503}}),
    ),
    Fault(
        "digits", "a number of 5,000 digits", _text('"usage": ', f'"n": {"9" * 5000}, "usage": ')
    ),
    Fault("1e400", "usage of 1e400", _text('"prompt_tokens": ', '"prompt_tokens": 1e400, "x": ')),
    Fault("surrogate", "half a character", _text('"content": "', '"content": "\\ud800')),
    Fault("twice", "a key that is there twice", _text('{"id": ', '{"choices": [], "id": ')),
)

FAULTS: dict[str, Fault] = {fault.name: fault for fault in (*_EVERY, *_WIRE)}

GOOD = "good"
RATE = 0.3
TEXT = "All is well."


class ChaosServer(ProviderServer):
    """Answers some requests well and the others with one of ``faults``.

    Args:
        faults: What may go wrong, each as often as the others.
        seed: The same seed spoils the same requests, counted as they come in, in the same way.
        rate: The share of requests that are spoiled, from 0 to 1.
        text: What it says where it answers well.
    """

    def __init__(
        self,
        faults: Sequence[Fault],
        *,
        seed: int = 0,
        rate: float = RATE,
        text: str = TEXT,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        if not 0 <= rate <= 1:
            raise ConfigurationError(f"rate is {rate:g}; give a share from 0 to 1")
        super().__init__(host, port)
        self.played: Counter[str] = Counter()
        self._faults = list(faults)
        self._seed, self._rate, self._text = seed, rate, text
        self._numbers = count(1)

    @property
    def base_url(self) -> str:
        """The base URL to give to a client of OpenAI's protocol."""
        return f"{self.url}/v1"

    def reply_to(self, request: Request) -> Reply:
        fault = self._fault_of(next(self._numbers))
        reply = self._good_reply(request)
        self.played[fault.name if fault else GOOD] += 1
        return fault.spoil(reply) if fault else reply

    def _fault_of(self, number: int) -> Fault | None:
        # Drawn for each request by itself: with several clients their order is not certain.
        chance = random.Random(f"{self._seed}/{number}")
        if not self._faults or chance.random() >= self._rate:
            return None
        return chance.choice(self._faults)

    def _good_reply(self, request: Request) -> Reply:
        if request.method == "GET":
            model = {"id": "chaos", "object": "model", "created": 0, "owned_by": "maseval"}
            return Reply({"object": "list", "data": [model]})
        said = ChatResponse(self._text, usage=chat_usage(10, 5))
        return Reply(completion(said, str(request.body.get("model"))))
