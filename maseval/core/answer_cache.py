"""AnswerCache: answers of models, kept on disk and given again to an equal request.

A request is equal if everything about it is: the adapter, the model and its address, all messages,
tools and parameters, and the seed. The name of an entry is a hash of all that, from which
credentials are left out; its content is the answer, with a hash of both together: the answer to one
request is never taken for that to another. Each file appears whole or not at all, so that threads
and processes may share a folder, and one that cannot be read counts as not there. Who asks the same
again wants another answer, as after one that could not be read: so the times are part of the name.
Trials that send equal requests get equal answers, and are then not independent. Whoever may write
to the folder can put answers there: the log of a model has the hash of each that it took or kept.

Models keep their answers in this form (``get``, ``put``), and the replay server those of other
clients, as their provider sent them (``load``, ``store``).
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from maseval.core.messages import ChatResponse
from maseval.core.storage import strict_json
from maseval.core.storage.files import write_bytes
from maseval.core.storage.redaction import Secrets, cut_known_secrets, environment_secrets

# Part of every hash: entries of another form are not found, rather than misread.
_FORM = 2

ANSWERS = "answers"
ANSWERS_FROM_CACHE = "answers_from_cache"
TOKENS_FROM_CACHE = "tokens_from_cache"


@dataclass(frozen=True)
class AnswerCache:
    """The answers in a folder, each in a file of its own."""

    folder: Path

    def key(self, request: Mapping[str, object]) -> str | None:
        """Return the hash of a request; None if its parts cannot be compared as JSON."""
        try:
            return _hash([_FORM, request])
        except (TypeError, ValueError, RecursionError):
            return None

    def entry(self, key: str, time: int) -> str:
        """Return the name of the entry for the ``time``-th request of this key, from 1."""
        return _hash([_FORM, {"request": key, "time": time}])

    def load(self, entry: str) -> dict[str, Any] | None:
        """Return the answer of an entry as it was stored; None if there is none that is whole."""
        path = self._path(entry)
        try:
            if not path.is_file():  # a pipe would be waited for
                return None
            found = strict_json.loads(path.read_bytes())
            answer: dict[str, Any] = found["answer"]
            # Both: a file that was renamed is as little the answer as one that was edited.
            whole = found["key"] == entry and found["sha256"] == _hash([entry, answer])
            return answer if whole and isinstance(answer, dict) else None
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def store(self, entry: str, answer: dict[str, Any], secrets: Iterable[object] = ()) -> bool:
        """Store an answer and return True, unless JSON would not give it back as it is.

        One in which a model repeats a credential, by what is known or by its form, is not stored.
        """
        try:
            text = json.dumps(answer, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            return False
        # The folder may be handed on, and a model that was told a key may repeat it.
        known = {str(each): "a key" for each in secrets if each} | environment_secrets()
        if (
            Secrets(known).occur_in(text)
            or cut_known_secrets(text) != text
            or json.loads(text) != answer
        ):
            return False
        found = {"key": entry, "sha256": _hash([entry, answer]), "answer": answer}
        write_bytes(self._path(entry), (json.dumps(found) + "\n").encode())
        return True

    def entries(self) -> set[str]:
        return {path.stem for path in self.folder.glob("??/*.json")}

    def get(self, entry: str) -> ChatResponse | None:
        """Return the answer of an entry; None if there is none that can be read."""
        with suppress(TypeError):
            answer = self.load(entry)
            return None if answer is None else ChatResponse(**answer)
        return None

    def put(self, entry: str, response: ChatResponse, secrets: Iterable[object] = ()) -> None:
        """Keep an answer, unless one is kept already."""
        if self.get(entry) is None:
            with suppress(OSError):  # a full disk costs the next run a request, this one nothing
                self.store(entry, _kept_part(response), secrets)

    def hash_of(self, entry: str, response: ChatResponse) -> str | None:
        """Return the hash of an answer to the request of an entry; None if JSON cannot hold it."""
        try:
            return _hash([entry, _kept_part(response)])
        except (TypeError, ValueError, RecursionError):
            return None

    def _path(self, entry: str) -> Path:
        return self.folder / entry[:2] / f"{entry}.json"


def _kept_part(response: ChatResponse) -> dict[str, Any]:
    """Return what is kept of an answer: the object that was read from its text is not."""
    kept = asdict(replace(response, parsed=None))
    del kept["parsed"]
    return kept


def _hash(value: object) -> str:
    # Two clients may write one request in different orders.
    text = json.dumps(value, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def answer_cache(folder: str | os.PathLike[str]) -> AnswerCache:
    """Return the cache in a folder, which is made with the first answer."""
    return AnswerCache(Path(folder).expanduser().absolute())
