"""Secrets: what a client and this machine know and a tape must not."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from maseval.core.storage.redaction import REDACTED, redact, redact_text, with_texts

PLACEHOLDER = "no-key-needed"
"""What to give to clients that insist on a key."""

_NO_KEYS = frozenset(
    {PLACEHOLDER, "empty", "none", "dummy", "replay", "not-needed", "sk-no-key-required"}
)
# Anything shorter is found by chance in innocent texts.
_SHORTEST = 8
_WORD = re.compile(r"[\w-]{15,}")
_TELLING_HEADERS = frozenset({"authorization", "api-key", "x-api-key"})


def key_in(headers: Mapping[str, str]) -> str | None:
    """The key that a client sent, unless it only fills the place of one."""
    for name, value in headers.items():
        if name.lower() in _TELLING_HEADERS:
            key = value.removeprefix("Bearer ").removeprefix("bearer ").strip()
            if key and key.lower() not in _NO_KEYS:
                return key
    return None


class Secrets:
    """What must not get onto a tape: keys of this machine, those of a request, and what looks so.

    In a request, which is only compared, whatever stands under a telling name goes as well. In an
    answer, which is to be played as it was, a ``token`` may be a word: there only values go that
    are known to be secret or have the form of a well-known kind of key.
    """

    def __init__(
        self,
        *keys: str | None,
        headers: Mapping[str, str] | None = None,
        request: Mapping[str, Any] | None = None,
        answer: Mapping[str, Any] | None = None,
    ) -> None:
        sent = [word for value in _named(headers or {}) for word in (value, *value.split())]
        found = {*filter(None, keys), *sent, *_named(os.environ), *_named(request or {})}
        plain = {one for one in found if len(one) >= _SHORTEST and one.lower() not in _NO_KEYS}
        plain |= {*_formed(request), *_formed(answer)}
        # Within the arguments of a tool call a key is spelled as JSON spells it.
        self._values = sorted({*plain, *(json.dumps(one)[1:-1] for one in plain)}, key=_rank)

    def cut_from_request(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """A copy for the tape, with ``<redacted>`` where a secret was."""
        return self.cut_from(redact(request))

    def cut_from(self, record: dict[str, Any]) -> dict[str, Any]:
        """A copy with ``<redacted>`` for every value that is secret."""
        clean: dict[str, Any] = with_texts(record, self.text)
        return clean

    def text(self, text: str) -> str:
        """The text without secrets."""
        for secret in self._values:
            text = text.replace(secret, REDACTED)
        return text


def _rank(value: str) -> tuple[int, str]:
    # Longest first: one secret may contain another.
    return -len(value), value


def _named(options: Mapping[str, Any]) -> Iterator[str]:
    """Texts that stand under a name which says that they are secret."""
    for key, value in options.items():
        if isinstance(value, str) and redact({key: value})[str(key)] == REDACTED:
            yield value
        elif isinstance(value, Mapping) and key not in ("tools", "response_format"):
            yield from _named(value)


def _formed(value: object) -> Iterator[str]:
    """Words anywhere in ``value`` that have the form of a key."""
    match value:
        case str():
            yield from (word for word in _WORD.findall(value) if redact_text(word) == REDACTED)
        case Mapping():
            for item in value.values():
                yield from _formed(item)
        case list():
            for item in value:
                yield from _formed(item)
