"""The interface of a wording: the words and the form in which the models of a run are asked.

A run has one ``Wording``; agent, user and judge make every request with it. The original's is in
``original``. Our own, and the choice between them, is in ``tau2/wording.py``, because its hash
covers the tools of every domain.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from maseval.benchmark.tau2.formats.chat import check_sendable
from maseval.benchmark.tau2.formats.message import Tau2Message
from maseval.benchmark.tau2.texts.schemas import ToolSchema
from maseval.benchmark.tau2.versions import ParticipantRules
from maseval.core.messages import Message, MessageForm
from maseval.core.seeding import SeedGenerator

Side = Literal["assistant", "user"]
ModelRole = Literal["agent", "user", "judge"]
Actions = Iterable[Mapping[str, Any]]

SOLO = "solo"
"""The pseudo-domain of the tool with which an agent without a user stops."""


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


def conversation_text(messages: Iterable[Tau2Message]) -> str:
    """A conversation as a judge reads it."""
    return "\n".join(f"{said['role']}: {said.get('content')}" for said in messages)


def texts_in_words(config: Mapping[str, object], digits: int = 12) -> str:
    """What a run's configuration says of its texts: ``original v0.2.0 (0f524b729bf8)``."""
    version = f" v{config['version']}" if "version" in config else ""
    return f"{config.get('name')}{version} ({str(config.get('sha256'))[:digits]})"
