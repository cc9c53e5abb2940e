"""Write conversations as ATIF 1.8, so that ``read_trajectory`` returns them unchanged.

The steps of a conversation are made first and read back; where a message comes back different, the
difference is kept in ``extra.maseval`` of its step.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from maseval.core.messages import arguments_of
from maseval.core.recorded import RecordedMessage, Shape, amount, mapping, number, whole_number
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
    """A simulation with all that is known of it: ``record`` has its messages, as results files do.

    ``told`` is the rest of the extension. ``agent`` has the fields of ATIF's agent, ``members``
    what the agents of a team recorded themselves, and ``used`` the tokens and the cost where
    messages do not count them.
    """

    record: Shape
    told: Shape = field(default_factory=dict)
    agent: Shape = field(default_factory=dict)
    prompt: str | None = None
    members: Mapping[str, Sequence[Shape]] = field(default_factory=dict)
    used: Shape = field(default_factory=dict)


def trajectory_of(conversation: Conversation) -> tuple[JsonDict, list[str]]:
    """Return a conversation as ATIF, and what had to be changed in it."""
    record, notes = _clean(conversation.record)
    messages = record.get("messages") or []
    if record.get("messages") is not None:
        del record["messages"]
    name = text_or_none(record.get("id"))
    steps = _Steps(name or "simulation", conversation.prompt or ("" if not messages else None))
    steps.add_team(conversation.members)
    for message in messages:
        steps.add(message)
    said = [RecordedMessage(each) for each in messages if each.get("role") == "user"]
    if unsaid := whole_number(sum(each.input_tokens or 0 for each in said)):
        notes.append(f"{count_of(unsaid, 'input token')} of the customer are not in the metrics")
    own = {"form": FORM, **_known(**conversation.told), "simulation": record}
    root = _known(
        schema_version=VERSION,
        session_id=name or None,
        trajectory_id=name or None,
        agent={"name": "agent", "version": "unknown", **_known(**conversation.agent)},
        steps=steps.steps,
        final_metrics=_known(**_totals(steps.steps, record, conversation.used)),
        notes="; ".join(notes) or None,
        extra={EXTENSION: own},
        subagent_trajectories=steps.embedded or None,
    )
    # What ATIF has no field for shows when its steps are read.
    back = read_trajectory(root).messages
    for message, found, holder in zip(messages, back, steps.holders, strict=True):
        if difference := _difference(message, found):
            holder["extra"] = {EXTENSION: difference}
    return root, notes


def _clean(record: Shape) -> tuple[JsonDict, list[str]]:
    """Return a record as JSON that every parser reads."""
    # Unescaped, so that surrogates without a partner fail to be encoded.
    plain = json.dumps(json.loads(strict_json.dumps(record)), ensure_ascii=False)
    try:
        plain.encode()
    except UnicodeEncodeError:
        # By way of UTF-16, in which two surrogates that belong together become their character.
        whole = plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return json.loads(whole), [_SURROGATES]
    return json.loads(plain), []


class _Steps:
    """The steps of a trajectory while messages are added.

    ``holders`` has the step or result of each message, in whose ``extra`` more of it can stand.
    """

    def __init__(self, name: str, prompt: str | None = None) -> None:
        self._name = name
        self.steps: list[JsonDict] = []
        self.embedded: list[JsonDict] = []
        self.holders: list[JsonDict] = []
        self._open: JsonDict = {}  # the step that the next answers belong to
        self._side: object = None
        self._turn: list[JsonDict] | None = None  # steps of the customer's open turn
        if prompt is not None:
            self._refer(PROMPT, message=prompt)

    def add(self, message: JsonDict) -> None:
        """Add a message in its place."""
        match message.get("role"):
            case "tool":
                self._add_answer(RecordedMessage(message))
            case "user" if message.get("tool_calls"):
                if self._turn is None:
                    name, self._turn = f"{self._name}/{CUSTOMER}/{len(self.embedded)}", []
                    self._embed(name, CUSTOMER, self._turn)
                    self._refer(None, name)
                self._speak(self._turn, message)
            case "assistant":
                self._turn = None
                self._speak(self.steps, message)
            case role:
                self._turn, self._side = None, None
                source = "user" if role == "user" else "system"
                self.holders.append(_append(self.steps, source, message))

    def add_team(self, members: Mapping[str, Sequence[Shape]]) -> None:
        """Embed what each agent of a team recorded, and refer to it."""
        names = {f"{self._name}/agents/{name}": name for name, said in members.items() if said}
        if names:
            self._refer(TEAM, *names)
        for whole, name in names.items():
            part = _Steps(whole)
            for message in members[name]:
                part.add(dict(message))
            self._embed(whole, name, part.steps, extra={EXTENSION: {"kind": MEMBER}})
            self.embedded += part.embedded

    def _speak(self, steps: list[JsonDict], message: JsonDict) -> None:
        """Add what a side says or calls as a step of an agent."""
        parsed = RecordedMessage(message)
        metrics = {
            "prompt_tokens": whole_number(parsed.input_tokens),
            "completion_tokens": whole_number(parsed.output_tokens),
            "cost_usd": amount(message.get("cost")),
        }
        calls = [
            {
                "tool_call_id": text_or_none(call.id) or "",
                "function_name": call.name or "",
                "arguments": arguments_of(call.function.get("arguments")),
            }
            for call in parsed.calls
        ]
        usable = {key: each for key, each in metrics.items() if each is not None and each >= 0}
        step = _append(steps, "agent", message)
        step |= _known(
            tool_calls=calls or None,
            # ATIF forbids metrics in a step with 0 calls of a model, as a greeting is one.
            metrics=usable or None,
            llm_call_count=1 if parsed.usage else None,
            reasoning_content=parsed.reasoning,
        )
        self._open, self._side = step, message["role"]
        self.holders.append(step)

    def _add_answer(self, message: RecordedMessage) -> None:
        """Add an answer to the step with its call; one without a call gets a step of its own."""
        if self._side != (message.requestor or "assistant"):
            self._turn, self._side = None, None
            self._open = _append(self.steps, "system", {})
        # harbor refuses an id that no call of the same step has; ids repeat in a conversation.
        known = {call["tool_call_id"] for call in self._open.get("tool_calls", ())}
        said, answered = message.content, text_or_none(message.call_id)
        result = _known(
            source_call_id=answered if answered in known else None,
            content=said if isinstance(said, str) else None,
        )
        self._open.setdefault("observation", {"results": []})["results"].append(result)
        self.holders.append(result)

    def _embed(self, name: str, agent: str, steps: list[JsonDict], **more: Any) -> None:
        self.embedded.append(
            {
                "schema_version": VERSION,
                "trajectory_id": name,
                "agent": {"name": agent, "version": "unknown"},
                "steps": steps,
                **more,
            }
        )

    def _refer(self, kind: str | None, *names: str, message: str = "") -> None:
        step = _append(self.steps, "system", {"content": message})
        results = [{"subagent_trajectory_ref": [{"trajectory_id": name}]} for name in names]
        step |= {"observation": {"results": results}} if results else {}
        step |= {"extra": {EXTENSION: {"kind": kind}}} if kind else {}


def _append(steps: list[JsonDict], source: str, message: JsonDict) -> JsonDict:
    content, when = message.get("content"), message.get("timestamp")
    step = _known(
        step_id=len(steps) + 1,
        timestamp=when if _is_moment(when) else None,
        source=source,
        message=content if isinstance(content, str) else text(content or ""),
    )
    steps.append(step)
    return step


def _is_moment(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(datetime.fromisoformat(value))
    except ValueError:
        return False


def _totals(steps: Sequence[JsonDict], record: Shape, used: Shape) -> JsonDict:
    """Return the agent's tokens, and the cost of both sides."""
    costs = [number(record.get(f"{side}_cost")) for side in ("agent", "user")]
    known = [cost for cost in costs if cost is not None]
    totals: JsonDict = {"total_cost_usd": sum(known) if known else used.get("cost_usd")}
    for key in ("prompt_tokens", "completion_tokens"):
        counts = [whole_number(mapping(step, "metrics").get(key)) for step in steps]
        said = [count for count in counts if count is not None]
        totals[f"total_{key}"] = sum(said) if said else used.get(key)
    return {**totals, "total_steps": len(steps)}


def _difference(message: JsonDict, back: JsonDict) -> JsonDict:
    """Return what of a message did not come back, and what came back without being in it."""
    changed = {k: v for k, v in message.items() if k not in back or _exact(back[k]) != _exact(v)}
    absent = [key for key in back if key not in message]
    return _known(message=changed or None, absent=absent or None)


def _exact(value: object) -> str:
    # Compared as text: 1, 1.0 and True are equal in Python, but not in a file.
    return json.dumps(value, sort_keys=True)


def _known(**parts: Any) -> JsonDict:
    return {key: value for key, value in parts.items() if value is not None}
