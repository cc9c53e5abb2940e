"""The guard in front of every request: who may ask, and for what.

A page on this machine can be reached by every page that its reader has open elsewhere. So the name
of the host must be ours (a foreign name may be pointed at this machine), nothing is shared with
other origins, and nothing can be changed. A viewer that was started to be written to takes labels
and notes, from its own page only.
"""

import hmac
from collections.abc import Collection
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})

_COOKIE = "maseval_view"
_READING = frozenset({"GET", "HEAD"})
_WRITABLE = frozenset({"/api/label", "/api/notes"})
_HEADERS = {
    "content-security-policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Refuses what is not ours to answer, and marks every answer as not for others.

    Args:
        app: What answers.
        hosts: The names that a request may call us by; None for any, where a token protects.
        token: What a browser must bring along, first as ``?token=`` and then as a cookie.
        writes: Take what our own page sends to be kept.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Collection[str] | None = LOCAL_NAMES,
        token: str | None = None,
        writes: bool = False,
    ) -> None:
        self._app, self._hosts, self._token = app, hosts, token
        self._writes = writes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # nothing here speaks over a web socket
            await send({"type": "websocket.close", "code": 1008})
            return

        async def answer(message: Message) -> None:
            """Send it with the headers that keep it to our own page."""
            if message["type"] == "http.response.start":
                marked = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    marked.setdefault(name, value)
            await send(message)

        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers) or self._admission(scope, headers)
        await (refusal or self._app)(scope, receive, answer)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        # Of two names, this guard and the server behind it might each believe another.
        names = headers.getlist("host")
        if len(names) != 1 or not self._is_ours(names[0]):
            return _refuse(421, "this server answers under its own name only")
        if scope["method"] in _READING:
            return _foreign_reading(headers)
        if scope["method"] != "POST" or scope["path"] not in _WRITABLE:
            return _refuse(405, "the viewer only reads")
        if not self._writes:
            return _refuse(
                405, "the viewer only reads; `maseval view RUN --write` takes labels and notes"
            )
        return _foreign_writing(headers, names[0])

    def _is_ours(self, host: str) -> bool:
        name, colon, port = host.rpartition(":")
        if not colon or host.endswith("]"):
            name, port = host, ""
        if port and not (port.isascii() and port.isdecimal()):
            return False
        return bool(name) and (self._hosts is None or name.lower() in self._hosts)

    def _admission(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the answer to a client that has not shown the token, or None if it has."""
        if self._token is None or _equal(_cookie(headers), self._token):
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if scope["method"] == "GET" and _equal(dict(query).get("token", ""), self._token):
            return self._welcome(scope["path"], [pair for pair in query if pair[0] != "token"])
        return _refuse(401, "open the address with the token that the viewer printed")

    def _welcome(self, path: str, query: list[tuple[str, str]]) -> Response:
        """The same address without the token, which need not stay in the browser's history."""
        rest = f"?{urlencode(query)}" if query else ""
        # Two slashes at the start would name another host.
        answer = RedirectResponse(f"/{path.lstrip('/')}{rest}", status_code=303)
        answer.set_cookie(_COOKIE, self._token or "", httponly=True, samesite="strict")
        return answer


def _foreign_reading(headers: Headers) -> Response | None:
    """Another site may link to a page of ours, but not load anything into its own."""
    # A browser says so by itself, and no page can change it; programs need not.
    site = headers.get("sec-fetch-site", "none")
    if site in ("none", "same-origin") or headers.get("sec-fetch-mode") == "navigate":
        return None
    return _refuse(403, "other sites may not read this")


def _foreign_writing(headers: Headers, host: str) -> Response | None:
    """A browser names the origin of whatever it sends; no form can send JSON."""
    origin = headers.get("origin", "").rpartition("://")[2]
    if origin != host or headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return _refuse(403, "only this viewer's own page may write")
    if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return _refuse(415, "send JSON")
    return None


def _cookie(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(_COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def _equal(given: str, token: str) -> bool:
    # It takes equally long however much of the token was guessed.
    return hmac.compare_digest(given.encode(), token.encode())


def _refuse(status: int, words: str) -> Response:
    return JSONResponse({"error": words}, status_code=status)
