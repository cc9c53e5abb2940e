"""Upstream: the real provider behind a server that records."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.message import Message
from http import HTTPStatus
from http.client import HTTPException
from urllib.parse import SplitResult, urlsplit

from maseval.core.exceptions import ConfigurationError
from maseval.core.model import MAX_ANSWER_MB
from maseval.core.storage import strict_json
from maseval.core.storage.redaction import Secrets, environment_secrets
from maseval.server.completion import Completion, Refusal, RequestBody
from maseval.server.http import LOCAL_NAMES

PLACEHOLDER = "no-key-needed"
"""For clients that require a key."""

_NO_KEYS = frozenset(
    {PLACEHOLDER, "empty", "none", "dummy", "replay", "not-needed", "sk-no-key-required"}
)
_TELLING_HEADERS = frozenset({"authorization", "api-key", "x-api-key"})


def client_key(headers: Mapping[str, str]) -> str | None:
    """Return the key that a client sent, unless it is a placeholder."""
    for name, value in headers.items():
        if name.lower() in _TELLING_HEADERS:
            key = value.removeprefix("Bearer ").removeprefix("bearer ").strip()
            if key and key.lower() not in _NO_KEYS:
                return key
    return None


_CHAT = "/chat/completions"
_TIMEOUT = 600.0
_MOST = int(MAX_ANSWER_MB * 1e6)
_PASSED_ON = frozenset(
    {*("api-key", "openai-organization", "openai-project", "openai-beta"), "http-referer"}
    | {"x-title", "user-agent"}
)
# Headers that a client acts on, or quotes to the provider's support.
_PASSED_BACK = ("retry-after", "retry-after-ms", "x-should-retry", "x-request-id")


class Upstream:
    """Forwards requests to a provider, with the client's key or, if it sent none, with ``key``.

    The answer comes whole, even if the client wants it streamed.
    """

    def __init__(self, url: str, key: str | None = None) -> None:
        self.key = key
        self._address = _parts(url)
        path = self._address.path.rstrip("/")
        path = path if path.endswith(_CHAT) else path + _CHAT
        self._url = self._address._replace(path=path).geturl()
        near = self._address.hostname in LOCAL_NAMES
        proxies = urllib.request.ProxyHandler({} if near else None)
        self._opener = urllib.request.build_opener(proxies, _NoRedirects())

    def keys(self, headers: Mapping[str, str]) -> tuple[str | None, str | None]:
        """Return the keys that an exchange may contain: the server's and the client's."""
        return self.key, client_key(headers)

    def is_at(self, port: int, host: str) -> bool:
        """Return True if a server on this machine at that address is the upstream."""
        name = self._address.hostname
        here = name == host or (name in LOCAL_NAMES and host in LOCAL_NAMES)
        return here and self._address.port == port

    def ask(self, request: RequestBody, headers: Mapping[str, str]) -> Completion:
        """Return the provider's answer; its errors become refusals with the same text."""
        body = {k: v for k, v in request.items() if k not in ("stream", "stream_options")}
        question = urllib.request.Request(
            self._url, json.dumps(body).encode(), self._headers(headers), method="POST"
        )
        try:
            with self._opener.open(question, timeout=_TIMEOUT) as response:
                return _answer(response.read(_MOST + 1))
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
        sent = {name: value for name, value in headers.items() if name.lower() in _PASSED_ON}
        key = client_key(headers)
        if key is None and self.key is not None:
            sent = {name: value for name, value in sent.items() if name.lower() != "api-key"}
            sent["Authorization"] = f"Bearer {self.key}"
        else:
            sent |= {n: v for n, v in headers.items() if n.lower() == "authorization"}
        return {**sent, "Content-Type": "application/json", "Accept": "application/json"}


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A key is only sent to the address it was given for."""

    def redirect_request(self, *args: object, **options: object) -> None:
        return None


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError(
            f"the upstream {url!r} is not a valid URL; give one like https://api.openai.com/v1"
        )
    if parts.username is not None:
        raise ConfigurationError(
            "the upstream's URL contains a password; pass the key in an environment variable"
        )
    return parts


def _answer(content: bytes) -> Completion:
    if len(content) > _MOST:
        raise _unreachable(f"sent an answer of more than {MAX_ANSWER_MB:g} MB")
    try:
        answer = strict_json.loads(content)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise _unreachable("sent an answer that is not a JSON object")
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
