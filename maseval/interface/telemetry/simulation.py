"""A finished repetition as a trace: turns, agents at work, model calls and tool calls."""

from collections.abc import Iterator, Mapping, Sequence

from maseval.core.outcome import RecordedReport
from maseval.core.recorded import LoggedCall, RecordedCall, RecordedMessage, Shape
from maseval.core.words import text, text_or_none
from maseval.interface.telemetry.conversation import (
    USER,
    Step,
    Stretch,
    bounds,
    counts_its_tokens,
    stretches,
)
from maseval.interface.telemetry.span import Span, Value, began_and_ended, drop_unknown, trace_id

# OpenTelemetry's semantic conventions for generative AI, in the version that the URL names.
SCHEMA_URL = "https://opentelemetry.io/schemas/1.38.0"

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
MODEL = "gen_ai.request.model"
AGENT = "gen_ai.agent.name"
CONVERSATION = "gen_ai.conversation.id"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
TOOL = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
CALL_ID = "gen_ai.tool.call.id"
CALL_ARGUMENTS = "gen_ai.tool.call.arguments"
CALL_RESULT = "gen_ai.tool.call.result"
INPUT = "gen_ai.input.messages"
OUTPUT = "gen_ai.output.messages"
EVALUATION = "gen_ai.evaluation.result"
SCORE_NAME = "gen_ai.evaluation.name"
SCORE = "gen_ai.evaluation.score.value"
SCORE_LABEL = "gen_ai.evaluation.score.label"
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
    """Return the id of the trace about a repetition: that of its run, task and trial."""
    parsed = RecordedReport(report)
    run = parsed.run_id or parsed.simulation.id or parsed.started_at or ""
    return trace_id(text(run), *parsed.key)


def simulation_span(given: Shape, *, content: bool = False) -> Span:
    """Return the tree of spans; ``content`` adds messages, and arguments and results of tools."""
    report = RecordedReport(given)
    failure = text(report.error.message or report.status) if report.error else None
    root = Span(_title(report), *bounds(report), _facts(report), error=failure)
    root.events[EVALUATION] = _verdict(report)
    found = stretches(report)
    worked = [_stretch_span(report, each, content=content) for each in found]
    for number_of_turn, turn in enumerate(_turns(worked), start=1):
        turn.name, turn.attributes["maseval.turn"] = f"turn {number_of_turn}", number_of_turn
        root.children.append(turn)
    for call in _model_calls(report):
        root.innermost(call.start, besides=(CHAT,)).children.append(call)
    if content:
        for stretch, span in zip(found, worked, strict=True):
            _note_answers(stretch, span)
    root.settle()
    return root


def _title(report: RecordedReport) -> str:
    domain, task, trial = report.key
    return " ".join(filter(None, ("simulation", domain, task, f"trial {trial}")))


def _facts(report: RecordedReport) -> dict[str, Value]:
    domain, task, trial = report.key
    return drop_unknown(
        {
            CONVERSATION: f"{report.run_id or ''}/{domain}/{task}/{trial}",
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
            SCORE_NAME: named or "reward",
            SCORE: report.reward,
            SCORE_LABEL: report.kind,
        }
    )


def _turns(worked: Sequence[Span]) -> Iterator[Span]:
    """Yield one turn at a time: the user's message and all that agents do in reply."""
    turn: Span | None = None
    for span in worked:
        if turn is not None and span.end <= turn.end and span.start < turn.end:
            turn.innermost(span.start, besides=(CHAT,)).children.append(span)
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
    facts = {
        OPERATION: INVOKE_AGENT,
        PROVIDER: _provider_of(model),
        AGENT: stretch.name,
        MODEL: model,
        **_tokens_logged(report, stretch),
    }
    name = f"{INVOKE_AGENT} {stretch.name}"
    span = Span(name, stretch.start, stretch.end, drop_unknown(facts))
    if content:
        span.attributes |= drop_unknown(_content_attributes(stretch))
    span.children += _steps(stretch, model, counts_its_tokens(report, stretch.name), content)
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
        TOOL: name,
        TOOL_TYPE: "function",
        CALL_ID: text_or_none(step.message.call_id),
        ERROR_TYPE: "tool_error" if failed else None,
    }
    if content:
        facts[CALL_ARGUMENTS] = text_or_none(call.function.get("arguments"))
        facts[CALL_RESULT] = text_or_none(step.message.content)
    error = "the tool returned an error" if failed else None
    return Span(f"{EXECUTE_TOOL} {name}", start, step.end, drop_unknown(facts), error=error)


def _model_calls(report: RecordedReport) -> Iterator[Span]:
    for trace in report.traced_models.values():
        for call in trace.logs:
            if (times := began_and_ended(call)) is not None:
                yield _logged_call(call, _chat_span(trace.model_id, trace.type or "", *times))


def _logged_call(call: LoggedCall, span: Span) -> Span:
    tokens = {
        INPUT_TOKENS: call.input_tokens,
        OUTPUT_TOKENS: call.output_tokens,
        "maseval.attempt": call.attempt,
    }
    span.attributes |= {key: int(value) for key, value in tokens.items() if value is not None}
    if call.status == "error":
        span.attributes[ERROR_TYPE] = text(call.error_type)
        span.error = text(call.error)
    return span


def _content_attributes(stretch: Stretch) -> Mapping[str, Value | None]:
    heard, last = stretch.heard.content, stretch.steps[-1].message
    return {
        INPUT: _message("user", heard) if heard else None,
        OUTPUT: _as_output(last) if last.role != "tool" else None,
    }


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
