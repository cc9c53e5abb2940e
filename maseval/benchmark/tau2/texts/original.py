"""The words and form of requests; with the original's a request equals the one that it makes.

A run has one ``Wording``; agent, user and judge make every request with it. The choice between the
original's and our own is in ``tau2/wording.py``, because the hash of ours covers the tools of every
domain.

The original's words are laid over our own tool schemas. Names, types and defaults are the same in
both; descriptions are replaced or removed. The keys are put into the order in which pydantic writes
them, whatever the installed release does.

Our own words are composed from the texts in ``prompt_templates``; policies, guidelines and
scenarios are the original's data.

Requests are equal at the point where the original hands over to LiteLLM.
After tau2-bench v0.2.0 and v1.0.1, src/tau2/utils/llm_utils.py (MIT, Sierra Research).

After tau2-bench v0.2.0, src/tau2/utils/llm_utils.py (MIT, Sierra Research).
"""

import json
import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from operator import is_
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

from maseval.benchmark.tau2.data import title_of
from maseval.benchmark.tau2.formats.message import (
    Tau2Message,
    Tau2ToolCall,
    check_sendable,
    to_chat,
    tool_calls_of,
    with_thought,
)
from maseval.benchmark.tau2.formats.simulation import UserInstructions, trial_seed
from maseval.benchmark.tau2.texts.texts import Form, Texts, TextsError, ToolText, fill_parts
from maseval.benchmark.tau2.versions import ParticipantRules
from maseval.core.messages import Message, MessageForm
from maseval.core.seeding import SeedGenerator

TEMPLATES = (
    "agent_instruction",
    "oracle_instruction",
    "solo_instruction",
    "short_conversations",
    "judge_system",
    "judge_user",
    "user_guidelines",
    "user_guidelines_tools",
    "policy_question",
    "cause_question",
)


@cache
def template(name: str) -> str:
    """Return one of the texts in ``prompt_templates``, without its final newline."""
    folder = Path(__file__).parents[1] / "prompt_templates"
    return (folder / f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")


def fill_template(name: str, values: Mapping[str, str]) -> str:
    """Return a template with values in its places, inserted verbatim whatever they contain."""
    # Not by ``format``: what a text contains, such as a policy's own braces, must stay as it is.
    return re.sub(r"\{(\w+)\}", lambda place: values[place[1]], template(name))


@lru_cache(maxsize=64)
def agent_prompt(policy: str, *, instruction: str | None = None, **sections: str) -> str:
    """Return the agent's system prompt: instructions, policy, further sections by their tags."""
    parts = {"instructions": instruction or template("agent_instruction"), "policy": policy}
    return "\n".join(f"<{tag}>\n{text}\n</{tag}>" for tag, text in (parts | sections).items())


def user_prompt(guidelines: str, scenario: str | None) -> str:
    return f"{guidelines}\n\n<scenario>\n{scenario}\n</scenario>"


def scenario_text(persona: str | None, instructions: str | UserInstructions | None) -> str:
    """Return a task's user scenario as the simulated user reads it."""
    lines = []
    if persona is not None:
        lines += ["Persona:", _indent(persona)]
    told = (
        _instructions_text(instructions) if isinstance(instructions, Mapping) else str(instructions)
    )
    lines += ["Instructions:", _indent(told)]
    return "\n".join(lines)


def _instructions_text(instructions: UserInstructions) -> str:
    parts = {
        "Reason for call": instructions.get("reason_for_call"),
        "Known info": instructions.get("known_info"),
        "Unknown info": instructions.get("unknown_info"),
        "Task instructions": instructions.get("task_instructions"),
    }
    told = (f"{title}:\n{_indent(text)}" for title, text in parts.items() if text is not None)
    domain = [f"Domain: {instructions['domain']}"] if instructions.get("domain") else []
    return "\n".join([*domain, *told])


# Each of a task's simulations has them.
@lru_cache(maxsize=4096)
def _indent(text: str) -> str:
    return textwrap.indent(text, "\t")


def resolution_steps(actions: Iterable[Mapping[str, Any]]) -> str:
    """Return the reference solution as numbered steps, for an agent that may see it."""
    return "\n".join(
        f"[Step {number}] {_step(action)}" for number, action in enumerate(actions, start=1)
    )


def _step(action: Mapping[str, Any]) -> str:
    shown = function_text(action)
    if action.get("requestor", "assistant") == "user":
        return f"Instruct the user to perform the following action: {shown}."
    return f"Perform the following action: {shown}."


def function_text(action: Mapping[str, Any]) -> str:
    """Return an action as a call with its arguments."""
    arguments = ", ".join(f"{key}={value}" for key, value in action["arguments"].items())
    return f"{action['name']}({arguments})"


Side = Literal["assistant", "user"]
ModelRole = Literal["agent", "user", "judge"]
Actions = Iterable[Mapping[str, Any]]
ToolSchema = dict[str, Any]

SOLO = "solo"
"""The pseudo-domain of the tool with which an agent without a user stops."""


_SEED_PATHS: dict[ModelRole, str] = {
    "agent": "agents/default_agent",
    "user": "simulators/user",
    "judge": "evaluators/nl_judge",
}


class Wording(ABC):
    """The words and the form of all requests of a run to its models: our own, unless overridden."""

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
        return {"name": self.name, "sha256": self.sha256}

    def agent_prompt(self, policy: str) -> str:
        return agent_prompt(policy)

    def oracle_prompt(self, policy: str, actions: Actions) -> str:
        """Return the system prompt of an agent that is shown the reference solution."""
        instruction = template("oracle_instruction")
        return agent_prompt(
            policy, instruction=instruction, resolution_steps=resolution_steps(actions)
        )

    def solo_prompt(self, policy: str, ticket: str) -> str:
        """Return the system prompt of an agent that works from a ticket."""
        return agent_prompt(policy, instruction=template("solo_instruction"), ticket=ticket)

    def user_prompt(self, guidelines: str, scenario: str | None) -> str:
        return user_prompt(guidelines, scenario)

    def judge_prompts(
        self, messages: Sequence[Tau2Message], assertions: Sequence[str]
    ) -> tuple[str, str]:
        """Return the prompts of a judge of natural-language assertions: how to grade, and what."""
        holes = {"conversation": conversation_text(messages), "assertions": str(list(assertions))}
        return template("judge_system"), fill_template("judge_user", holes)

    def tools(
        self, definitions: Sequence[Mapping[str, Any]], domain: str, side: Side = "assistant"
    ) -> list[ToolSchema]:
        """Return tool definitions of one side of a domain, described in these words."""
        return [dict(definition) for definition in definitions]

    def chat(self, messages: Iterable[Tau2Message]) -> list[Message]:
        """Return a conversation in the form in which a model is sent it."""
        every = self._sendable(messages)
        return [with_thought(chat, said) for chat, said in zip(to_chat(every), every, strict=True)]

    def params(self, model_id: str, llm_args: Mapping[str, object] | None) -> dict[str, object]:
        """Return the parameters of a request to agent or user, given those asked for."""
        return {"temperature": 0.0, **self._thinking(model_id), **(llm_args or {})}

    def judge_params(self, model_id: str) -> dict[str, object]:
        return {"temperature": 0.0}

    def seed(self, role: ModelRole, seeds: SeedGenerator) -> int | None:
        return seeds.derive_seed(_SEED_PATHS[role])


def conversation_text(messages: Iterable[Tau2Message]) -> str:
    """Return a conversation as a judge reads it."""
    return "\n".join(f"{said['role']}: {said.get('content')}" for said in messages)


def format_texts_config(config: Mapping[str, object], digits: int = 12) -> str:
    """Return the texts of a run's configuration as ``original v0.2.0 (0f524b729bf8)``."""
    version = f" {title_of(str(config['version']))}" if "version" in config else ""
    return f"{config.get('name')}{version} ({str(config.get('sha256'))[:digits]})"


class OriginalWording(Wording):
    """The words of one version of the original, which are fetched, and its form of a request."""

    name = "original"

    def __init__(self, texts: Texts, participants: ParticipantRules) -> None:
        super().__init__(participants)
        self.texts = texts
        self.message_form = MessageForm.NULLS if participants.sends_nulls else MessageForm.NO_NULLS
        self._described: dict[tuple[str, ...], tuple[Any, list[ToolSchema]]] = {}

    @property
    def sha256(self) -> str:
        return self.texts.sha256

    def to_config(self) -> dict[str, str]:
        return {"name": self.name, "version": self.texts.version, "sha256": self.sha256}

    def agent_prompt(self, policy: str) -> str:
        prompts = self.texts.prompts
        return str(prompts["agent_system_prompt"]).format(
            agent_instruction=prompts["agent_instruction"], domain_policy=policy
        )

    def oracle_prompt(self, policy: str, actions: Actions) -> str:
        prompts = self.texts.prompts
        steps = (f"[Step {n}] {self._step(action)}" for n, action in enumerate(actions, start=1))
        return str(prompts["gt_system_prompt"]).format(
            agent_instruction=prompts["gt_instruction"],
            domain_policy=policy,
            resolution_steps="\n".join(steps),
        )

    def _step(self, action: Mapping[str, Any]) -> str:
        side, shown = action.get("requestor", "assistant"), function_text(action)
        parts = self.texts.prompts[f"gt_step_{side}_with_arguments"]
        return fill_parts(parts, {"action.get_func_format()": shown})

    def solo_prompt(self, policy: str, ticket: str) -> str:
        prompts = self.texts.prompts
        instruction = prompts["solo_instruction"].format(
            stop_function_name=prompts["solo_stop_function_name"]
        )
        return str(prompts["solo_system_prompt"]).format(
            agent_instruction=instruction, domain_policy=policy, ticket=ticket
        )

    def user_prompt(self, guidelines: str, scenario: str | None) -> str:
        return str(self.texts.prompts["user_system_prompt"]).format(
            # The releases call the place by different names.
            global_user_sim_guidelines=guidelines,
            global_user_sim_guidelines_with_persona=guidelines,
            instructions=scenario,
        )

    def judge_prompts(
        self, messages: Sequence[Tau2Message], assertions: Sequence[str]
    ) -> tuple[str, str]:
        values = {
            "trajectory_str": conversation_text(messages),
            "nl_assertions": str(list(assertions)),
        }
        prompts = self.texts.prompts
        return prompts["judge_system"], fill_parts(prompts["judge_user"], values)

    def tools(
        self, definitions: Sequence[Mapping[str, Any]], domain: str, side: Side = "assistant"
    ) -> list[ToolSchema]:
        """Return the definitions; a domain that the original does not have keeps its own texts."""
        if domain not in self.texts.tools:
            return super().tools(definitions, domain, side)
        names = [definition["function"]["name"] for definition in definitions]
        # The same for every simulation of a domain; to describe them takes longer than all else.
        described, schemas = self._described.get((domain, side, *names), ((), []))
        # A domain makes its definitions once, so that identity tells whether they are the same.
        if not described or not all(map(is_, described, definitions)):
            schemas = self._describe(definitions, names, domain, side)
            self._described[(domain, side, *names)] = tuple(definitions), schemas
        return [dict(schema) for schema in schemas]

    def _describe(
        self, definitions: Sequence[Mapping[str, Any]], names: list[str], domain: str, side: Side
    ) -> list[ToolSchema]:
        theirs = self.texts.tools[domain]
        known = list(theirs[side])
        if side == "user":  # a task may give its user only some of the tools
            known = [tool for tool in known if tool["name"] in names]
        else:  # the way to search a knowledge base decides about the tools that come first
            searches = {tool["name"]: tool for tool in theirs.get("retrieval", ())}
            known = [*(searches[name] for name in names if name in searches), *known]
        return describe_tools(definitions, known, self.texts, domain)

    def chat(self, messages: Iterable[Tau2Message]) -> list[Message]:
        return [with_thought(_to_chat(message), message) for message in self._sendable(messages)]

    def params(self, model_id: str, llm_args: Mapping[str, object] | None) -> dict[str, object]:
        """Return the parameters; those asked for replace the original's default as a whole."""
        asked: dict[str, object] = {"temperature": 0.0} if llm_args is None else {**llm_args}
        # As in the original, this holds whatever was asked for.
        return asked | self._thinking(model_id)

    def judge_params(self, model_id: str) -> dict[str, object]:
        return self.params(model_id, None)

    def seed(self, role: ModelRole, seeds: SeedGenerator) -> int | None:
        """Return one seed for each trial, whatever the task; agent and user share it."""
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
    """Return a call in which the name stands twice, as in the original."""
    name, arguments = call["name"], json.dumps(call["arguments"])
    return {
        "id": call["id"],
        "name": name,
        "function": {"name": name, "arguments": arguments},
        "type": "function",
    }


def describe_tools(
    definitions: Sequence[Mapping[str, Any]], tools: Sequence[ToolText], texts: Texts, domain: str
) -> list[ToolSchema]:
    """Our function schemas of a toolkit as the original would show its own.

    ``tools`` are the original's of the same toolkit (``texts.tools[domain]["assistant"]``); they
    must have our names and parameters, in our order.
    """
    ours = [definition["function"]["name"] for definition in definitions]
    _compare(f"the tools of {domain}", ours, [tool["name"] for tool in tools], texts)
    pairs = zip(definitions, tools, strict=True)
    return [described_tool(definition, tool, texts, domain) for definition, tool in pairs]


def described_tool(
    definition: Mapping[str, Any], tool: ToolText, texts: Texts, domain: str
) -> ToolSchema:
    """One function schema of ours with the original's words."""
    parameters = definition["function"]["parameters"]
    name, theirs = tool["name"], tool["parameters"]
    _compare(f"the parameters of {name}", parameters["properties"], theirs, texts)
    worded = _with_texts(parameters, None, theirs)
    if "$defs" in worded:
        models = texts.models.get(domain, {})
        worded["$defs"] = {
            each: _model(each, schema, models) for each, schema in worded["$defs"].items()
        }
    schema = _in_order(worded, open_objects=texts.version == "1.0.1")
    function = {"name": name, "description": tool["description"], "parameters": schema}
    return {"type": "function", "function": function}


def _compare(what: str, ours: Iterable[str], theirs: Iterable[str], texts: Texts) -> None:
    ours, theirs = list(ours), list(theirs)
    if ours != theirs:
        more = [name for name in ours if name not in theirs]
        less = [name for name in theirs if name not in ours]
        raise TextsError(
            f"{what} differ from {title_of(texts.version)} of the original: only here "
            f"{', '.join(more) or 'none'}; only there {', '.join(less) or 'none'}"
            + ("" if more or less else "; their order differs")
        )


def _model(name: str, schema: ToolSchema, models: Mapping[str, Form]) -> ToolSchema:
    if name not in models:
        raise TextsError(f"the original has no texts for {name}")
    return _with_texts(schema, models[name]["description"], models[name]["fields"])


def _with_texts(
    schema: Mapping[str, Any], description: str | None, texts: Mapping[str, str | None]
) -> ToolSchema:
    """Return a schema with this description, and its properties with those of ``texts``."""
    worded = _with_description(schema, description)
    if "properties" in worded:
        worded["properties"] = {
            name: _with_description(inner, texts.get(name))
            for name, inner in worded["properties"].items()
        }
    return worded


def _with_description(schema: Mapping[str, Any], description: str | None) -> ToolSchema:
    kept = {key: value for key, value in schema.items() if key != "description"}
    return kept if description is None else {**kept, "description": description}


def _in_order(schema: Mapping[str, Any], *, open_objects: bool) -> ToolSchema:
    """Keys sorted at every level; the members of ``properties`` and a default stay as they are."""
    items = dict(_ordered_items(schema, open_objects))
    inner = items.get("additionalProperties", True)
    if items.get("type") == "object" and "properties" not in items and inner is True:
        # How pydantic writes a bare `dict` depends on its release: take that of the version.
        items.pop("additionalProperties", None)
        items |= {"additionalProperties": True} if open_objects else {}
    return {key: items[key] for key in sorted(items)}


def _ordered_items(schema: Mapping[str, Any], open_objects: bool) -> Iterator[tuple[str, Any]]:
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            # Parameters stay in the order of the signature, in which a model reads them.
            names = sorted(value) if key == "$defs" else value
            yield key, {name: _in_order(value[name], open_objects=open_objects) for name in names}
        elif key == "default":
            yield key, value
        elif isinstance(value, dict):
            yield key, _in_order(value, open_objects=open_objects)
        elif key in ("anyOf", "allOf", "oneOf", "prefixItems"):
            yield key, [_in_order(choice, open_objects=open_objects) for choice in value]
        else:
            yield key, value
