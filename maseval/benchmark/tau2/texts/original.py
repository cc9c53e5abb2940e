"""The original's words and form: with them a request equals the one that the original makes.

Equal at the point where the original hands over to LiteLLM: ``request_body`` is that object.
After tau2-bench v0.2.0 and v1.0.1, src/tau2/utils/llm_utils.py (MIT, Sierra Research).
"""

import json
import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, cast

from maseval.benchmark.tau2.formats.chat import check_sendable
from maseval.benchmark.tau2.formats.message import Tau2Message, Tau2ToolCall, tool_calls_of
from maseval.benchmark.tau2.texts.prompts import function_text
from maseval.benchmark.tau2.texts.schemas import ToolSchema, described
from maseval.benchmark.tau2.texts.texts import TextParts, Texts, ToolText, filled
from maseval.benchmark.tau2.versions import ParticipantRules
from maseval.core.messages import Message, MessageForm
from maseval.core.model import Params
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


RETRIES = 3


class OriginalWording(Wording):
    """The words of one version of the original, which are fetched, and its form of a request."""

    name = "original"

    def __init__(self, texts: Texts, participants: ParticipantRules) -> None:
        super().__init__(participants)
        self.texts = texts
        self.message_form = MessageForm.NULLS if participants.sends_nulls else MessageForm.NO_NULLS

    @property
    def sha256(self) -> str:
        return self.texts.sha256

    def to_config(self) -> dict[str, str]:
        return {"name": self.name, "version": self.texts.version, "sha256": self.sha256}

    def agent_prompt(self, policy: str) -> str:
        prompts = self.texts.prompts
        return prompts.agent_system_prompt.format(
            agent_instruction=prompts.agent_instruction, domain_policy=policy
        )

    def oracle_prompt(self, policy: str, actions: Actions) -> str:
        prompts = self.texts.prompts
        steps = (f"[Step {n}] {self._step(action)}" for n, action in enumerate(actions, start=1))
        return prompts.gt_system_prompt.format(
            agent_instruction=prompts.gt_instruction,
            domain_policy=policy,
            resolution_steps="\n".join(steps),
        )

    def _step(self, action: Mapping[str, Any]) -> str:
        steps: dict[str, TextParts] = {
            "user": self.texts.prompts.gt_step_user_with_arguments,
            "assistant": self.texts.prompts.gt_step_assistant_with_arguments,
        }
        shown = {"action.get_func_format()": function_text(action)}
        return filled(steps[action.get("requestor", "assistant")], shown)

    def solo_prompt(self, policy: str, ticket: str) -> str:
        prompts = self.texts.prompts
        instruction = prompts.solo_instruction.format(
            stop_function_name=prompts.solo_stop_function_name
        )
        return prompts.solo_system_prompt.format(
            agent_instruction=instruction, domain_policy=policy, ticket=ticket
        )

    def user_prompt(self, guidelines: str, scenario: str | None) -> str:
        return self.texts.prompts.user_system_prompt.format(
            global_user_sim_guidelines=guidelines,
            global_user_sim_guidelines_with_persona=guidelines,
            instructions=scenario,
        )

    def judge_prompts(
        self, messages: Sequence[Tau2Message], assertions: Sequence[str]
    ) -> JudgePrompts:
        values = {
            "trajectory_str": conversation_text(messages),
            "nl_assertions": str(list(assertions)),
        }
        prompts = self.texts.prompts
        return JudgePrompts(prompts.judge_system, filled(prompts.judge_user, values))

    def tools(
        self, definitions: Sequence[Mapping[str, Any]], domain: str, side: Side = "assistant"
    ) -> list[ToolSchema]:
        """A domain that the original does not have describes its tools itself."""
        if domain not in self.texts.tools:
            return [dict(definition) for definition in definitions]
        theirs = self.texts.tools[domain]
        known: tuple[ToolText, ...] = getattr(theirs, side)
        names = [definition["function"]["name"] for definition in definitions]
        if side == "user":  # a task may give its user only some of the tools
            known = tuple(tool for tool in known if tool.name in names)
        else:  # the way to search a knowledge base decides about the tools that come first
            searches = {tool.name: tool for tool in theirs.retrieval}
            known = (*(searches[name] for name in names if name in searches), *known)
        return described(definitions, known, self.texts, domain)

    def chat(self, messages: Iterable[Tau2Message]) -> list[Message]:
        return [_to_chat(message) for message in self._sendable(messages)]

    def params(self, model_id: str, llm_args: Mapping[str, object] | None) -> dict[str, object]:
        """What was asked for replaces the original's default and is not added to it."""
        asked: dict[str, object] = {"temperature": 0.0} if llm_args is None else {**llm_args}
        return asked | self._thinking(model_id)

    def judge_params(self, model_id: str) -> dict[str, object]:
        return self.params(model_id, None)

    def seed(self, role: ModelRole, seeds: SeedGenerator) -> int | None:
        """One seed for each trial, whatever the task; agent and user share it."""
        if role == "judge" or seeds.global_seed is None:
            return None
        trial = cast(int, seeds.gather_config().get("rep_index") or 0)
        return trial_seed(seeds.global_seed, trial)


def _to_chat(message: Tau2Message) -> Message:
    content = message["content"]
    match message["role"]:
        case "tool":
            return {"role": "tool", "content": content, "tool_call_id": message["id"]}
        case "assistant":
            calls = tool_calls_of(message)
            sent = None if calls is None else [_call_to_chat(call) for call in calls]
            return cast(Message, {"role": "assistant", "content": content, "tool_calls": sent})
        case role:
            return {"role": role, "content": content}


def _call_to_chat(call: Tau2ToolCall) -> dict[str, object]:
    """The name stands there twice, as in the original."""
    name, arguments = call["name"], json.dumps(call["arguments"])
    return {
        "id": call["id"],
        "name": name,
        "function": {"name": name, "arguments": arguments},
        "type": "function",
    }


def request_body(
    model_id: str,
    messages: Sequence[Message],
    params: Params,
    tools: Sequence[ToolSchema] | None = None,
    tool_choice: str | None = None,
    seed: int | None = None,
) -> dict[str, object]:
    """A request as the original hands it to LiteLLM, its keys in order.

    ``num_retries`` is LiteLLM's own and never sent; here the call policy decides about retries.
    """
    given = dict(params)
    last = {"thinking": given.pop("thinking")} if "thinking" in given else {}
    seeded = {} if seed is None else {"seed": seed}
    return {
        "model": model_id,
        "messages": list(messages),
        "tools": list(tools) if tools else None,
        "tool_choice": tool_choice,
        **given,
        **seeded,
        "num_retries": given.get("num_retries", RETRIES),
        **last,
    }


_HIGHEST = 1_000_000


def trial_seed(seed: int, trial: int) -> int:
    """The seed of a trial, counted from 0; it is the same for all tasks."""
    numbers = random.Random(seed)
    return [numbers.randint(0, _HIGHEST) for _ in range(trial + 1)][-1]
