"""The secrets that a run was given, kept out of everything it writes.

A provider may quote a key in an error, and an agent may repeat an address. Rules for what looks
like a secret would mutilate conversations; so what is removed are the very values that the run's
configuration and the environment variables hold under a name that says so.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from maseval.core.storage import strict_json
from maseval.core.storage.redaction import REDACTED, redact, redact_text, with_texts

# Anything shorter is found by chance in innocent texts.
_SHORTEST = 8


class Secrets:
    """Values that must not be written; collected when the run begins."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        found = {*_secrets_in(config), *_secrets_in(os.environ)}
        # Longest first: one secret may contain another.
        self._values = sorted((one for one in found if len(one) >= _SHORTEST), key=_rank)
        self._escaped = [json.dumps(value)[1:-1] for value in self._values]

    def removed_from(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        """``record`` itself if it holds no secret, else a copy with ``<redacted>`` instead."""
        if not self._values:
            return record
        text = strict_json.dumps(record)
        if not any(value in text for value in self._escaped):
            return record
        clean: dict[str, Any] = with_texts(json.loads(text), self._cut_from)
        return clean

    def _cut_from(self, text: str) -> str:
        for secret in self._values:
            text = text.replace(secret, REDACTED)
        return text


def _rank(value: str) -> tuple[int, str]:
    return -len(value), value


def _secrets_in(options: Mapping[str, Any]) -> Iterator[str]:
    for key, value in options.items():
        if redact({key: value})[str(key)] == REDACTED:
            yield from _texts(value)
        else:
            yield from _secrets_within(value)


def _secrets_within(value: object) -> Iterator[str]:
    match value:
        case str():
            yield from _cut_out(value)
        case Mapping():
            yield from _secrets_in(value)
        case list() | tuple():
            for item in value:
                yield from _secrets_within(item)


def _texts(value: object) -> Iterator[str]:
    match value:
        case Mapping():
            for item in value.values():
                yield from _texts(item)
        case list() | tuple():
            for item in value:
                yield from _texts(item)
        case _:
            yield str(value)


def _cut_out(text: str) -> Iterator[str]:
    """What ``redact_text`` takes out of a text; of ``user:password`` also the password."""
    around = redact_text(text).split(REDACTED)
    if len(around) == 1:
        return
    found = re.fullmatch("(.+?)".join(map(re.escape, around)), text, re.DOTALL)
    for secret in found.groups() if found else ():
        yield secret
        yield secret.rpartition(":")[2]
