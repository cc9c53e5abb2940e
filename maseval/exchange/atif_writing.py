"""Write conversations as ATIF 1.8, so that ``read_trajectory`` returns them unchanged.

The steps of a conversation are made first and read back; where a message comes back different, the
difference is kept in ``extra.maseval`` of its step. What all messages of a role have in common
there stands once, in ``defaults`` of the whole.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from maseval.core.messages import arguments_of
from maseval.core.outcome import RecordedReport
from maseval.core.recorded import RecordedMessage, Shape, amount, mapping, whole_number
from maseval.core.storage import strict_json
from maseval.core.words import count_of, text, text_or_none
from maseval.exchange.atif import (
    CUSTOMER,
    EXTENSION,
    FORM,
    MEMBER,
    PROMPT,
    TEAM,
    VERSION,
    JsonDict,
    read_trajectory,
)

_SURROGATES = "texts held characters that are not Unicode, which U+FFFD replaces"


@dataclass(frozen=True)
class Conversation:
    """What is known of a simulation: ``record`` has its messages, in the form of results files.

    ``told`` is the rest of the extension: domain, release, whether the agent worked alone.
    ``prompt`` and ``tools`` are those of the agent, and ``members`` has what the agents of a team
    recorded themselves. ``used`` are the agent's tokens where its messages do not count them.
    """

    record: Shape
    told: Shape = field(default_factory=dict)
    agent: str = "agent"
    version: str = "unknown"
    model: str | None = None
    user_model: str | None = None
    prompt: str | None = None
    tools: Sequence[Shape] = ()
    members: Mapping[str, Sequence[RecordedMessage]] = field(default_factory=dict)
    used: Shape = field(default_factory=dict)


def chat_form(message: RecordedMessage, agent: str | None = None) -> JsonDict:
    """Return a message of any framework in the form of results files, as far as it says more."""
    calls = [
        {
            "id": text_or_none(call.id) or "",
            "name": call.name or "",
            "arguments": arguments_of(call.function.get("arguments")),
            "requestor": call.requestor or "assistant",
        }
        for call in message.calls
    ]
    known = {"role": message.role, "content": message.content, "timestamp": message.timestamp}
    if message.role == "tool":
        known |= {"id": text_or_none(message.call_id) or "", "error": message.error is True}
        known["requestor"] = message.requestor or "assistant"
    elif calls:
        known["tool_calls"] = calls
    if message.reasoning:
        known["raw_data"] = {"reasoning": {"text": message.reasoning}}
    return known if agent is None else {**known, "agent": agent}


def trajectory_of(conversation: Conversation) -> tuple[JsonDict, list[str]]:
    """Return a conversation as ATIF, and what had to be changed in it."""
    record, notes = _clean(conversation.record)
    messages = record.get("messages") or []
    if record.get("messages") is not None:
        del record["messages"]
    name = text_or_none(record.get("id"))
    steps = _Steps(name or "simulation", conversation)
    for message in messages:
        steps.add(message)
    customers = [each for each in messages if each["role"] == "user"]
    unsaid = sum(
        whole_number(mapping(each, "usage").get("prompt_tokens")) or 0 for each in customers
    )
    if unsaid:
        notes.append(f"{count_of(unsaid, 'input token')} of the customer are not in the metrics")
    told = {**conversation.told, "user_model": conversation.user_model, "simulation": record}
    own: JsonDict = {"form": FORM, **{k: v for k, v in told.items() if v is not None}}
    root = {
        "schema_version": VERSION,
        **({"session_id": name, "trajectory_id": name} if name else {}),
        "agent": _without_nothing(
            name=conversation.agent,
            version=conversation.version,
            model_name=conversation.model,
            tool_definitions=list(conversation.tools) or None,
        ),
        "steps": steps.steps,
        "final_metrics": _without_nothing(**_totals(steps.steps, record, conversation.used)),
        **({"notes": "; ".join(notes)} if notes else {}),
        "extra": {EXTENSION: own},
        **({"subagent_trajectories": steps.embedded} if steps.embedded else {}),
    }
    _keep_differences(root, own, messages, steps.holders)
    return root, notes


def _clean(record: Shape) -> tuple[JsonDict, list[str]]:
    """Return a record as JSON that every parser reads."""
    plain = json.dumps(json.loads(strict_json.dumps(record)), ensure_ascii=False)
    try:
        plain.encode()
        notes = []
    except UnicodeEncodeError:
        plain = plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        notes = [_SURROGATES]
    found: JsonDict = json.loads(plain)
    return found, notes


class _Steps:
    """The steps of a trajectory while messages are added.

    ``holders`` has the step or result of each message, in whose ``extra`` more of it can stand.
    """

    def __init__(self, name: str, conversation: Conversation) -> None:
        self._name = name
        self.steps: list[JsonDict] = []
        self.embedded: list[JsonDict] = []
        self.holders: list[JsonDict] = []
        self._open: JsonDict | None = None  # the step that the next answers belong to
        self._side = "assistant"
        self._turn: list[JsonDict] | None = None  # steps of the customer's open turn
        self._model, self._user_model = conversation.model, conversation.user_model
        if conversation.prompt or not conversation.record.get("messages"):
            self._system(PROMPT, message=conversation.prompt or "")
        self._add_members(conversation.members)

    def add(self, message: JsonDict) -> None:
        """Add a message in its place."""
        match message["role"]:
            case "tool":
                self._add_answer(message)
            case "user" if message.get("tool_calls"):
                self._add_customer_call(message)
            case "assistant":
                self._turn = None
                self._speak(self.steps, message)
            case role:
                self._turn = self._open = None
                source = "user" if role == "user" else "system"
                step = _append(self.steps, source, message)
                self.holders.append(step)

    def _speak(self, steps: list[JsonDict], message: JsonDict) -> None:
        """Add what a side says or calls as a step of an agent."""
        step = _append(steps, "agent", message)
        calls = [
            {
                "tool_call_id": call.get("id") or "",
                "function_name": call["name"],
                "arguments": call["arguments"],
            }
            for call in message.get("tool_calls") or ()
        ]
        usage, thought = mapping(message, "usage"), mapping(message, "raw_data", "reasoning")
        metrics = {
            "prompt_tokens": whole_number(usage.get("prompt_tokens")),
            "completion_tokens": whole_number(usage.get("completion_tokens")),
            "cost_usd": amount(message.get("cost")),
        }
        step |= _without_nothing(
            tool_calls=calls or None,
            metrics=_without_nothing(**metrics) or None,
            llm_call_count=1 if usage else None,
            reasoning_content=text_or_none(thought.get("text")),
        )
        self._open, self._side = step, message["role"]
        self.holders.append(step)

    def _add_customer_call(self, message: JsonDict) -> None:
        if self._turn is None:
            self._turn = []
            name = f"{self._name}/{CUSTOMER}/{len(self.embedded)}"
            model = _without_nothing(model_name=self._user_model)
            self._embed(name, {"name": CUSTOMER, "version": "unknown", **model}, self._turn)
            self._system(None, _reference(name))
        self._speak(self._turn, message)

    def _add_answer(self, message: JsonDict) -> None:
        if self._open is None or self._side != message.get("requestor", "assistant"):
            self._turn = None
            self._open, self._side = self._system(None), "assistant"
            self._open["observation"] = {"results": []}
            step, self._open = self._open, None
        else:
            step = self._open
        known = {call["tool_call_id"] for call in step.get("tool_calls", ())}
        content = message.get("content")
        result = {
            **({"source_call_id": message["id"]} if message.get("id") in known else {}),
            **({"content": content} if isinstance(content, str) else {}),
        }
        step.setdefault("observation", {"results": []})["results"].append(result)
        self.holders.append(result)

    def _add_members(self, members: Mapping[str, Sequence[RecordedMessage]]) -> None:
        names = {f"{self._name}/agents/{name}": said for name, said in members.items() if said}
        if not names:
            return
        self._system(TEAM, *map(_reference, names))
        for name, said in names.items():
            part = _Steps(name, Conversation({"messages": said}))
            for message in said:
                part.add({**_SILENT, **chat_form(message)})
            agent = {"name": name.rpartition("/")[2], "version": "unknown"}
            self._embed(name, agent, part.steps, {"kind": MEMBER})
            self.embedded += part.embedded

    def _embed(
        self, name: str, agent: JsonDict, steps: list[JsonDict], own: JsonDict | None = None
    ) -> None:
        known = {"schema_version": VERSION, "trajectory_id": name, "agent": agent, "steps": steps}
        self.embedded.append(known | ({"extra": {EXTENSION: own}} if own else {}))

    def _system(self, kind: str | None, *results: JsonDict, message: str = "") -> JsonDict:
        step = _append(self.steps, "system", {"content": message})
        step |= {"observation": {"results": list(results)}} if results else {}
        step |= {"extra": {EXTENSION: {"kind": kind}}} if kind else {}
        return step


_SILENT: JsonDict = {"content": "", "tool_calls": None}


def _append(steps: list[JsonDict], source: str, message: JsonDict) -> JsonDict:
    content, when = message.get("content"), message.get("timestamp")
    step: JsonDict = {
        "step_id": len(steps) + 1,
        **({"timestamp": when} if _is_moment(when) else {}),
        "source": source,
        "message": content if isinstance(content, str) else text(content or ""),
    }
    steps.append(step)
    return step


def _reference(name: str) -> JsonDict:
    return {"subagent_trajectory_ref": [{"trajectory_id": name}]}


def _is_moment(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(datetime.fromisoformat(value))
    except ValueError:
        return False


def _totals(steps: Iterable[JsonDict], record: Shape, used: Shape) -> JsonDict:
    """Return the agent's tokens, and the cost of both sides."""
    metrics = [mapping(step, "metrics") for step in steps]
    costs = (amount(record.get(f"{side}_cost")) for side in ("agent", "user"))
    known = [cost for cost in costs if cost is not None]
    totals: JsonDict = {"total_cost_usd": sum(known) if known else used.get("cost_usd")}
    for key in ("prompt_tokens", "completion_tokens"):
        counts = [each[key] for each in metrics if key in each]
        totals[f"total_{key}"] = sum(counts) if counts else used.get(key)
    return {**totals, "total_steps": len(metrics)}


def used_by_agent(report: RecordedReport) -> JsonDict:
    """Return the tokens of a report's agent and the cost of all, as its models counted them."""
    mine = [each for each in report.usage if each.role == "agent"]
    counts = {
        "prompt_tokens": int(sum(each.input_tokens or 0 for each in mine)) or None,
        "completion_tokens": int(sum(each.output_tokens or 0 for each in mine)) or None,
    }
    return {**counts, "cost_usd": report.cost}


def _keep_differences(
    root: JsonDict, own: JsonDict, messages: list[JsonDict], holders: list[JsonDict]
) -> None:
    """Put beside each step what ATIF did not keep of its message."""
    read = read_trajectory(root).messages
    differences = list(map(_difference, messages, read))
    by_role: dict[str, list[_Difference]] = {}
    for back, each in zip(read, differences, strict=True):
        by_role.setdefault(back["role"], []).append(each)
    defaults = {role: _common(same) for role, same in by_role.items() if len(same) > 1}
    for back, holder, (changed, absent) in zip(read, holders, differences, strict=True):
        usual, gone = defaults.get(back["role"], ({}, []))
        rest = {key: value for key, value in changed.items() if key not in usual}
        missing = [key for key in absent if key not in gone]
        if found := _without_nothing(message=rest or None, absent=missing or None):
            holder["extra"] = {EXTENSION: found}
    told = {
        role: _without_nothing(message=usual or None, absent=gone or None)
        for role, (usual, gone) in defaults.items()
        if usual or gone
    }
    if told:
        own["defaults"] = told


_Difference = tuple[JsonDict, list[str]]


def _difference(message: JsonDict, back: JsonDict) -> _Difference:
    changed = {
        key: value
        for key, value in message.items()
        if key not in back or _exact(back[key]) != _exact(value)
    }
    return changed, [key for key in back if key not in message]


def _common(differences: Sequence[_Difference]) -> _Difference:
    first, others = differences[0], differences[1:]
    usual = {
        key: value
        for key, value in first[0].items()
        if all(key in each and _exact(each[key]) == _exact(value) for each, _ in others)
    }
    return usual, [key for key in first[1] if all(key in gone for _, gone in others)]


def _exact(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _without_nothing(**parts: Any) -> JsonDict:
    return {key: value for key, value in parts.items() if value is not None}
