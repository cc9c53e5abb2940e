"""What the rules look at, and what they answer."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

from maseval.benchmark.tau2.conversation.messages import spoken_text, tool_calls_of
from maseval.benchmark.tau2.forms.message import Tau2Message, Tau2ToolCall, complete_call
from maseval.benchmark.tau2.trust.explain.explanation import Explanation
from maseval.benchmark.tau2.trust.explain.repair import Change
from maseval.benchmark.tau2.trust.explain.subject import Subject
from maseval.benchmark.tau2.trust.explain.tracing import CallAt
from maseval.benchmark.tau2.world.tasks import Action

Who = Literal["agent", "user", "task", "infrastructure", "unclear"]

WHO: tuple[Who, ...] = ("agent", "user", "task", "infrastructure", "unclear")


@dataclass(frozen=True)
class Label:
    """Who failed and how, the name of the rule that says so, and what it saw."""

    who: Who
    what: str
    rule: str
    evidence: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """In JSON's terms."""
        return {**asdict(self), "evidence": list(self.evidence)}

    def text(self) -> str:
        """In words, the evidence below."""
        return "\n".join([f"{self.who}: {self.what} (rule: {self.rule})", *self._indented()])

    def _indented(self) -> Iterator[str]:
        return (f"  {line}" for line in self.evidence)


class Failure:
    """A failed simulation and its explanation."""

    def __init__(self, subject: Subject, explanation: Explanation) -> None:
        self.subject = subject
        self.explanation = explanation
        self.messages = subject.case.recording.messages

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """What would have made it pass; empty if that is not known."""
        repair = self.explanation.repair
        return (repair.changes or ()) if repair else ()

    @cached_property
    def to_add(self) -> list[Change]:
        return [change for change in self.changes if change.kind == "add"]

    @cached_property
    def to_leave_out(self) -> list[Change]:
        return [change for change in self.changes if change.kind == "leave out"]

    def said_by(self, role: str) -> Iterator[tuple[int, str]]:
        """The texts of one side with their places."""
        for index, message in enumerate(self.messages):
            text = spoken_text(message) if message["role"] == role else ""
            if text:
                yield index, text

    @cached_property
    def writes(self) -> list[tuple[int, Tau2ToolCall, Tau2Message]]:
        """The recorded writes with their places and answers, whether they worked or not."""
        from_calls = list(_answered(self.messages))
        return [each for each in from_calls if self.subject.case.setting.may_write(each[1])]

    @property
    def gold(self) -> tuple[Action, ...]:
        return tuple(self.subject.case.task.actions)

    @cached_property
    def wrong_writers(self) -> list[CallAt]:
        """The calls that left a wrong value and are not of the reference solution themselves."""
        writers = [each.written_by for each in self.explanation.wrong_fields if each.written_by]
        return [at for at in writers if not self._is_gold(at.call)]

    @cached_property
    def attempts(self) -> list[tuple[int, Tau2ToolCall]]:
        """The writes that are about what a missing one is about, with other arguments."""
        return [
            (index, call)
            for index, call, _ in self.writes
            if not self._is_gold(call) and any(_alike(call, c.call) for c in self.to_add)
        ]

    def _is_gold(self, call: Tau2ToolCall) -> bool:
        return any(
            action.name == call["name"] and action.arguments == call["arguments"]
            for action in self.gold
        )


def _alike(one: Tau2ToolCall, other: Tau2ToolCall) -> bool:
    """Whether two calls have the same tool and the same subject, which is the first argument."""
    first = next(iter(other["arguments"]), None)
    if one["name"] != other["name"] or first is None:
        return False
    return bool(one["arguments"].get(first) == other["arguments"][first])


def _answered(messages: Sequence[Tau2Message]) -> Iterator[tuple[int, Tau2ToolCall, Tau2Message]]:
    """Every call with the answer of the same id that follows; without one it is left out."""
    for index, message in enumerate(messages):
        for call in tool_calls_of(message) or ():
            answers = (m for m in messages[index + 1 :] if m["role"] == "tool")
            answer = next((m for m in answers if m.get("id", "") == call.get("id", "")), None)
            if answer is not None:
                yield index, complete_call(call), answer


LabelRule = Callable[[Failure], Label | None]

_TOKEN = re.compile(r"[#\w][\w.@'+-]*[\w]")


def telling_values(value: object) -> Iterator[str]:
    """The texts in a call's arguments that can be recognised elsewhere: ids, names, dates."""
    match value:
        case str() if len(value) >= 3:
            yield value
        case dict():
            for each in value.values():
                yield from telling_values(each)
        case list():
            for each in value:
                yield from telling_values(each)


def id_like(text: str) -> list[str]:
    """The words of a text that look like ids, numbers or addresses: they have a digit or an @."""
    words = _TOKEN.findall(text)
    return [word for word in words if len(word) >= 4 and re.search(r"[\d@]", word)]
