"""Judge: a model that answers a question about a conversation, in a form that is checked.

A question is a template, the form of its answer, and perhaps a check of the claims in it: a claim
without true evidence is dropped and counted. An answer that cannot be read is asked for once more
with its fault named; after that the judgement is undecided. It is never "nothing found", and never
the agent's failure. A request that fails although the call policy repeated it leaves the judgement
unanswered: it is asked again by whoever asks next, from the same record.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel

from maseval.core.clock import Clock
from maseval.core.exceptions import ConfigurationError, InvalidAnswerError, MASEvalError
from maseval.core.judge_record import Judgement, JudgeRecord
from maseval.core.messages import Message
from maseval.core.model import ModelAdapter, Params
from maseval.core.provider_errors import (
    AnswerTooLargeError,
    ContentFilterError,
    ContextOverflowError,
    ProviderError,
)
from maseval.core.storage.redaction import redact
from maseval.core.structured import AnswerForm, answer_form, correction
from maseval.core.tracing import JsonObject, now
from maseval.core.usage import TokenUsage
from maseval.core.words import fill_template

AnswerT = TypeVar("AnswerT", bound=BaseModel)

MAX_ATTEMPTS = 2
_SEPARATOR = re.compile(r"^---[ \t]*\n", re.MULTILINE)
# The provider did answer, and would answer the same question like this again.
_WITHHELD = (ContentFilterError, AnswerTooLargeError, ContextOverflowError)


class Checked(NamedTuple):
    """An answer with only those claims whose evidence is true, and the others in words."""

    answer: BaseModel
    dropped: list[str]


@dataclass(frozen=True)
class Question(Generic[AnswerT]):
    """A question to a judge.

    Args:
        name: What it is about, such as "policy".
        template: The text, with ``{{holes}}``. What stands before a line ``---`` is the system
            message: put the long constant part there, so that providers cache it.
        answer: The form of the answer; it must have a required field, or nothing would be read as
            "nothing found".
        check: Takes the answer and the subject given to ``ask``, drops claims without evidence.
        params: Generation parameters that are part of the question.
        read: For a question whose wording is fixed: it is sent as it is, without the form, and this
            reads the answer's text. A ``ValueError`` names the fault.
    """

    name: str
    template: str
    answer: type[AnswerT]
    check: Callable[[AnswerT, Any], Checked] | None = None
    params: Params = field(default_factory=dict)
    read: Callable[[str], AnswerT] | None = None

    def __post_init__(self) -> None:
        if self.schema is not None and not self.schema.get("required"):
            raise ConfigurationError(
                f"the answer {self.answer.__name__} of question {self.name!r} has no required "
                "field, so that any JSON object would be one; give a field no default"
            )

    @cached_property
    def form(self) -> AnswerForm[AnswerT]:
        return answer_form(self.answer)

    @cached_property
    def schema(self) -> JsonObject | None:
        """The schema that is sent along, unless the wording is fixed."""
        return None if self.read is not None else self.form.schema

    def messages(self, parts: Mapping[str, str]) -> list[Message]:
        """Return the request; the holes are filled in one pass, so that values stay as they are."""
        texts = _SEPARATOR.split(self.template, maxsplit=1)
        if len(texts) == 2:
            texts[0] = texts[0].removesuffix("\n")
        filled = [fill_template(text, parts) for text in texts]
        roles = ("system", "user") if len(filled) == 2 else ("user",)
        return [{"role": role, "content": text} for role, text in zip(roles, filled, strict=True)]

    def read_answer(self, text: str) -> AnswerT:
        return self.form.read(text) if self.read is None else self.read(text)


class Judge:
    """Asks a model, unless a record has the answer; like the model, for one thread at a time.

    Within a run, ``record`` and ``key`` default to the run's record and to the simulation that is
    evaluated. ``model`` may be the mere id of a model that is not to be asked: what is not in the
    record is then unanswered. ``params`` are added to those of each question. ``asked`` counts
    requests, ``known`` the answers out of the record.
    """

    def __init__(
        self,
        model: ModelAdapter | str,
        *,
        record: JudgeRecord | None = None,
        params: Params | None = None,
        max_attempts: int = MAX_ATTEMPTS,
    ) -> None:
        if max_attempts < 1:
            raise ConfigurationError(f"max_attempts must be at least 1, not {max_attempts}")
        self.model = model
        self.params = dict(params or {})
        self.max_attempts = max_attempts
        self.key: Mapping[str, Any] | None = None
        """The simulation that ``ask`` is about, where it is not told."""
        self.asked = 0
        self.known = 0
        self._record = record

    @classmethod
    def of(cls, model: "ModelAdapter | Judge", **options: Any) -> "Judge":
        """Return a judge as it is, or one that asks a model."""
        return model if isinstance(model, Judge) else cls(model, **options)

    @property
    def model_id(self) -> str:
        return self.model if isinstance(self.model, str) else self.model.model_id

    @property
    def record(self) -> JudgeRecord | None:
        """The record of earlier questions: the one that was given, else that of the run."""
        here = Clock.here()
        return self._record or (None if here is None else here.judgements)

    def who(self, params: Params | None = None) -> JsonObject:
        """Return the model's id and all parameters that its answers depend on."""
        own: Any = {}
        if isinstance(self.model, ModelAdapter):
            own = self.model.cache_identity().get("default_params") or {}
        return {"model": self.model_id, "params": redact({**own, **(params or {}), **self.params})}

    def ask(
        self,
        question: Question[Any],
        key: Mapping[str, Any] | None = None,
        subject: object = None,
        **parts: str,
    ) -> Judgement:
        """Return the judgement about the simulation ``key``; ``parts`` fill the template's holes.

        What makes every request fail, such as a wrong key, is raised once it is recorded.
        """
        messages, who, here = question.messages(parts), self.who(question.params), Clock.here()
        asked = {"model": who["model"], "messages": messages, "params": who["params"]}
        if question.schema is not None:
            asked["schema"] = question.schema
        # All that the answer depends on: a template with one word changed is another question.
        text = json.dumps(asked, sort_keys=True, default=str)
        about = key or self.key or (None if here is None else here.judged)
        first = Judgement(
            question=question.name,
            key=dict(about or {}),
            judge=who,
            prompt=hashlib.sha256(text.encode()).hexdigest(),
        )
        record = self.record
        if record is None:
            return self._ask_until_read(question, first, messages, subject, None)
        # Of several threads with one question the first asks, and the others take its answer.
        with record.asking(first.prompt):
            known = record.last(first.prompt, first.key)
            found = known and _read(question, known, subject)
            if found is None or found.answer is None:
                if found is not None and found.attempt >= self.max_attempts:
                    found = None  # by an earlier session, so that it is asked anew
                return self._ask_until_read(question, first, messages, subject, found)
            self.known += 1
            if found.key != first.key:
                mine = {"key": first.key, "usage": {}, "seconds": 0.0, "reused": True}
                found = found.model_copy(update=mine)
                record.add(found)
            return found

    def _ask_until_read(
        self,
        question: Question[Any],
        first: Judgement,
        messages: list[Message],
        subject: object,
        unread: Judgement | None,
    ) -> Judgement:
        """Ask, and once more with the fault of the ``unread`` answer named."""
        while True:
            asked, sent = first, messages
            if unread is not None:
                fault = unread.undecided or ""
                asked = first.model_copy(update={"attempt": unread.attempt + 1})
                sent = [*messages, *correction(unread.reply or "", fault, question.schema)]
            found = self._request(question, asked, sent)
            if found.unanswered:
                return found
            found = _read(question, found, subject)
            if (record := self.record) is not None:
                record.add(found)
            if found.answer is not None or found.attempt >= self.max_attempts:
                return found
            unread = found

    def _request(
        self, question: Question[Any], judgement: Judgement, messages: list[Message]
    ) -> Judgement:
        model, record = self.model, self.record
        if isinstance(model, str):
            return judgement.model_copy(
                update={
                    "undecided": f"{model} has not judged this conversation, and is not asked",
                    "unanswered": True,
                }
            )
        if record is not None:
            # An answer that cannot be written down would have to be paid for again.
            record.prepare()
        self.asked += 1
        started, at, spent = time.monotonic(), now(), model.usage_count
        found: dict[str, Any] = {}
        failure: ProviderError | None = None
        try:
            asked: dict[str, Any] = {}
            if question.schema is not None:
                asked["response_model"] = question.answer
            params = {**question.params, **self.params}
            found["reply"] = model.chat(messages, generation_params=params, **asked).content or ""
        except InvalidAnswerError as error:
            found["reply"] = error.reply
        except _WITHHELD as error:
            found |= {"reply": "", "undecided": str(error)}
        except ProviderError as error:
            failure = error
            found |= {"undecided": str(error), "unanswered": True}
        found |= {
            "at": at,
            "seconds": round(time.monotonic() - started, 3),
            "usage": _plain_usage(model.usage_since(spent)),
        }
        line = self._without_secrets(judgement.model_copy(update=found))
        if failure is not None:
            if record is not None:
                record.add(line)
            if failure.fatal_for_run:
                raise failure
        return line

    def _without_secrets(self, judgement: Judgement) -> Judgement:
        assert isinstance(self.model, ModelAdapter)
        clean = {
            name: self.model.without_secrets(text)
            for name in ("reply", "undecided")
            if (text := getattr(judgement, name)) is not None
        }
        return judgement.model_copy(update=clean)


def _read(question: Question[Any], judgement: Judgement, subject: object) -> Judgement:
    """Return the judgement with the answer in its text, or with what is wrong with that."""
    if not judgement.reply:
        reason = judgement.undecided or "the answer is empty"
        return judgement.model_copy(update={"answer": None, "undecided": reason})
    try:
        answer = question.read_answer(judgement.reply)
    except (ValueError, RecursionError) as error:
        reason = error.message if isinstance(error, MASEvalError) else str(error)
        found: dict[str, Any] = {"answer": None, "undecided": reason or type(error).__name__}
        return judgement.model_copy(update=found)
    # Also of an answer out of the record: the check may have become stricter since.
    checked = Checked(answer, []) if question.check is None else question.check(answer, subject)
    found = {
        "answer": checked.answer.model_dump(mode="json"),
        "undecided": None,
        "dropped": list(checked.dropped),
    }
    return judgement.model_copy(update=found)


def _plain_usage(usage: TokenUsage) -> JsonObject:
    known = usage.to_dict()
    labels = ("provider", "category", "component_name", "kind")
    return {name: value for name, value in known.items() if value and name not in labels}
