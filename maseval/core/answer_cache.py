"""AnswerCache: answers of models, kept on disk and given again to an equal request.

A request is equal if everything about it is: the adapter, the model and its address, all messages,
tools and parameters, and the seed. The name of an entry is a hash of all that, from which
credentials are left out; its content is the answer. Each file appears whole or not at all, so that
threads and processes may share a folder, and one that cannot be read counts as not there. Trials
that send equal requests get equal answers, and are then not independent.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from maseval.core.messages import ChatResponse
from maseval.core.storage import strict_json
from maseval.core.storage.files import write_bytes
from maseval.core.storage.redaction import Secrets, environment_secrets, redact_text

# Part of every hash: entries of another form are not found, rather than misread.
_FORM = 1
_KEPT = tuple(each.name for each in fields(ChatResponse) if each.name != "parsed")

ANSWERS = "answers"
ANSWERS_FROM_CACHE = "answers_from_cache"
TOKENS_FROM_CACHE = "tokens_from_cache"


@dataclass(frozen=True)
class AnswerCache:
    """The answers in a folder, each in a file of its own."""

    folder: Path

    def key(self, request: Mapping[str, object]) -> str | None:
        """Return the name of a request's entry; None if its parts cannot be compared as JSON."""
        try:
            text = json.dumps([_FORM, request], sort_keys=True, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            return None
        return hashlib.sha256(text.encode()).hexdigest()

    def get(self, key: str) -> ChatResponse | None:
        """Return the answer that is kept under a key; None if there is none that can be read."""
        try:
            entry = strict_json.loads(self._path(key).read_bytes())
            answer = entry["answer"]
            if entry["key"] != key or entry["sha256"] != _checksum(answer):
                return None
            return ChatResponse(**answer)
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def put(self, key: str, response: ChatResponse, secrets: Iterable[object] = ()) -> None:
        """Keep an answer, unless one is kept already, or JSON would not give it back as it is.

        One in which a model repeats a credential, by what is known or by its form, is not kept.
        """
        answer = {name: value for name, value in asdict(response).items() if name in _KEPT}
        try:
            text = json.dumps(answer, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            return
        known = {str(each): "a key" for each in secrets if each} | environment_secrets()
        if Secrets(known).occur_in(text) or redact_text(text) != text:
            return
        if json.loads(text) != answer or self.get(key) is not None:
            return
        entry = {"key": key, "sha256": _checksum(answer), "answer": answer}
        with suppress(OSError):  # a full disk costs the next run a request, and this one nothing
            write_bytes(self._path(key), (json.dumps(entry) + "\n").encode())

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"


def _checksum(answer: object) -> str:
    return hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()


def answer_cache(folder: str | os.PathLike[str]) -> AnswerCache:
    """Return the cache in a folder, which is made with the first answer."""
    return AnswerCache(Path(folder).expanduser().absolute())
