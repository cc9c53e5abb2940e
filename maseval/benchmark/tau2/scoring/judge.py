"""Natural-language assertions: a language model says whether a conversation meets them.

After tau2-bench v0.2.0, src/tau2/evaluator/evaluator_nl_assertions.py (MIT, Sierra Research).

Replies can be kept in a file, so that the same question to the same model is asked once. It has one
line for each reply, with the SHA-256 of the judge's model and the whole request.
"""

import hashlib
import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from maseval.benchmark.tau2.formats.message import Tau2Message
from maseval.benchmark.tau2.formats.simulation import NLCheck, RewardInfo
from maseval.benchmark.tau2.texts.original import Wording
from maseval.benchmark.tau2.wording import OURS
from maseval.benchmark.tau2.world.state.records import canonical_json
from maseval.core.call_policy import CallPolicy
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.messages import ChatResponse, Message
from maseval.core.model import ModelAdapter, Params
from maseval.core.storage.records import RecordWriter, iter_records, mend
from maseval.core.tracing import JsonObject
from maseval.core.words import count_of


class NoJudgeError(ConfigurationError):
    """There are natural-language assertions to judge, but no model to judge them.

    ``so_far`` is the verdict of all other checks. If its reward is 0, no judge can change it.
    ``match`` says whether the company's and the customer's database ended as they should.
    """

    so_far: RewardInfo | None = None
    match: tuple[bool, bool] | None = None


class JudgeReplyError(MASEvalError, ValueError):
    """The judge did not say, for each assertion, whether it is met; ``so_far`` as above."""

    so_far: RewardInfo | None = None
    match: tuple[bool, bool] | None = None


def judge(
    model: ModelAdapter,
    messages: Sequence[Tau2Message],
    assertions: Sequence[str],
    *,
    strict: bool = False,
    wording: Wording = OURS,
) -> list[NLCheck]:
    """Ask the judge once about all assertions.

    ``strict`` reads the reply as v0.2.0 does: a code fence around the JSON is an error, and a
    reply that leaves assertions out counts as if they were met.
    """
    system, request = wording.judge_prompts(messages, assertions)
    model.message_form = wording.message_form
    reply = model.chat(
        [{"role": "system", "content": system}, {"role": "user", "content": request}],
        generation_params=wording.judge_params(model.model_id),
    ).content
    if strict:
        return [_check(result) for result in json.loads(reply or "").get("results", [])]
    return _read_with_care(reply or "", assertions)


def _check(result: Mapping[str, object]) -> NLCheck:
    return _check_form().validate_python(
        {
            "nl_assertion": result["expectedOutcome"],
            "met": result["metExpectation"],
            "justification": result["reasoning"],
        }
    )


def _read_with_care(reply: str, assertions: Sequence[str]) -> list[NLCheck]:
    first, last = reply.find("{"), reply.rfind("}")
    try:
        answer = json.loads(reply[first : last + 1])
    except (ValueError, RecursionError) as error:
        raise JudgeReplyError(
            f"the judge replied {_abbreviate(reply)}, which is not a JSON object: {error}; use a "
            "model that answers in JSON"
        ) from error
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(results, list) or len(results) != len(assertions):
        found = len(results) if isinstance(results, list) else "no"
        raise JudgeReplyError(
            f"the judge gave {found} results for {count_of(len(assertions), 'assertion')}: "
            f"{_abbreviate(reply)}"
        )
    return [_outcome(*pair) for pair in zip(results, assertions, strict=True)]


def _outcome(result: object, assertion: str) -> NLCheck:
    met = result.get("metExpectation") if isinstance(result, dict) else None
    if not isinstance(result, dict) or not isinstance(met, bool):
        raise JudgeReplyError(
            f"the judge's result {_abbreviate(str(result))} for {assertion!r} has no "
            "metExpectation that is true or false"
        )
    return {
        "nl_assertion": str(result.get("expectedOutcome", assertion)),
        "met": met,
        "justification": str(result.get("reasoning", "")),
    }


def _abbreviate(text: str) -> str:
    return repr(text if len(text) <= 200 else f"{text[:197]}...")


class JudgeMemory:
    """The replies in a file; it is made when the first reply is to be kept.

    In a process that must not write to the file, the replies are ``sent`` along, and new ones are
    handed over.
    """

    def __init__(self, path: str | os.PathLike[str], sent: Mapping[str, str] | None = None) -> None:
        self.path = Path(path)
        self._sent = sent
        self._fresh: list[tuple[str, str, str]] = []
        self._lock = threading.Lock()
        self._prepared = sent is not None

    @cached_property
    def _replies_by_request(self) -> dict[str, str]:
        if self._sent is not None:
            return dict(self._sent)
        return {str(each.get("request")): str(each.get("reply")) for each in self._records()}

    @property
    def models(self) -> list[str]:
        """The models whose replies are kept, in the order in which they first replied."""
        return list(dict.fromkeys(str(each.get("model")) for each in self._records()))

    def _records(self) -> Iterator[dict[str, Any]]:
        if self.path.is_file():
            yield from iter_records(self.path, on_torn=lambda line: None)

    def reply(self, request: str) -> str | None:
        """Return the kept reply to a request, or None."""
        with self._lock:
            return self._replies_by_request.get(request)

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
                raise ConfigurationError(
                    f"a judge's replies are kept in {self.path}, which cannot be written "
                    f"({error.strerror}); copy the files to a folder of your own"
                ) from error
            self._prepared = True

    def keep(self, request: str, model_id: str, reply: str) -> None:
        self.prepare()
        with self._lock:
            self._replies_by_request[request] = reply
            if self._sent is not None:
                self._fresh.append((request, model_id, reply))
                return
            with RecordWriter(self.path, resume=True) as file:
                file.append({"request": request, "model": model_id, "reply": reply})

    def for_worker(self) -> "JudgeMemory":
        """Return the same replies, for another process."""
        with self._lock:
            return JudgeMemory(self.path, dict(self._replies_by_request))

    def take_new_replies(self) -> list[tuple[str, str, str]]:
        """Return the replies to hand over since the last call, each as arguments of ``keep``."""
        with self._lock:
            fresh, self._fresh = self._fresh, []
            return fresh

    def __reduce__(self) -> tuple[type["JudgeMemory"], tuple[Path, Mapping[str, str] | None]]:
        return JudgeMemory, (self.path, self._sent)


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
        **kwargs: Any,
    ) -> ChatResponse:
        request = _digest(self.model_id, messages, generation_params)
        known = self.memory.reply(request)
        if known is not None:
            self.remembered += 1
            return ChatResponse(known, stop_reason="stop")
        if isinstance(self.model, str):
            raise NoJudgeError(
                f"{self.model} has not judged this conversation: it has no reply in "
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


@cache
def _check_form() -> TypeAdapter[NLCheck]:
    """Return the form of a judge's answer, made once the first one is read."""
    return TypeAdapter(NLCheck)
