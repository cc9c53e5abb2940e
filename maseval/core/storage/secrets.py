"""Known secrets, kept out of everything that is written.

A provider may quote a key in an error, and an agent may repeat an address. Rules for what looks
like a secret would mutilate conversations; so what is removed are the very values that a
configuration and the environment variables hold under a name that says so.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from maseval.core.storage import strict_json
from maseval.core.storage.redaction import REDACTED, redact, redact_text

# Anything shorter is found by chance in innocent texts.
_SHORTEST = 8


class Secrets:
    """Values that must not be written."""

    def __init__(self, values: Iterable[str]) -> None:
        known = {value for value in values if len(value) >= _SHORTEST}
        # Within the arguments of a tool call a key is spelled as JSON spells it.
        spellings = {*known, *map(_escaped, known)}
        # Longest first: one secret may contain another.
        self._values = sorted(spellings, key=lambda value: (-len(value), value))
        self._written = list(map(_escaped, self._values))

    @property
    def spellings(self) -> list[str]:
        """The values as they may stand in a text, also within JSON in that text."""
        return list(self._values)

    @classmethod
    def of(cls, config: Mapping[str, object]) -> "Secrets":
        """Those of a configuration and of the environment variables."""
        return cls({*_secrets_in(config), *_secrets_in(os.environ)})

    def removed_from(self, record: Mapping[str, object]) -> Mapping[str, object]:
        """``record`` itself if it holds no secret, else a copy with ``<redacted>`` instead."""
        if not self._values:
            return record
        text = strict_json.dumps(record)
        if not self.occur_in(text):
            return record
        return {
            self.removed_from_text(key): _with_texts(item, self.removed_from_text)
            for key, item in json.loads(text).items()
        }

    def occur_in(self, text: str) -> bool:
        """Whether JSON text holds any of them."""
        return any(value in text for value in self._written)

    def removed_from_text(self, text: str) -> str:
        """The text with ``<redacted>`` for every secret."""
        for secret in self._values:
            text = text.replace(secret, REDACTED)
        return text


def is_secret(name: str, value: object) -> bool:
    """Whether ``name`` says that ``value`` is a secret."""
    return bool(redact({name: value})[name] == REDACTED)


def _escaped(value: str) -> str:
    return json.dumps(value)[1:-1]


def _with_texts(value: object, change: Callable[[str], str]) -> object:
    match value:
        case str():
            return change(value)
        case dict():
            return {change(key): _with_texts(item, change) for key, item in value.items()}
        case list():
            return [_with_texts(item, change) for item in value]
        case _:
            return value


def _secrets_in(options: Mapping[str, object]) -> Iterator[str]:
    for key, value in options.items():
        if is_secret(str(key), value):
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
