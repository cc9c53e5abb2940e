"""A finished repetition as a trace: participants at work, model calls and tool calls.

Spans are trees before any library, whose ids follow from their subject. Times are nanoseconds since
1970, as OpenTelemetry counts them.

A report's messages are cut into stretches where the speaker changes. An environment that records
the whole conversation with its times is asked first, because it sees the agents of all frameworks
alike. Otherwise every agent's own messages are read; frameworks hand these over when a turn is
finished, so that the steps of a turn may seem to take no time.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from maseval.core.outcome import RecordedReport
from maseval.core.recorded import RecordedCall, RecordedMessage, Shape
from maseval.core.words import text, text_or_none

Value = str | bool | int | float | tuple[str, ...]


class Evaluation(NamedTuple):
    """One evaluation of a simulation; its ``explanation`` may quote what was said."""

    name: str
    score: float | None
    label: str
    explanation: str | None = None

    def attributes(self, *, content: bool) -> dict[str, Value]:
        """Return the attributes of an event ``gen_ai.evaluation.result``."""
        known = {
            "name": self.name,
            "score.value": self.score,
            "score.label": self.label,
            "explanation": self.explanation if content else None,
        }
        return {f"gen_ai.evaluation.{k}": each for k, each in drop_unknown(known).items()}


@dataclass
class Span:
    """A part of a simulation; ``client`` marks a request to a provider, ``error`` a failure."""

    name: str
    start: int
    end: int
    attributes: dict[str, Value] = field(default_factory=dict)
    client: bool = False
    error: str | None = None
    children: list["Span"] = field(default_factory=list)

    def innermost(self, start: int, end: int) -> "Span":
        """Return the deepest span, of which the last begun, that lasted so long; else this one."""
        for child in reversed(self.children):
            if child.start <= start < child.end and end <= child.end and not child.client:
                return child.innermost(start, end)
        return self

    def settle(self) -> None:
        """Put children in order of time, none of them outside its parent."""
        for child in self.children:
            child.settle()
        self.children.sort(key=lambda child: child.start)
        self.start = min([self.start, *(child.start for child in self.children)])
        self.end = max([self.start, self.end, *(child.end for child in self.children)])


def number_spans(
    span: Span, trace: int, parent: int | None = None, place: tuple[int, ...] = ()
) -> Iterator[tuple[Span, int, int | None]]:
    """Yield every span of a trace, parents first, with its id and that of its parent.

    An id depends on the place of its span alone.
    """
    own = _hash([trace, *place], 8)
    yield span, own, parent
    for position, child in enumerate(span.children):
        yield from number_spans(child, trace, own, (*place, position))


def _hash(identity: list[str | int], size: int) -> int:
    digest = hashlib.sha256(json.dumps(identity).encode()).digest()
    return int.from_bytes(digest[:size]) or 1  # an id of zero is not valid


def drop_unknown(attributes: Mapping[str, Value | None]) -> dict[str, Value]:
    return {key: value for key, value in attributes.items() if value is not None}


SECOND = 1_000_000_000


def moment(text: object) -> int | None:
    """Return the moment that an ISO 8601 text names; without a zone, as in reports, it is local."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError):
        return None
    return int(found.timestamp()) * SECOND + found.microsecond * 1000


USER = "user"
NOTHING = RecordedMessage({})
"""The message that nobody sent, before the first one."""


class Step(NamedTuple):
    """One message of a participant, or a tool's answer to it, and when it was complete."""

    message: RecordedMessage
    end: int


class Stretch(NamedTuple):
    """The steps of one participant between messages of others, from ``heard`` to its answer."""

    name: str
    start: int
    end: int
    steps: Sequence[Step]
    heard: RecordedMessage = NOTHING


def stretches(report: RecordedReport) -> list[Stretch]:
    """Cut the recorded conversation where the speaker changes; without one, what agents said."""
    start = bounds(report)[0]
    if report.simulation.messages:
        name = next(iter(report.traced_agents), "agent")
        start = moment(report.simulation.start_time) or start
        found = list(_cut(report.simulation.messages, name, start))
        # What a conversation is opened with is not the agent's own.
        found = found[1:] if len(found) > 1 and found[0].name != USER else found
    else:
        found = [
            stretch
            for name, trace in report.traced_agents.items()
            for stretch in _cut(trace.messages, name, start)
            if stretch.steps[0].message.role in ("assistant", "tool")
        ]
    # Whoever works for another began later, or at the same moment and ended earlier.
    return sorted(found, key=lambda stretch: (stretch.start, -stretch.end))


def _cut(messages: Sequence[RecordedMessage], name: str, start: int) -> Iterator[Stretch]:
    """Yield what the user and the agent of that name said, by turns."""
    heard = NOTHING
    for who, group in groupby(messages, _speaker):
        steps: list[Step] = []
        end = start
        for message in group:
            end = max(end, moment(message.timestamp) or end)
            steps.append(Step(message, end))
        yield Stretch(USER if who == USER else name, start, end, steps, heard)
        start, heard = end, steps[-1].message


def _speaker(message: RecordedMessage) -> str:
    # A tool's answer belongs to the caller of the tool.
    role = (message.requestor or "assistant") if message.role == "tool" else message.role
    return "assistant" if role == "assistant" else USER


def bounds(report: RecordedReport) -> tuple[int, int]:
    """Return the times at which the repetition began and ended."""
    start = moment(report.started_at)
    if start is None:  # in a file of another program
        start = moment(report.simulation.start_time) or 0
    return start, start + _lasting(report.seconds)


def _lasting(seconds: float | None) -> int:
    return int(max(seconds or 0.0, 0.0) * SECOND)


# OpenTelemetry's semantic conventions for generative AI, in the version that the URL names.
EVALUATION = "gen_ai.evaluation.result"
SCHEMA_URL = "https://opentelemetry.io/schemas/1.38.0"

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
MODEL = "gen_ai.request.model"
AGENT = "gen_ai.agent.name"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
ERROR_TYPE = "error.type"

CHAT, EXECUTE_TOOL, INVOKE_AGENT = "chat", "execute_tool", "invoke_agent"


def _message(role: str, content: object) -> str:
    """Return one message in the form of the conventions, as the JSON text of a list."""
    parts = [{"type": "text", "content": content}] if content else []
    return text([{"role": role, "parts": parts}])


def trace_of(report: Shape) -> int:
    """Return the id of the trace about a run, task and trial: 128 bits, the same every time."""
    parsed = RecordedReport(report)
    run = parsed.run_id or parsed.simulation.id or parsed.started_at or ""
    return _hash([text(run), *parsed.key], 16)


def simulation_span(given: Shape, *, content: bool = False) -> Span:
    """Return the tree of spans; ``content`` adds messages, and arguments and results of tools."""
    report = RecordedReport(given)
    failure = text(report.error.message or report.status) if report.error else None
    domain, task, trial = report.key
    title = " ".join(filter(None, ("simulation", domain, task, f"trial {trial}")))
    root = Span(title, *bounds(report), _facts(report), error=failure)
    for stretch in stretches(report):
        parent = root.innermost(stretch.start, stretch.end)
        parent.children.append(_stretch_span(report, stretch, content=content))
    for call in _model_calls(report):
        root.innermost(call.start, call.start).children.append(call)
    # Clocks differ, and some frameworks hand over their times late.
    root.settle()
    return root


def verdicts_of(given: Shape) -> Iterator[Evaluation]:
    """Yield the verdict of each evaluator of a finished simulation."""
    for evaluation in RecordedReport(given).evaluations:
        if (passed := evaluation.passed) is not None:
            score = float(passed) if evaluation.reward is None else evaluation.reward
            label = "passed" if passed else "failed"
            yield Evaluation(f"verdict: {evaluation.evaluator or 'evaluator'}", score, label)


def _facts(report: RecordedReport) -> dict[str, Value]:
    domain, task, trial = report.key
    return drop_unknown(
        {
            "gen_ai.conversation.id": f"{report.run_id or ''}/{domain}/{task}/{trial}",
            "maseval.run_id": report.run_id,
            "maseval.domain": domain or None,
            "maseval.task_id": task,
            "maseval.trial": trial,
            "maseval.status": text(report.status),
            "maseval.outcome": report.kind,
            "maseval.passed": report.outcome.passed,
            "maseval.reward": report.reward,
            "maseval.termination": report.termination,
            "maseval.cost": report.cost,
            "maseval.tokens": report.tokens,
            "maseval.attempts": len(report.attempts) + 1,
            ERROR_TYPE: report.error.type,
        }
    )


def _stretch_span(report: RecordedReport, stretch: Stretch, *, content: bool) -> Span:
    settings = report.agents.get(stretch.name)
    model = settings.model_id if settings else None
    facts: dict[str, Value | None] = {
        OPERATION: INVOKE_AGENT,
        PROVIDER: _provider_of(model),
        AGENT: stretch.name,
        MODEL: model,
    }
    if content:
        heard, last = stretch.heard.content, stretch.steps[-1].message
        facts["gen_ai.input.messages"] = _message("user", heard) if heard else None
        facts["gen_ai.output.messages"] = (
            None if last.role == "tool" else _message("assistant", last.content)
        )
    name = f"{INVOKE_AGENT} {stretch.name}"
    span = Span(name, stretch.start, stretch.end, drop_unknown(facts))
    # An agent with tokens of its own asks its model itself, as those of frameworks do.
    asks_itself = "input_tokens" in report.agent_usage.get(stretch.name, {})
    span.children += _steps(stretch, model, asks_itself, content)
    return span


def _steps(stretch: Stretch, model: str | None, asks_itself: bool, content: bool) -> Iterator[Span]:
    """Yield tool calls and, of an agent that asks its model itself, a model call for each message.

    Each lasts from the step before to its own end.
    """
    called: dict[object, RecordedCall] = {}
    start = stretch.start
    for step in stretch.steps:
        if step.message.role == "tool":
            call = called.get(step.message.call_id, RecordedCall({}))
            yield _tool_span(step, call, start, content=content)
        elif step.message.role == "assistant" and asks_itself:
            yield _chat_span(model, start, step.end)
        called |= {call.id: call for call in step.message.calls}
        start = step.end


def _chat_span(model: str | None, start: int, end: int) -> Span:
    facts = {OPERATION: CHAT, PROVIDER: _provider_of(model), MODEL: model}
    name = f"{CHAT} {model}" if model else CHAT
    return Span(name, start, end, drop_unknown(facts), client=True)


def _provider_of(model: str | None) -> str:
    """Return a model's provider, which is the first part of its id."""
    return model.partition("/")[0] if model and "/" in model else "_OTHER"


def _tool_span(step: Step, call: RecordedCall, start: int, *, content: bool) -> Span:
    name = call.name or step.message.name or "unknown"
    failed = step.message.error is True
    facts: dict[str, Value | None] = {
        OPERATION: EXECUTE_TOOL,
        "gen_ai.tool.name": name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": text_or_none(step.message.call_id),
        ERROR_TYPE: "tool_error" if failed else None,
    }
    if content:
        facts["gen_ai.tool.call.arguments"] = text_or_none(call.function.get("arguments"))
        facts["gen_ai.tool.call.result"] = text_or_none(step.message.content)
    error = "the tool returned an error" if failed else None
    return Span(f"{EXECUTE_TOOL} {name}", start, step.end, drop_unknown(facts), error=error)


def _model_calls(report: RecordedReport) -> Iterator[Span]:
    for trace in report.traced_models.values():
        for call in trace.logs:
            if (start := moment(call.timestamp)) is None:
                continue
            span = _chat_span(trace.model_id, start, start + _lasting(call.seconds))
            counts = {INPUT_TOKENS: call.input_tokens, OUTPUT_TOKENS: call.output_tokens}
            span.attributes |= {k: int(value) for k, value in counts.items() if value is not None}
            if call.status == "error":
                span.attributes[ERROR_TYPE] = text(call.error_type)
                span.error = text(call.error)
            yield span
