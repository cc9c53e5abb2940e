"""What judges have said, kept by content: the same question to the same model is asked once.

The file has one line for each reply, with the SHA-256 of the judge's model and the whole request.
"""

import hashlib
import json
import os
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2.domains.records import canonical_json
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.core.call_policy import CallPolicy
from maseval.core.exceptions import MASEvalError
from maseval.core.messages import ChatResponse, Message
from maseval.core.model import ModelAdapter, Params
from maseval.core.storage.records import RecordWriter, iter_records, mend
from maseval.core.tracing import JsonObject

MEMORY_NAME = "judged.jsonl"
"""What the file is called in a run's folder, and what its name ends with beside a results file."""


class JudgeMemoryError(MASEvalError, OSError):
    """The replies of a judge cannot be kept where they belong."""


class JudgeMemory:
    """The replies in a file; it is made when the first reply is to be kept."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._prepared = False

    @cached_property
    def _known(self) -> dict[str, str]:
        return {str(each.get("request")): str(each.get("reply")) for each in self._records()}

    @property
    def models(self) -> list[str]:
        """The models whose replies are kept, in the order in which they first replied."""
        return list(dict.fromkeys(str(each.get("model")) for each in self._records()))

    def _records(self) -> Iterator[dict[str, Any]]:
        if self.path.is_file():
            yield from iter_records(self.path, on_torn=lambda line: None)

    def reply(self, request: str) -> str | None:
        """What was replied to a request; None if nobody asked it yet."""
        with self._lock:
            return self._known.get(request)

    def prepare(self) -> None:
        """Make sure that a reply can be kept, before somebody pays for it."""
        with self._lock:
            if self._prepared:
                return
            try:
                if self.path.exists():
                    mend(self.path)
                RecordWriter(self.path, resume=True).close()
            except OSError as error:
                raise JudgeMemoryError(
                    f"a judge's replies are kept in {self.path}, which cannot be written "
                    f"({error.strerror}); copy what is to be judged to a folder of your own"
                ) from error
            self._prepared = True

    def keep(self, request: str, model_id: str, reply: str) -> None:
        """Keep a reply."""
        self.prepare()
        with self._lock, RecordWriter(self.path, resume=True) as file:
            self._known[request] = reply
            file.append({"request": request, "model": model_id, "reply": reply})

    def for_worker(self) -> "JudgeMemoryAway":
        """The same replies, for another process."""
        with self._lock:
            return JudgeMemoryAway(self.path, dict(self._known))


class JudgeMemoryAway(JudgeMemory):
    """The replies in a process that must not write to their file: new ones are handed over."""

    def __init__(self, path: Path, known: dict[str, str]) -> None:
        super().__init__(path)
        self._replies = known
        self._fresh: list[tuple[str, str, str]] = []

    @cached_property
    def _known(self) -> dict[str, str]:
        return self._replies

    def prepare(self) -> None:
        """Nothing is written here."""

    def keep(self, request: str, model_id: str, reply: str) -> None:
        """Keep a reply until it is handed over."""
        with self._lock:
            self._replies[request] = reply
            self._fresh.append((request, model_id, reply))

    def handed_over(self) -> list[tuple[str, str, str]]:
        """What was kept since the last time, each as ``keep`` takes it."""
        with self._lock:
            fresh, self._fresh = self._fresh, []
            return fresh

    def __reduce__(self) -> tuple[type["JudgeMemoryAway"], tuple[Path, dict[str, str]]]:
        return JudgeMemoryAway, (self.path, self._replies)


class RememberingJudge(ModelAdapter):
    """A judge that asks its model only what is not in a memory.

    ``model`` may be the mere id of a model that is not to be asked: what is not in the memory then
    stays without a judge. ``asked`` and ``remembered`` count the replies. A reply that is not JSON
    is not kept.
    """

    def __init__(self, model: ModelAdapter | str, memory: JudgeMemory) -> None:
        super().__init__(policy=CallPolicy(max_attempts=1))  # the model has its own
        self.model = model
        self.memory = memory
        self.asked = 0
        self.remembered = 0

    @property
    def model_id(self) -> str:
        return self.model if isinstance(self.model, str) else self.model.model_id

    def _chat_impl(
        self,
        messages: list[Message],
        generation_params: Params | None = None,
        tools: Sequence[JsonObject] | None = None,
        tool_choice: str | dict[str, object] | None = None,
        **kwargs: object,
    ) -> ChatResponse:
        request = _digest(self.model_id, messages, generation_params)
        known = self.memory.reply(request)
        if known is not None:
            self.remembered += 1
            return ChatResponse(known, stop_reason="stop")
        if isinstance(self.model, str):
            raise NoJudgeError(
                f"{self.model} has not judged this conversation: there is no reply of it in "
                f"{self.memory.path}"
            )
        self.memory.prepare()
        self.model.message_form = self.message_form
        self.asked += 1
        response = self.model.chat(messages, generation_params, tools, tool_choice, **kwargs)
        if _is_json(response.content or ""):
            self.memory.keep(request, self.model_id, response.content or "")
        return response


def _digest(model_id: str, messages: list[Message], params: Params | None) -> str:
    asked = {"model": model_id, "messages": messages, "params": dict(params or {})}
    return hashlib.sha256(canonical_json(asked).encode()).hexdigest()


def _is_json(reply: str) -> bool:
    try:
        return isinstance(json.loads(reply[reply.find("{") : reply.rfind("}") + 1]), dict)
    except (ValueError, RecursionError):
        return False
