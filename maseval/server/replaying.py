"""ReplayServer: plays recorded answers and, with a provider behind it, records new ones.

The answers lie in a folder, an ``AnswerCache``, by a hash of the request that they answer. Requests
themselves are not stored, so that a miss cannot say what would have matched.

Two requests are the same if no model could tell them apart. A request is reduced to what can change
its answer: ignored are delivery options, billing and user fields, keys, and everything that is
``None``. The ids of tool calls are numbered by position, since some frameworks invent new ones.
"""

import json
import os
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Mapping
from email.message import Message
from http import HTTPStatus
from http.client import HTTPException
from itertools import count
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from maseval.core.answer_cache import answer_cache
from maseval.core.exceptions import ConfigurationError
from maseval.core.model import MAX_ANSWER_MB
from maseval.core.providers import check_base_url
from maseval.core.storage import strict_json
from maseval.core.storage.redaction import REDACTED, Secrets, environment_secrets, redact
from maseval.server.completion import Completion, Refusal, RequestBody, stream_events
from maseval.server.http import CHAT, LOCAL, LOCAL_NAMES, ChatServer

NOT_RECORDED = "not_recorded"
# Not one of those after which clients retry: 408, 409, 429, and all from 500 on.
_REFUSED = 422

RequestOutcome = Literal["played", "recorded", "missed", "refused"]


class Served(NamedTuple):
    """The outcome of one request; ``words`` say why it was not played or recorded."""

    outcome: RequestOutcome
    model: str
    messages: int
    words: str = ""


OnRequest = Callable[[Served], object]


class ReplayServer(ChatServer):
    """Plays answers by content: the same request gets the answer that was recorded for it.

    A request that was recorded several times gets its answers in turn, and then the first one
    again; equal requests made at the same time share this order. One that was not recorded is
    refused.

    Args:
        folder: The folder of the answers; with ``record`` it is created if it does not exist.
        record: Ask ``upstream`` what was not recorded yet, and record it. A request is then played
            as often as there are answers, and asked anew after that.
        upstream: The base URL of the provider to record.
        upstream_key: The key for it, instead of those that clients send.
        host: Where to listen.
        port: On which port; 0 is any that is free.
        on_request: Called for every request, by the thread that answers it.
    """

    # Answers in progress have been paid for: they are still recorded.
    patience = 120.0

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        record: bool = False,
        upstream: str | None = None,
        upstream_key: str | None = None,
        host: str = LOCAL,
        port: int = 0,
        on_request: OnRequest | None = None,
    ) -> None:
        if record is not (upstream is not None):
            raise ConfigurationError(
                "an upstream is only used for recording; give both or neither of "
                "record (--record) and upstream (--upstream https://api.openai.com/v1)"
            )
        self._upstream = Upstream(upstream, upstream_key) if upstream is not None else None
        self.cache = answer_cache(folder)
        there = self.cache.folder
        if there.exists() and not there.is_dir():
            raise ConfigurationError(f"{folder} is not a folder; answers are recorded in a folder")
        if not record and not there.is_dir():
            raise ConfigurationError(
                f"there are no recorded answers in {os.fspath(folder)!r}; record some with "
                "--record --upstream URL"
            )
        self._on_request = on_request
        self._lock = threading.Lock()
        self._outcomes: Counter[str] = Counter()
        self._asked: Counter[str] = Counter()
        self._played: set[str] = set()
        self._models: dict[str, None] = {}
        self.under_way = 0
        """The number of requests that the upstream has not answered yet."""
        super().__init__(self._answer, lambda: list(self._models), host=host, port=port)
        address = urlsplit(upstream or "")
        # It would ask itself for ever.
        if address.port == self.server_port and address.hostname in {host, *LOCAL_NAMES}:
            self.server_close()
            raise ConfigurationError(
                f"the upstream is this server itself ({self.url}); give the provider's address, "
                "such as https://api.openai.com/v1"
            )

    @property
    def played(self) -> int:
        """The number of answers that were there before."""
        return self._outcomes["played"]

    @property
    def recorded(self) -> int:
        return self._outcomes["recorded"]

    @property
    def misses(self) -> int:
        """The number of requests to which there was no answer."""
        return self._outcomes["missed"]

    @property
    def unused(self) -> list[str]:
        """The names of the files, without ``.json``, that were not requested."""
        return sorted(self.cache.entries() - self._played)

    def _answer(self, request: RequestBody, headers: Mapping[str, str]) -> Completion:
        try:
            outcome, answer, words = self._play(request, headers)
        except Refusal as refusal:
            missed = refusal.code == NOT_RECORDED
            self._note(request, "missed" if missed else "refused", refusal.text)
            raise
        self._note(request, outcome, words)
        return answer

    def _note(self, request: RequestBody, outcome: RequestOutcome, words: str) -> None:
        with self._lock:
            self._outcomes[outcome] += 1
        if self._on_request is not None:
            self._on_request(
                Served(outcome, str(request.get("model")), len(request["messages"]), words)
            )

    def _play(
        self, request: RequestBody, headers: Mapping[str, str]
    ) -> tuple[RequestOutcome, Completion, str]:
        """Return what became of a request, its answer, and why it was not recorded."""
        self._models[str(request.get("model"))] = None
        key = self.cache.key({"chat_completions": canonical(request)})
        if key is None:
            raise Refusal("the request has a number that JSON does not have, such as NaN")
        answer = self._next(key)
        if answer is not None:
            return "played", answer, ""
        if self._upstream is None:
            raise Refusal(
                "no answer to this request was recorded; record it: maseval replay-server "
                f"{self.cache.folder.name} --record --upstream URL",
                status=_REFUSED,
                code=NOT_RECORDED,
            )
        with self._lock:
            self.under_way += 1
        try:
            answer = self._upstream.ask(request, headers)
        finally:
            with self._lock:
                self.under_way -= 1
        if not answer.get("choices"):
            # As good as an error: clients retry, and the next answer is worth keeping.
            return "refused", answer, "not recorded: the answer has no choices"
        if not self._store(key, answer, self._upstream.keys(headers)):
            return "refused", answer, "not recorded: the answer contains a key, or is not JSON"
        return "recorded", answer, ""

    def _next(self, key: str) -> Completion | None:
        """Return the next recorded answer to a request; when all were played, the first again."""
        with self._lock:
            following = self._asked[key] + 1
            # In turn, as whoever asked twice was given two answers when they were recorded.
            for time in (following,) if self._upstream else (following, 1):
                entry = self.cache.entry(key, time)
                answer = self.cache.load(entry)
                if answer is not None:
                    self._asked[key] = time
                    self._played.add(entry)
                    return answer
        return None

    def _store(self, key: str, answer: Completion, secrets: tuple[str | None, ...]) -> bool:
        with self._lock:
            entry = self.cache.entry(key, self._asked[key] + 1)
            try:
                stored = self.cache.store(entry, answer, secrets)
            except OSError as error:
                # Not 500: a retry would be paid for again.
                raise Refusal(f"the answer cannot be recorded: {error}", status=_REFUSED) from error
            if stored:
                self._asked[key] += 1
                self._played.add(entry)
            return stored


Canonical = dict[str, Any]
"""A request as it is compared: without what cannot change its answer, spelled one way."""

_CanonicalMessage = dict[str, object]

# Options of delivery, and what is kept for bills and statistics.
_WITHOUT_EFFECT = frozenset(
    {"stream", "stream_options", "timeout", "service_tier", "user", "metadata", "store"}
    | {"safety_identifier", "prompt_cache_key", "prompt_cache", "prompt_cache_retention"}
    | {"extra_headers"}
)
# Within a JSON schema a null is a value: a default, a constant.
_SCHEMAS = frozenset({"parameters", "schema"})
_LARGEST_EXACT = 2**53


def canonical(request: Mapping[str, object]) -> Canonical:
    """Return the request in a canonical form, so that equal requests compare equal."""
    plain: Canonical = {
        key: _plain(value, in_schema=key in _SCHEMAS)
        for key, value in request.items()
        if _matters(key, value)
    }
    plain["messages"] = _number_calls([_message(message) for message in plain.get("messages", [])])
    return plain


def _matters(key: str, value: object) -> bool:
    if key in _WITHOUT_EFFECT or value is None or value == []:
        return False
    return bool(redact({key: value})[key] != REDACTED)


def _plain(value: object, *, in_schema: bool = False) -> object:
    match value:
        case Mapping():
            return {
                str(key): _plain(item, in_schema=in_schema or key in _SCHEMAS)
                for key, item in value.items()
                if in_schema or item is not None
            }
        case list():
            return [_plain(item, in_schema=in_schema) for item in value]
        case float() if value.is_integer() and abs(value) < _LARGEST_EXACT:
            return int(value)
        case _:
            return value


def _message(message: _CanonicalMessage) -> _CanonicalMessage:
    if message.get("tool_calls") == []:
        message = {key: part for key, part in message.items() if key != "tool_calls"}
    match message.get("content"):
        case [{"type": "text", "text": str(text), **more}] if not more:
            return {**message, "content": text}
    return message


def _number_calls(messages: list[_CanonicalMessage]) -> list[_CanonicalMessage]:
    """Name calls by position, and results after their calls.

    An id that is used twice refers to its latest call.
    """
    names: dict[str, str] = {}
    numbers = count(1)

    def name_of(call_id: object) -> str:
        names[json.dumps(call_id)] = name = f"call_{next(numbers)}"
        return name

    numbered = []
    for message in messages:
        message = dict(message)
        if isinstance(calls := message.get("tool_calls"), list):
            message["tool_calls"] = [
                {**call, "id": name_of(call.get("id"))} if isinstance(call, dict) else call
                for call in calls
            ]
        if (answered := message.get("tool_call_id")) is not None:
            message["tool_call_id"] = names.get(json.dumps(answered)) or name_of(answered)
        numbered.append(message)
    return numbered


_TELLING_HEADERS = frozenset({"authorization", "api-key", "x-api-key"})
# What is shorter is no key, but what clients send that need none: "none", "dummy".
_SHORTEST_KEY = 12
_TIMEOUT = 600.0
_MOST = int(MAX_ANSWER_MB * 1e6)
_PASSED_ON = frozenset(
    {"openai-organization", "openai-project", "openai-beta", "http-referer"}
    | {"x-title", "user-agent"}
)
# Headers that a client acts on, or quotes to the provider's support.
_PASSED_BACK = ("retry-after", "retry-after-ms", "x-should-retry", "x-request-id")


class Upstream:
    """Forwards requests to a provider, with ``key`` or, if there is none, with the client's.

    The answer comes whole, even if the client wants it streamed.
    """

    def __init__(self, url: str, key: str | None = None) -> None:
        self.key = key
        check_base_url(url, "the upstream")
        if urlsplit(url).username is not None:
            raise ConfigurationError(
                "the upstream's URL contains a password; pass the key in an environment variable"
            )
        base = url.rstrip("/")
        self._url = base if base.endswith(CHAT) else base + CHAT
        near = urlsplit(url).hostname in LOCAL_NAMES
        proxies = urllib.request.ProxyHandler({} if near else None)
        self._opener = urllib.request.build_opener(proxies, _NoRedirects())

    def keys(self, headers: Mapping[str, str]) -> tuple[str | None, ...]:
        """Return the keys that an exchange may contain: the server's and the client's."""
        sent = [value for name, value in headers.items() if name.lower() in _TELLING_HEADERS]
        keys = [value.removeprefix("Bearer ").removeprefix("bearer ").strip() for value in sent]
        return self.key, *(key for key in keys if len(key) >= _SHORTEST_KEY)

    def ask(self, request: RequestBody, headers: Mapping[str, str]) -> Completion:
        """Return the provider's answer; its errors become refusals with the same text."""
        body = {k: v for k, v in request.items() if k not in ("stream", "stream_options")}
        question = urllib.request.Request(
            self._url, json.dumps(body).encode(), self._headers(headers), method="POST"
        )
        try:
            with self._opener.open(question, timeout=_TIMEOUT) as response:
                # One byte beyond the limit shows that there is more.
                return _parse_answer(response.read(_MOST + 1))
        except urllib.error.HTTPError as error:
            with error:
                known = {*filter(None, self.keys(headers)), *environment_secrets()}
                content = error.read(_MOST)
                raise _refusal(error.code, error.headers, content, Secrets(known)) from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise _unreachable("did not answer in time", HTTPStatus.GATEWAY_TIMEOUT) from None
            raise _unreachable(f"cannot be reached ({reason})") from None

    def _headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        passed_on = _PASSED_ON if self.key else _PASSED_ON | {"authorization", "api-key"}
        sent = {name: value for name, value in headers.items() if name.lower() in passed_on}
        if self.key:
            sent["Authorization"] = f"Bearer {self.key}"
        return {**sent, "Content-Type": "application/json", "Accept": "application/json"}


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A key is only sent to the address it was given for."""

    def redirect_request(self, *args: object, **options: object) -> None:
        return None


def _parse_answer(content: bytes) -> Completion:
    if len(content) > _MOST:
        raise _unreachable(f"sent an answer of more than {MAX_ANSWER_MB:g} MB")
    try:
        answer = strict_json.loads(content)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise _unreachable("sent an answer that is not a JSON object")
    try:
        list(stream_events(answer, with_usage=True))
    except (TypeError, AttributeError):
        raise _unreachable("sent an answer that is not a chat completion") from None
    return answer


def _refusal(status: int, headers: Message, content: bytes, secrets: Secrets) -> Refusal:
    text = secrets.removed_from_text(content.decode("utf-8", "replace"))
    try:
        body = strict_json.loads(text)
    except ValueError:
        body = None
    kept = {name: headers[name] for name in _PASSED_BACK if headers[name] is not None}
    return Refusal(
        text or f"the upstream answered with status {status}",
        status=status if status >= HTTPStatus.BAD_REQUEST else HTTPStatus.BAD_GATEWAY,
        code="upstream_error",
        headers=kept,
        body=body if isinstance(body, dict) else None,
    )


def _unreachable(words: str, status: int = HTTPStatus.BAD_GATEWAY) -> Refusal:
    return Refusal(f"the upstream {words}", status=status, code="upstream_unreachable")
