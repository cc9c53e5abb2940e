"""``Texts``: all that a model reads in one version of the original, typed, and named by a hash.

A text is a ``str``. Where the original fills values in, it is ``TextParts``: the texts
and, between them, the expressions whose values belong there.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from maseval.benchmark.tau2.data.files import Tau2DataError


class TextsError(Tau2DataError):
    """The original's texts cannot be read, or are not what they should be."""


FORMAT: Literal["maseval-tau2-texts/1"] = "maseval-tau2-texts/1"


class _FrozenForm(BaseModel):
    # Built when a text is first read: verdicts without a judge need none.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class Placeholder(_FrozenForm):
    """A place in a text where the value of an expression of the original belongs."""

    value: str


TextParts = tuple[str | Placeholder, ...]


def fill_parts(parts: TextParts, values: Mapping[str, str]) -> str:
    """Return the text with ``values``, by expression, inserted verbatim in their places."""
    expected = {part.value for part in parts if isinstance(part, Placeholder)}
    if expected != set(values):
        raise TextsError(f"the text needs values for {sorted(expected)}, not {sorted(values)}")
    return "".join(part if isinstance(part, str) else values[part.value] for part in parts)


class ToolText(_FrozenForm):
    """The description of a tool and of its parameters, in the order of its signature."""

    name: str
    description: str
    parameters: Mapping[str, str | None]


class DiscoverableParameter(_FrozenForm):
    """The description of one parameter of a discoverable tool."""

    type: str
    description: str
    required: bool


class DiscoverableTool(_FrozenForm):
    """A tool of banking_knowledge that is found by reading; its description is a tool result."""

    name: str
    description: str
    parameters: Mapping[str, DiscoverableParameter]
    success_message: str


class ModelText(_FrozenForm):
    """The description of a class that occurs in a schema, and of those fields that have one."""

    description: str | None
    fields: Mapping[str, str]


class DomainTools(_FrozenForm):
    """A domain's tools, side by side, in the order in which they are offered."""

    assistant: tuple[ToolText, ...]
    user: tuple[ToolText, ...] = ()
    retrieval: tuple[ToolText, ...] = ()
    discoverable_assistant: tuple[DiscoverableTool, ...] = ()
    discoverable_user: tuple[DiscoverableTool, ...] = ()


class BankingPrompts(_FrozenForm):
    """Prompts that only banking_knowledge has."""

    dense_instructions: TextParts
    reranker_prompt: str
    qwen_query_instruction: str
    qwen_query: TextParts


class Prompts(_FrozenForm):
    """Everything said to a model outside tool schemas: to agent, user simulator and judge."""

    agent_instruction: str
    agent_system_prompt: str
    gt_instruction: str
    gt_system_prompt: str
    solo_instruction: str
    solo_system_prompt: str
    solo_stop_function_name: str
    solo_transfer_tool_name: str
    solo_stop_token: str
    user_system_prompt: str
    gt_step_user_with_arguments: TextParts
    gt_step_user_without_arguments: TextParts
    gt_step_assistant_with_arguments: TextParts
    gt_step_assistant_without_arguments: TextParts
    judge_system: str
    judge_user: TextParts
    banking: BankingPrompts | None = None


class Texts(_FrozenForm):
    """The texts of one version; ``tools`` and ``models`` by domain (the stop tool: ``solo``)."""

    # A file of recorded texts has more at the top: where and how it was recorded.
    model_config = ConfigDict(extra="ignore")

    format: Literal["maseval-tau2-texts/1"]
    version: str
    prompts: Prompts
    tools: Mapping[str, DomainTools]
    models: Mapping[str, Mapping[str, ModelText]]

    @cached_property
    def sha256(self) -> str:
        """The hash that names these texts in a run's record; it does not depend on the version."""
        named = {key: self.as_json()[key] for key in ("prompts", "tools", "models")}
        return hashlib.sha256(_compact(named)).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """Return the extracted form, keys in order; what a version does not have is left out."""
        return self.model_dump(exclude_unset=True)

    def to_bytes(self) -> bytes:
        """Return the extracted form as the content of a file."""
        return _compact(self.as_json())


def _compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
