"""Answers in the form of a pydantic model: asked for, read with care, and corrected.

A provider may hold its model to a JSON schema; otherwise the schema is part of the request. Either
way the answer is validated here. A text with two different answers in it has none.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from maseval.core.exceptions import ConfigurationError, InvalidAnswerError
from maseval.core.messages import ChatResponse, Message, text_of
from maseval.core.tracing import JsonObject
from maseval.core.words import excerpt

if TYPE_CHECKING:  # loading it takes longer than all else of a model
    from pydantic import BaseModel, ValidationError

ModelT = TypeVar("ModelT", bound="BaseModel")

_INSTRUCTION = """\
Answer with one JSON value that matches this JSON schema, and with nothing else:
{schema}"""
_CORRECTION = """\
Your answer cannot be used: {fault}
Answer again, with the whole corrected JSON value and nothing else."""
_ITS_FORM = """ It must match this JSON schema:
{schema}"""
_MOST_PROBLEMS = 10
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]+")
_FENCE = "```"


class AnswerForm(Generic[ModelT]):
    """The form that an answer must have: a pydantic model."""

    def __init__(self, response_model: type[ModelT]) -> None:
        from pydantic import BaseModel

        model: object = response_model
        if not isinstance(model, type) or not issubclass(model, BaseModel):
            raise ConfigurationError(
                f"response_model is {model!r}; give a subclass of pydantic.BaseModel"
            )
        self._model = response_model

    @property
    def name(self) -> str:
        """The model's name, in the characters that providers allow."""
        return _NOT_IN_A_NAME.sub("_", self._model.__name__)[:64]

    @cached_property
    def schema(self) -> JsonObject:
        return self._model.model_json_schema()

    def ask_in_words(self, messages: Sequence[Message]) -> list[Message]:
        """Return the conversation with the schema in its system message."""
        schema = json.dumps(self.schema, ensure_ascii=False)
        instruction = _INSTRUCTION.format(schema=schema)
        first = messages[0] if messages and messages[0].get("role") == "system" else None
        if first is None:
            return [{"role": "system", "content": instruction}, *messages]
        said = text_of(first)
        both: Message = {**first, "content": f"{said}\n\n{instruction}" if said else instruction}
        return [both, *messages[1:]]

    def read(self, text: str) -> ModelT:
        """Return the one answer in a text; ``InvalidAnswerError`` names the fault of any other."""
        from pydantic import ValidationError

        fenced = _fenced(text)
        if len(fenced) > 1:
            raise InvalidAnswerError(f"it has {len(fenced)} different answers")
        fault = "it is empty"
        for candidate in _candidates(text, fenced):
            try:
                return self._model.model_validate_json(candidate)
            except ValidationError as error:
                fault = _describe(error) if fault == "it is empty" else fault
        raise InvalidAnswerError(fault)

    def error(
        self, response: ChatResponse, fault: InvalidAnswerError, model_id: str
    ) -> InvalidAnswerError:
        """Return the error for an answer that cannot be read."""
        ended = f" (it ended because of {response.stop_reason!r})" if response.stop_reason else ""
        error = InvalidAnswerError(
            f"model {model_id!r} gave no valid {self.name}: {fault}. Its answer{ended} begins with "
            f"{excerpt(response.content or '')!r}. Simplify the response_model, explain it in the "
            "prompt, or use a model that can write JSON",
            details={"model_id": model_id, "fault": str(fault)},
        )
        error.reply = response.content or ""
        return error


@cache
def answer_form(response_model: type[ModelT]) -> AnswerForm[ModelT]:
    """Return the form of a model, whose schema is made once."""
    return AnswerForm(response_model)


def correction(text: str, fault: str, schema: JsonObject | None = None) -> list[Message]:
    """Return the messages that tell a model what is wrong with its answer.

    The schema is repeated, since a server may have ignored it where it stood.
    """
    asked = _CORRECTION.format(fault=fault)
    if schema is not None:
        asked += _ITS_FORM.format(schema=json.dumps(schema, ensure_ascii=False))
    # No provider takes an empty message.
    said: Message = {"role": "assistant", "content": text if text.strip() else "(no answer)"}
    return [said, {"role": "user", "content": asked}]


def _fenced(text: str) -> list[str]:
    """Return the different texts that stand in fences without a language, or as JSON."""
    # Every second part stands between two fences; its first line may name the language.
    parts = (part.partition("\n") for part in text.split(_FENCE)[1::2])
    return list(dict.fromkeys(rest.strip() for name, _, rest in parts if _names(name)))


def _candidates(text: str, fenced: Sequence[str]) -> Iterator[str]:
    """Yield the texts that may be the value; bare words only if there is no other."""
    stripped = text.strip()
    if not stripped:
        return
    start = min((at for at in map(text.find, "[{") if at >= 0), default=len(text))
    between = text[start : max(map(text.rfind, "]}")) + 1]
    found = [*fenced, *([between] if between else [])]
    yield from dict.fromkeys([stripped, *found] if stripped[:1] in "{[" or not found else found)


def _names(language: str) -> bool:
    return language.strip().lower() in ("", "json")


def _describe(error: "ValidationError") -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    texts = [
        f"{'.'.join(map(str, problem['loc'])) or 'the whole answer'}: {problem['msg']}"
        for problem in problems[:_MOST_PROBLEMS]
    ]
    if len(problems) > _MOST_PROBLEMS:
        texts.append(f"and {len(problems) - _MOST_PROBLEMS} more")
    return "; ".join(texts)
