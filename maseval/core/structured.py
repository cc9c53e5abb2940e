"""Structured answers: a model's text as an object of a pydantic model.

A provider may hold its model to a JSON schema; otherwise the schema is part of the request. Either
way the answer is validated, and one that is not valid is asked for again with what is wrong in it.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from maseval.core.exceptions import ConfigurationError, InvalidAnswerError
from maseval.core.messages import ChatResponse, ChatUsage, Message, text_of
from maseval.core.tracing import JsonObject
from maseval.core.usage import TOKEN_FIELDS
from maseval.core.words import count_of, excerpt

if TYPE_CHECKING:  # loading it takes longer than all else of a model
    from pydantic import BaseModel, ValidationError

ModelT = TypeVar("ModelT", bound="BaseModel")

ANSWER_ATTEMPTS = 3
"""The number of times that a model is asked for a valid answer, at most."""

_INSTRUCTION = """\
Answer with one JSON value that matches this JSON schema, and with nothing else:
{schema}"""
_CORRECTION = """\
Your answer does not match the JSON schema:
{problem}
Answer again, with the whole corrected JSON value and nothing else."""
_MOST_PROBLEMS = 10
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]+")
_FENCE = "```"


@dataclass(frozen=True)
class AnswerForm(Generic[ModelT]):
    """The form that an answer must have."""

    response_model: type[ModelT]

    def __post_init__(self) -> None:
        from pydantic import BaseModel

        model: object = self.response_model
        if not isinstance(model, type) or not issubclass(model, BaseModel):
            raise ConfigurationError(
                f"response_model is {model!r}; give a subclass of pydantic.BaseModel"
            )

    @property
    def name(self) -> str:
        """The model's name, in the characters that providers allow."""
        return _NOT_IN_A_NAME.sub("_", self.response_model.__name__)[:64]

    @property
    def schema(self) -> JsonObject:
        return self.response_model.model_json_schema()

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

    def read(self, response: ChatResponse) -> str | None:
        """Set ``parsed``; return what is wrong with the answer if that cannot be done.

        An answer that calls tools is not the last one, and is left as it is.
        """
        from pydantic import ValidationError

        if response.tool_calls:
            return None
        problem = None
        for text in _candidates(response.content or ""):
            try:
                response.parsed = self.response_model.model_validate_json(text)
            except ValidationError as error:
                problem = problem or _describe(error)
            else:
                return None
        return problem

    def error(
        self, response: ChatResponse, problem: str, *, model_id: str, attempts: int
    ) -> InvalidAnswerError:
        """Return the error for a model that does not get it right."""
        ended = f" (it ended because of {response.stop_reason!r})" if response.stop_reason else ""
        tried = count_of(attempts, "attempt")
        return InvalidAnswerError(
            f"model {model_id!r} gave no valid {self.response_model.__name__} in {tried}. "
            f"Its last answer{ended} begins with {excerpt(response.content or '')!r}, "
            f"where {' '.join(problem.split())}. Simplify the response_model, explain it in the "
            "prompt, or use a model that can write JSON",
            details={"model_id": model_id, "attempts": attempts, "problem": problem},
        )


def correction(response: ChatResponse, problem: str) -> list[Message]:
    """Return the messages that tell a model what is wrong with its answer."""
    said: Message = {"role": "assistant", "content": response.content or ""}
    return [said, {"role": "user", "content": _CORRECTION.format(problem=problem)}]


def add_usage(one: ChatUsage | None, other: ChatUsage | None) -> ChatUsage | None:
    if not (one and other):
        return one or other
    total: ChatUsage = {}
    for name in (*TOKEN_FIELDS, "cost"):
        if name in one or name in other:
            total[name] = one.get(name, 0) + other.get(name, 0)  # type: ignore[literal-required,operator]
    return total


def _candidates(text: str) -> Iterator[str]:
    """Yield the texts that may be the value, the likeliest first."""
    stripped = text.strip()
    # Every second part stands between two fences; its first line may name the language.
    parts = text.split(_FENCE)[1::2]
    fenced = [rest for name, _, rest in (part.partition("\n") for part in parts) if _names(name)]
    start = min((at for at in map(text.find, "[{") if at >= 0), default=len(text))
    between = text[start : max(map(text.rfind, "]}")) + 1]
    # A value in the midst of words is meant; bare words are only tried as they are.
    found = [*fenced, *([between] if between else [])]
    bare = stripped[:1] in ("{", "[", '"') or not found
    yield from dict.fromkeys([stripped, *found] if bare else [*found, stripped])


def _names(language: str) -> bool:
    return language.strip().lower() in ("", "json")


def _describe(error: "ValidationError") -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [
        f"- {'.'.join(map(str, problem['loc'])) or 'the whole answer'}: {problem['msg']}"
        for problem in problems[:_MOST_PROBLEMS]
    ]
    if len(problems) > _MOST_PROBLEMS:
        lines.append(f"- and {len(problems) - _MOST_PROBLEMS} more")
    return "\n".join(lines)
