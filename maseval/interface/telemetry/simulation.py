"""A finished repetition as a trace: turns, agents at work, model calls and tool calls.

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
from maseval.core.recorded import LoggedCall, RecordedCall, RecordedMessage, Shape
from maseval.core.words import text, text_or_none

Value = str | bool | int | float | tuple[str, ...]


@dataclass
class Span:
    """A part of a simulation; ``client`` marks a request to a provider, ``error`` a failure."""

    name: str
    start: int
    end: int
    attributes: dict[str, Value] = field(default_factory=dict)
    client: bool = False
    error: str | None = None
    events: dict[str, dict[str, Value]] = field(default_factory=dict)
    children: list["Span"] = field(default_factory=list)

    def innermost(self, moment: int) -> "Span":
        """Return the deepest span that lasted at a moment, of which the last begun; else this one.

        Model calls have no children.
        """
        for child in reversed(self.children):
            if child.start <= moment <= child.end and not child.client:
                return child.innermost(moment)
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


def lasting(seconds: float | None) -> int:
    """Return a duration in nanoseconds; 0 if it is not known."""
    return int(max(seconds or 0.0, 0.0) * SECOND)


def began_and_ended(call: LoggedCall) -> tuple[int, int] | None:
    """Return the times at which a call began and ended."""
    start = moment(call.timestamp)
    if start is None and call.start_time is not None:
        start = int(call.start_time * SECOND)
    return None if start is None else (start, start + lasting(call.seconds))


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
    return sorted(found, key=lambda each: each.start)


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
    return start, start + lasting(report.seconds)


# OpenTelemetry's semantic conventions for generative AI, in the version that the URL names.
SCHEMA_URL = "https://opentelemetry.io/schemas/1.38.0"

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
MODEL = "gen_ai.request.model"
AGENT = "gen_ai.agent.name"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
OUTPUT = "gen_ai.output.messages"
ERROR_TYPE = "error.type"

CHAT, EXECUTE_TOOL, INVOKE_AGENT = "chat", "execute_tool", "invoke_agent"

_PROVIDERS = {
    "OpenAIModelAdapter": "openai",
    "OpenAIResponsesModelAdapter": "openai",
    "AnthropicModelAdapter": "anthropic",
    "GoogleGenAIModelAdapter": "gcp.gemini",
}


def _provider_of(model: str | None, adapter: str = "") -> str:
    """Return a model's provider: by the class that asks it, else by the first part of its id."""
    prefix = model.partition("/")[0] if model and "/" in model else ""
    return _PROVIDERS.get(adapter) or prefix or "_OTHER"


def _message(role: str, content: object, calls: Sequence[Shape] = ()) -> str:
    """Return one message in the form of the conventions, as the JSON text of a list."""
    parts: list[Shape] = [{"type": "text", "content": content}] if content else []
    parts += [{"type": "tool_call", **call} for call in calls]
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
    root.events["gen_ai.evaluation.result"] = _verdict(report)
    found = stretches(report)
    worked = [_stretch_span(report, each, content=content) for each in found]
    for number_of_turn, turn in enumerate(_turns(worked), start=1):
        turn.name, turn.attributes["maseval.turn"] = f"turn {number_of_turn}", number_of_turn
        root.children.append(turn)
    for call in _model_calls(report):
        root.innermost(call.start).children.append(call)
    if content:
        for stretch, span in zip(found, worked, strict=True):
            _note_answers(stretch, span)
    root.settle()
    return root


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


def _verdict(report: RecordedReport) -> dict[str, Value]:
    named = next((each.evaluator for each in report.evaluations), None)
    return drop_unknown(
        {
            "gen_ai.evaluation.name": named or "reward",
            "gen_ai.evaluation.score.value": report.reward,
            "gen_ai.evaluation.score.label": report.kind,
        }
    )


def _turns(worked: Sequence[Span]) -> Iterator[Span]:
    """Yield one turn at a time: the user's message and all that agents do in reply."""
    turn: Span | None = None
    for span in worked:
        if turn is not None and span.end <= turn.end and span.start < turn.end:
            turn.innermost(span.start).children.append(span)
        elif turn is not None and all(each.attributes.get(AGENT) == USER for each in turn.children):
            turn.children.append(span)
            turn.end = span.end
        else:
            if turn is not None:
                yield turn
            turn = Span("turn", span.start, span.end, children=[span])
    if turn is not None:
        yield turn


def _stretch_span(report: RecordedReport, stretch: Stretch, *, content: bool) -> Span:
    settings = report.agents.get(stretch.name)
    model = settings.model_id if settings else None
    facts: dict[str, Value | None] = {
        OPERATION: INVOKE_AGENT,
        PROVIDER: _provider_of(model),
        AGENT: stretch.name,
        MODEL: model,
        **_tokens_logged(report, stretch),
    }
    if content:
        heard, last = stretch.heard.content, stretch.steps[-1].message
        facts["gen_ai.input.messages"] = _message("user", heard) if heard else None
        facts[OUTPUT] = _as_output(last) if last.role != "tool" else None
    name = f"{INVOKE_AGENT} {stretch.name}"
    span = Span(name, stretch.start, stretch.end, drop_unknown(facts))
    # An agent with tokens of its own asks its model itself, as those of frameworks do.
    asks_itself = "input_tokens" in report.agent_usage.get(stretch.name, {})
    span.children += _steps(stretch, model, asks_itself, content)
    return span


def _tokens_logged(report: RecordedReport, stretch: Stretch) -> dict[str, Value | None]:
    """Add up the tokens that a framework counted for a turn, or for the steps of it."""
    trace = report.traced_agents.get(stretch.name)
    own = [
        call
        for call in (trace.logs if trace else ())
        if (times := began_and_ended(call)) and stretch.start <= times[0] < stretch.end
    ]
    if not any("input_tokens" in call.raw for call in own):
        return {}
    return {
        INPUT_TOKENS: sum(int(call.input_tokens or 0) for call in own),
        OUTPUT_TOKENS: sum(int(call.output_tokens or 0) for call in own),
    }


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
            yield _chat_span(model, "", start, step.end)
        called |= {each.id: each for each in step.message.calls}
        start = step.end


def _chat_span(model: str | None, adapter: str, start: int, end: int) -> Span:
    facts = {
        OPERATION: CHAT,
        PROVIDER: _provider_of(model, adapter),
        MODEL: model,
    }
    name = f"{CHAT} {model}" if model else CHAT
    return Span(name, start, end, drop_unknown(facts), client=True)


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
            if (times := began_and_ended(call)) is None:
                continue
            span = _chat_span(trace.model_id, trace.type or "", *times)
            counts = {
                INPUT_TOKENS: call.input_tokens,
                OUTPUT_TOKENS: call.output_tokens,
                "maseval.attempt": call.attempt,
            }
            span.attributes |= {k: int(value) for k, value in counts.items() if value is not None}
            if call.status == "error":
                span.attributes[ERROR_TYPE] = text(call.error_type)
                span.error = text(call.error)
            yield span


def _note_answers(stretch: Stretch, span: Span) -> None:
    """Add the model's answer to each call, if every message has its call."""
    chats = [each for each in span.children if each.client and each.error is None]
    answers = [step.message for step in stretch.steps if step.message.role != "tool"]
    if len(chats) == len(answers):
        for chat, answer in zip(sorted(chats, key=lambda each: each.start), answers, strict=True):
            chat.attributes[OUTPUT] = _as_output(answer)


def _as_output(message: RecordedMessage) -> str:
    described = [
        {"id": call.id, "name": call.name, "arguments": call.function.get("arguments")}
        for call in message.calls
    ]
    return _message("assistant", message.content, described)
