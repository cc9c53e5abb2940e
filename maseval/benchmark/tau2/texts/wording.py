"""In whose words, and in which form, the models of a run are asked: in our own, or the original's.

A run has one ``Wording``; agent, user and judge make every request with it. Ours is here, the
original's in ``original``.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Literal, NamedTuple

from maseval.benchmark.tau2.conversation.chat import check_sendable, to_chat
from maseval.benchmark.tau2.conversation.prompts import (
    TEMPLATES,
    agent_prompt,
    filled_template,
    resolution_steps,
    template,
    user_prompt,
)
from maseval.benchmark.tau2.domains import DOMAINS
from maseval.benchmark.tau2.formats.message import Tau2Message
from maseval.benchmark.tau2.texts.schemas import ToolSchema
from maseval.benchmark.tau2.versions.rules import RULES_0_2_0, ParticipantRules
from maseval.core.messages import Message, MessageForm
from maseval.core.seeding import SeedGenerator

Side = Literal["assistant", "user"]
ModelRole = Literal["agent", "user", "judge"]
Actions = Iterable[Mapping[str, Any]]

SOLO = "solo"
"""The pseudo-domain of the tool with which an agent without a user stops."""

_SEED_PATHS: dict[ModelRole, str] = {
    "agent": "agents/default_agent",
    "user": "simulators/user",
    "judge": "evaluators/nl_judge",
}


class JudgePrompts(NamedTuple):
    """What a judge is sent: how to grade, and what."""

    system: str
    user: str


class Wording(ABC):
    """What the models of a run are sent, apart from policy, task and conversation."""

    name: ClassVar[str]
    message_form = MessageForm.PLAIN

    def __init__(self, participants: ParticipantRules) -> None:
        self._participants = participants

    def _thinking(self, model_id: str) -> dict[str, object]:
        disabled = self._participants.disables_claude_thinking and model_id.startswith("claude")
        return {"thinking": {"type": "disabled"}} if disabled else {}

    def _sendable(self, messages: Iterable[Tau2Message]) -> list[Tau2Message]:
        every = list(messages)
        if self._participants.refuses_blank_requests:
            check_sendable(every)
        return every

    @property
    @abstractmethod
    def sha256(self) -> str:
        """The hash that names these texts."""

    def to_config(self) -> dict[str, str]:
        """For a run's configuration."""
        return {"name": self.name, "sha256": self.sha256}

    @abstractmethod
    def agent_prompt(self, policy: str) -> str:
        """The system prompt of the reference agent."""

    @abstractmethod
    def oracle_prompt(self, policy: str, actions: Actions) -> str:
        """The same for an agent that is shown the reference solution."""

    @abstractmethod
    def solo_prompt(self, policy: str, ticket: str) -> str:
        """The same for an agent that works from a ticket."""

    @abstractmethod
    def user_prompt(self, guidelines: str, scenario: str | None) -> str:
        """The system prompt of the simulated user."""

    @abstractmethod
    def judge_prompts(
        self, messages: Sequence[Tau2Message], assertions: Sequence[str]
    ) -> JudgePrompts:
        """What the judge of natural-language assertions is asked."""

    @abstractmethod
    def tools(
        self, definitions: Sequence[Mapping[str, Any]], domain: str, side: Side = "assistant"
    ) -> list[ToolSchema]:
        """Tool definitions of one side of a domain, described in these words."""

    @abstractmethod
    def chat(self, messages: Iterable[Tau2Message]) -> list[Message]:
        """A conversation in the form in which a model is sent it."""

    @abstractmethod
    def params(self, model_id: str, llm_args: Mapping[str, object] | None) -> dict[str, object]:
        """The parameters of a request to agent or user, given those that were asked for."""

    @abstractmethod
    def judge_params(self, model_id: str) -> dict[str, object]:
        """The parameters of a request to the judge."""

    @abstractmethod
    def seed(self, role: ModelRole, seeds: SeedGenerator) -> int | None:
        """The seed of a model in one repetition."""


class OurWording(Wording):
    """Our own words: always there, but a number measured with them is not the original's."""

    name = "ours"

    @property
    def sha256(self) -> str:
        return _our_hash()

    def agent_prompt(self, policy: str) -> str:
        return agent_prompt(policy)

    def oracle_prompt(self, policy: str, actions: Actions) -> str:
        instruction = template("oracle_instruction")
        return agent_prompt(
            policy, instruction=instruction, resolution_steps=resolution_steps(actions)
        )

    def solo_prompt(self, policy: str, ticket: str) -> str:
        return agent_prompt(policy, instruction=template("solo_instruction"), ticket=ticket)

    def user_prompt(self, guidelines: str, scenario: str | None) -> str:
        return user_prompt(guidelines, scenario)

    def judge_prompts(
        self, messages: Sequence[Tau2Message], assertions: Sequence[str]
    ) -> JudgePrompts:
        holes = {"conversation": conversation_text(messages), "assertions": str(list(assertions))}
        return JudgePrompts(template("judge_system"), filled_template("judge_user", holes))

    def tools(
        self, definitions: Sequence[Mapping[str, Any]], domain: str, side: Side = "assistant"
    ) -> list[ToolSchema]:
        return [dict(definition) for definition in definitions]

    def chat(self, messages: Iterable[Tau2Message]) -> list[Message]:
        return to_chat(self._sendable(messages))

    def params(self, model_id: str, llm_args: Mapping[str, object] | None) -> dict[str, object]:
        return {"temperature": 0.0, **self._thinking(model_id), **(llm_args or {})}

    def judge_params(self, model_id: str) -> dict[str, object]:
        return {"temperature": 0.0}

    def seed(self, role: ModelRole, seeds: SeedGenerator) -> int | None:
        return seeds.derive_seed(_SEED_PATHS[role])


OURS = OurWording(RULES_0_2_0.participants)


def conversation_text(messages: Iterable[Tau2Message]) -> str:
    """A conversation as a judge reads it."""
    return "\n".join(f"{said['role']}: {said.get('content')}" for said in messages)


def texts_in_words(config: Mapping[str, object], digits: int = 12) -> str:
    """What a run's configuration says of its texts: ``original v0.2.0 (0f524b729bf8)``."""
    version = f" v{config['version']}" if "version" in config else ""
    return f"{config.get('name')}{version} ({str(config.get('sha256'))[:digits]})"


@cache
def _our_hash() -> str:
    """Of every text of ours that a model may read; tools belong to the texts."""
    kits = {name: (each.toolkit, each.user_toolkit) for name, each in DOMAINS.items()}
    texts = {
        "prompts": {name: template(name) for name in TEMPLATES},
        "tools": {
            name: [kit.definitions() for kit in both if kit is not None]
            for name, both in sorted(kits.items())
        },
    }
    compact = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(compact.encode()).hexdigest()
