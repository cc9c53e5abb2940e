"""Secrets of a client and of this machine, which must not get onto a tape."""

import os
import re
from collections.abc import Iterator, Mapping

from maseval.core.storage.redaction import REDACTED, Secrets, is_secret, redact_text

PLACEHOLDER = "no-key-needed"
"""For clients that require a key."""

_NO_KEYS = frozenset(
    {PLACEHOLDER, "empty", "none", "dummy", "replay", "not-needed", "sk-no-key-required"}
)
_WORD = re.compile(r"[\w-]{15,}")
_TELLING_HEADERS = frozenset({"authorization", "api-key", "x-api-key"})


def client_key(headers: Mapping[str, str]) -> str | None:
    """Return the key that a client sent, unless it is a placeholder."""
    for name, value in headers.items():
        if name.lower() in _TELLING_HEADERS:
            key = value.removeprefix("Bearer ").removeprefix("bearer ").strip()
            if key and key.lower() not in _NO_KEYS:
                return key
    return None


def exchange_secrets(
    *keys: str | None,
    headers: Mapping[str, str] | None = None,
    request: Mapping[str, object] | None = None,
    answer: Mapping[str, object] | None = None,
) -> Secrets:
    """Collect keys of this machine and of a request, and words that look like keys.

    In an answer, which is to be played as it was, a ``token`` may be a word: there only values
    count that are known to be secret or have the form of a well-known kind of key.
    """
    sent = [word for value in _secret_values(headers or {}) for word in (value, *value.split())]
    own = [*_secret_values(os.environ), *_secret_values(request or {})]
    found = {*filter(None, keys), *sent, *own}
    known = {value for value in found if value.lower() not in _NO_KEYS}
    return Secrets({*known, *_key_like_words(request), *_key_like_words(answer)})


def _secret_values(options: Mapping[str, object]) -> Iterator[str]:
    """Yield texts that stand under a name which says that they are secret."""
    for key, value in options.items():
        if isinstance(value, str) and is_secret(str(key), value):
            yield value
        elif isinstance(value, Mapping) and key not in ("tools", "response_format"):
            yield from _secret_values(value)


def _key_like_words(value: object) -> Iterator[str]:
    """Yield words anywhere in ``value`` that have the form of a key."""
    match value:
        case str():
            yield from (word for word in _WORD.findall(value) if redact_text(word) == REDACTED)
        case Mapping():
            for item in value.values():
                yield from _key_like_words(item)
        case list():
            for item in value:
                yield from _key_like_words(item)
