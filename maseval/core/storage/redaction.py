"""Keys, tokens and passwords are kept out of everything that is written.

``redact`` and ``redact_text`` go by names and well-known formats. Of an address only what names a
server is kept: keys stand in any other part of it. That is not enough for what a provider or an
agent may quote; so ``Secrets`` removes the very values that a configuration and the
environment variables hold under a name that says so. But conversations are made of words, and a
record in which one of them is replaced can never be scored again: ``MY_TOKEN=assistant`` is no
secret. So a key that was given to a model counts unless it is a plain name, as those of roles,
tools and their arguments are; of other variables, only what looks like a secret counts.
"""

import hashlib
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from maseval.core.storage import strict_json

REDACTED = "<redacted>"

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRET_WORD = re.compile(
    r".*(key|keys|secret|secrets|password|passwords|passwd|passphrase|credential|credentials|auth)"
    r"|authorization|authentication|bearer|cookie|cookies|pwd|passcode|pin|otp|totp|pat|jwt|sas"
    r"|sig|signature|signatures|hmac"
)
_CONNECTION = re.compile(r"(?i)conn(ection)?[_-]?str(ing)?")
# Often an innocent name; what stands under these is a secret if it looks like one.
_SESSION_WORD = re.compile(r".*session(id)?|.*sessid|sid|st")
# A shell's names for the folder it is in.
_FOLDERS = frozenset({"PWD", "OLDPWD"})
# "token" means a credential or a piece of text: these neighbours make it the latter.
_TEXT_TOKEN_WORDS = frozenset({"stop", "eos", "bos", "pad", "unk", "max", "min"})

_USERINFO = re.compile(r"(?<=://)[^/\s?#]+@")  # up to the last @: a password may hold one
_ADDRESS = re.compile(r"[A-Za-z][\w+.-]{0,20}://\S+")
_AFTER_SCHEME = re.compile(r"://[^\s\"'<>]*")
_QUERY = re.compile(r"[?#]")
_VERSION = re.compile(r"v\d\w{0,15}(\.\d{1,5}){0,3}")
_WORD_OF_PATH = re.compile(r"[a-z]{0,12}")
_WITH_HOSTS = frozenset({"http", "https", "ws", "wss", "grpc", "grpcs"})
_QUERY_VALUE = re.compile(r"(^|[?&;,\s])([\w.%-]{1,80})=([^&;\s\"'<>]+)")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+([\w.~+/=-]{8,})")
_KEY_PREFIXES = (
    r"[spr]k[-_]|AIza|hf_|gsk_|xai-|gh[oprsu]_|github_pat_|glpat-|xox[a-z]-|npm_|pypi-|dop_v1_|SG\."
)
_KNOWN_KEY = re.compile(
    rf"\b({_KEY_PREFIXES})[\w.-]{{12,}}|\b(AKIA|ASIA)[A-Z0-9]{{16}}\b"
    r"|(?<![\w.-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"  # a JWT
    r"|-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----[^-]{0,20000}(-----END [A-Z ]{0,20}PRIVATE KEY-----)?"
)


def redact(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of ``options`` that is safe to store.

    Values whose key names a secret (``api_key``, ``Authorization``, ``access_token``) become
    ``<redacted>``, at any depth; addresses are cut as in :func:`redact_address`, secrets inside
    texts as in :func:`redact_text`. Counts such as ``max_tokens`` stay. What is nested too deeply
    is cut.
    """
    return _redact(options, strict_json.MAX_DEPTH)


def _redact(options: Mapping[str, Any], depth: int) -> dict[str, Any]:
    clean = {
        str(key): REDACTED if is_secret(str(key), value) else _clean(value, depth - 1)
        for key, value in options.items()
    }
    # A tool's arguments have the names of its benchmark: the PIN of a card is content.
    if "name" in options and isinstance(called := options.get("arguments"), Mapping) and depth > 1:
        clean["arguments"] = {str(key): _clean(value, depth - 2) for key, value in called.items()}
    return clean


def redact_text(text: str) -> str:
    """``text`` without user, query and fragment of addresses, and well-known key formats."""
    text = _USERINFO.sub("", text)
    return cut_known_secrets(_AFTER_SCHEME.sub(lambda found: _QUERY.split(found[0])[0], text))


def cut_known_secrets(text: str) -> str:
    """``text`` without passwords, keys by their name in a query, and well-known key formats."""
    return _cut_secrets(text, lambda secret: None)


def redact_address(address: str) -> str:
    """Return an address without user, query and fragment, and its path up to the version.

    Of a path without a version plain words are kept. A hash of what is left out of the path tells
    two addresses apart.
    """
    try:
        scheme, authority, path, _, _ = urlsplit(address)
    except ValueError:
        return REDACTED
    if scheme.lower() in _WITH_HOSTS:
        path = "/".join(_kept_path(path.split("/")))
    return f"{scheme}://{authority.rpartition('@')[2]}{path}"


def _kept_path(segments: Sequence[str]) -> Iterator[str]:
    for number, segment in enumerate(segments):
        if _VERSION.fullmatch(segment):
            yield segment
            if rest := "/".join(segments[number + 1 :]).strip("/"):
                yield _hashed(rest)
            return
        yield segment if _WORD_OF_PATH.fullmatch(segment) else _hashed(segment)


def _hashed(text: str) -> str:
    return f"{REDACTED}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def redact_value(text: str) -> str:
    """Return a text, or an address, that is safe to store."""
    return redact_address(text) if _ADDRESS.fullmatch(text) else redact_text(text)


def _cut_secrets(text: str, note: Callable[[str], object]) -> str:
    """Return a text without its secrets, each of which is noted."""

    def cut(secret: str, before: str = "", after: str = "") -> str:
        note(secret)
        return f"{before}{REDACTED}{after}"

    def query_value(found: re.Match[str]) -> str:
        separator, key, value = found.groups()
        # Elsewhere than in an address or a connection string it may be a sentence about a key.
        is_apart = separator in ("?", "&", ";") or _is_random(value)
        secret = is_apart and is_secret(unquote(key), value)
        return cut(value, f"{separator}{key}=") if secret else found[0]

    text = _USERINFO.sub(lambda found: cut(found[0][:-1], after="@"), text)
    text = _QUERY_VALUE.sub(query_value, text)
    text = _BEARER.sub(lambda found: cut(found[2], f"{found[1]} "), text)
    return _KNOWN_KEY.sub(lambda found: cut(found[0]), text)


def redact_command(words: Sequence[str]) -> str:
    """Return a command line that is safe to store, quoted so that a shell reads it the same way.

    Cut out are the values of options and of ``key=value`` whose name says that they are secrets,
    those within a JSON object, and what :func:`redact_text` finds.
    """
    return shlex.join(_clean_words(words))


def _clean_words(words: Sequence[str]) -> Iterator[str]:
    option = ""
    for word in words:
        name, equals, value = word.partition("=")
        if option:
            yield _clean_value(option, word)
        elif word.startswith("--") and equals:
            yield f"{name}={_clean_value(name, value)}"
        else:
            yield _clean_word(word)
        option = word if word.startswith("--") and not equals else ""


def _clean_value(name: str, value: str) -> str:
    return REDACTED if is_secret(name, value) else _clean_word(value)


def _clean_word(word: str) -> str:
    if word.lstrip().startswith("{"):
        try:
            return json.dumps(redact(strict_json.loads(word)), ensure_ascii=False)
        except ValueError:
            return REDACTED  # whatever it was to be, it may hold a key
    word = _USERINFO.sub("", word)  # a password may have a comma
    if "=" not in word or "://" in word.partition("=")[0]:
        return redact_value(word)
    parts = word.split(",")
    pairs = parts if all("=" in part for part in parts) else [word]
    return ",".join(map(_clean_pair, pairs))


def _clean_pair(pair: str) -> str:
    key, _, value = pair.partition("=")
    return f"{key}={_clean_value(key, value)}"


def _clean(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return redact_value(value)
    if isinstance(value, Mapping | list | tuple) and not depth:
        return strict_json.TOO_DEEP
    if isinstance(value, Mapping):
        return _redact(value, depth)
    if isinstance(value, list | tuple):
        return [_clean(item, depth - 1) for item in value]
    return value


def is_secret(key: str, value: object) -> bool:
    """Return whether ``key`` says that ``value`` is a secret."""
    if value is None or isinstance(value, bool):
        return False
    match _named_by(key):
        case "secret":
            return not (key in _FOLDERS and os.path.isabs(str(value)))
        case "token":  # a number under such a name is a limit or an id, like `pad_token_id`
            return not isinstance(value, int | float)
        case "session":
            return isinstance(value, str) and _is_random(value)
    return False


@lru_cache(maxsize=1024)
def _named_by(key: str) -> str:
    """Return the kind of secret that a key names, ``""`` if none."""
    words = [word.lower() for word in _WORD.findall(key)]
    if _CONNECTION.search(key) or any(_SECRET_WORD.fullmatch(word) for word in words):
        return "secret"
    if any(word.endswith("token") for word in words) and _TEXT_TOKEN_WORDS.isdisjoint(words):
        return "token"
    return "session" if any(_SESSION_WORD.fullmatch(word) for word in words) else ""


# Anything shorter is found by chance in innocent texts.
_SHORTEST = 8
# Words, numbers and ids of some tasks, such as W2378156; a phrase of many words is none of them.
_PLAIN = re.compile(r"[A-Za-z]{0,3}\d{0,10}|[A-Za-z]{1,20}")
_LONGEST_PLAIN = 20
_KEY_PREFIX = re.compile(_KEY_PREFIXES)
_PIECE = re.compile(r"[A-Za-z0-9]+")
_SHORTEST_TOKEN = 12
_NAME = re.compile(r"[A-Za-z]{1,20}(?:_[A-Za-z]{1,20})*")


class Secrets:
    """Values that must not be written; of each, where it comes from may be known."""

    def __init__(self, values: Iterable[str]) -> None:
        names = values if isinstance(values, Mapping) else dict.fromkeys(values, "a secret")
        known = {value: name for value, name in names.items() if len(value) >= _SHORTEST}
        # Within the arguments of a tool call a key is spelled as JSON spells it.
        spellings = {**{_escape(value): name for value, name in known.items()}, **known}
        # Longest first: one secret may contain another.
        self._values = sorted(spellings, key=lambda value: (-len(value), value))
        self._written = {_escape(value): spellings[value] for value in self._values}

    @classmethod
    def of(cls, config: Mapping[str, object]) -> "Secrets":
        """Return those of a configuration and of the environment variables."""
        given = {
            value: f"the option {name}"
            for value, name in _secrets_in(config)
            if not _is_plain_name(value)
        }
        return cls({**given, **environment_secrets()})

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
        """Return whether JSON text holds any of them."""
        return any(value in text for value in self._written)

    def are_in(self, data: bytes) -> bool:
        """Return True if any may be in a pickled value: its texts are in there as they are."""
        return any(secret.encode("utf-8", "surrogatepass") in data for secret in self._values)

    def sources_in(self, text: str) -> list[str]:
        """Return where those come from that JSON text holds, such as a variable's name."""
        return sorted({name for value, name in self._written.items() if value in text})

    def removed_from_text(self, text: str) -> str:
        """Return the text with ``<redacted>`` for every secret."""
        for secret in self._values:
            text = text.replace(secret, REDACTED)
        return text


def environment_secrets() -> dict[str, str]:
    """Return the secrets in environment variables, and of each which variable it is."""
    found: dict[str, str] = {}
    for name, value in os.environ.items():
        if not is_secret(name, value):
            secrets = [secret for secret in _cut_out(value) if not _is_plain_name(secret)]
        elif "apikey" in name.lower().replace("_", "").replace("-", ""):
            secrets = [] if _is_plain_name(value) else [value]
        else:
            secrets = [value] if _looks_secret(value) else []
        found |= dict.fromkeys(secrets, f"the environment variable {name}")
    return found


def _looks_secret(value: str) -> bool:
    """Return whether a value has the form of a secret, rather than of a name, number or phrase."""
    if _is_plain_name(value):
        return False
    is_long = len(value) >= _LONGEST_PLAIN
    return is_long or _is_random(value) or _KEY_PREFIX.match(value) is not None


def _is_random(value: str) -> bool:
    """Return True if letters and digits take turns in a value, or if it is too long for words."""
    return not all(_PLAIN.fullmatch(piece) for piece in _PIECE.findall(value))


def _is_plain_name(value: str) -> bool:
    """Return whether a value is spelled like a role, a tool or an argument: ``reservation_id``."""
    words = _WORD.findall(value)
    # In a random key large and small letters take turns.
    return _NAME.fullmatch(value) is not None and 3 * len(words) <= len(value)


def _escape(value: str) -> str:
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


def _secrets_in(
    value: object, name: str = "", *, hidden: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield each secret and the name under which it stands; ``hidden``: that names a secret."""
    match value:
        case Mapping():
            for key, item in value.items():
                inside = str(name if hidden else key)
                yield from _secrets_in(item, inside, hidden=hidden or is_secret(str(key), item))
        case list() | tuple():
            for item in value:
                yield from _secrets_in(item, name, hidden=hidden)
        case _ if hidden:
            yield str(value), name
        case str():
            yield from ((text, name) for text in _cut_out(value))


def _cut_out(text: str) -> Iterator[str]:
    """Yield the secrets in a text; of ``user:password`` also the password."""
    found: list[str] = []
    _cut_secrets(text, found.append)
    for secret in found:
        yield secret
        yield secret.rpartition(":")[2]
    if _ADDRESS.fullmatch(text):
        with suppress(ValueError):
            yield from _secrets_of_address(*urlsplit(text)[2:])


def _secrets_of_address(path: str, query: str, fragment: str) -> Iterator[str]:
    """Yield what may be a key by its form: a date or the name of a model is none."""
    for text in (query, fragment):
        pairs = parse_qsl(text, keep_blank_values=True)
        yield from (value for _, value in pairs if _looks_secret(value))
        yield from (text for _, value in pairs[:1] if not value and _looks_secret(text))
    yield from (segment for segment in path.split("/") if _has_token(segment))


def _has_token(text: str) -> bool:
    """Return True for letters and digits in turns, as in no name of a model or a deployment."""
    long = (piece for piece in _PIECE.findall(text) if len(piece) >= _SHORTEST_TOKEN)
    return any(not (piece.isalpha() or piece.isdigit()) for piece in long)
