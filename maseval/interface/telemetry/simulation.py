"""A finished repetition as a trace: turns, agents at work, model calls and tool calls."""

from collections.abc import Iterator, Mapping, Sequence

from maseval.core.outcome import RecordedReport
from maseval.core.recorded import Shape
from maseval.core.recorded_trace import LoggedCall, RecordedCall, RecordedMessage
from maseval.core.words import text, text_or_none
from maseval.interface.telemetry import genai
from maseval.interface.telemetry.conversation import (
    USER,
    Step,
    Stretch,
    bounds,
    counts_its_tokens,
    stretches,
)
from maseval.interface.telemetry.span import Span, Value, began_and_ended, drop_unknown, trace_id

ESTIMATED = "maseval.time.estimated"


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
    root.events[genai.EVALUATION] = _verdict(report)
    found = stretches(report)
    worked = [_stretch_span(report, each, content=content) for each in found]
    for number_of_turn, turn in enumerate(_turns(worked), start=1):
        turn.name, turn.attributes["maseval.turn"] = f"turn {number_of_turn}", number_of_turn
        root.children.append(turn)
    for call in _model_calls(report):
        root.innermost(call.start, besides=(genai.CHAT,)).children.append(call)
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
            genai.CONVERSATION: f"{report.run_id or ''}/{domain}/{task}/{trial}",
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
            genai.ERROR_TYPE: report.error.type,
        }
    )


def _verdict(report: RecordedReport) -> dict[str, Value]:
    named = next((each.evaluator for each in report.evaluations), None)
    return drop_unknown(
        {
            genai.SCORE_NAME: named or "reward",
            genai.SCORE: report.reward,
            genai.SCORE_LABEL: report.kind,
        }
    )


def _turns(worked: Sequence[Span]) -> Iterator[Span]:
    """Yield one turn at a time: the user's message and all that agents do in reply."""
    turn: Span | None = None
    for span in worked:
        if turn is not None and span.end <= turn.end and span.start < turn.end:
            turn.innermost(span.start, besides=(genai.CHAT,)).children.append(span)
        elif turn is not None and all(
            each.attributes.get(genai.AGENT) == USER for each in turn.children
        ):
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
        genai.OPERATION: genai.INVOKE_AGENT,
        genai.PROVIDER: genai.provider_of(model),
        genai.AGENT: stretch.name,
        genai.MODEL: model,
        ESTIMATED: stretch.estimated or None,
        **_tokens_logged(report, stretch),
    }
    name = f"{genai.INVOKE_AGENT} {stretch.name}"
    span = Span(name, stretch.start, stretch.end, drop_unknown(facts))
    if content:
        span.attributes |= drop_unknown(_content_attributes(stretch))
    if counts_its_tokens(report, stretch.name):
        span.children += _chats(stretch, model)
    span.children += _tool_calls(stretch, content=content)
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
        genai.INPUT_TOKENS: sum(int(call.input_tokens or 0) for call in own),
        genai.OUTPUT_TOKENS: sum(int(call.output_tokens or 0) for call in own),
    }


def _chats(stretch: Stretch, model: str | None) -> Iterator[Span]:
    """Yield a model call for each of the agent's messages, from the step before to its end."""
    start = stretch.start
    for step in stretch.steps:
        if step.message.role == "assistant":
            yield _chat_span(model, "", start, step.end, estimated=stretch.estimated)
        start = step.end


def _chat_span(
    model: str | None, adapter: str, start: int, end: int, *, estimated: bool = False
) -> Span:
    facts = {
        genai.OPERATION: genai.CHAT,
        genai.PROVIDER: genai.provider_of(model, adapter),
        genai.MODEL: model,
        ESTIMATED: estimated or None,
    }
    name = f"{genai.CHAT} {model}" if model else genai.CHAT
    return Span(name, start, end, drop_unknown(facts), client=True)


def _tool_calls(stretch: Stretch, *, content: bool) -> Iterator[Span]:
    """Yield tool calls; each starts when it is made, or when the one before it is done."""
    called: dict[object, RecordedCall] = {}
    start = stretch.start
    for step in stretch.steps:
        if step.message.role == "tool":
            call = called.get(step.message.call_id, RecordedCall({}))
            yield _tool_span(step, call, start, estimated=stretch.estimated, content=content)
        called |= {each.id: each for each in step.message.calls}
        start = step.end


def _tool_span(
    step: Step, call: RecordedCall, start: int, *, estimated: bool, content: bool
) -> Span:
    name = call.name or step.message.name or "unknown"
    failed = step.message.error is True
    facts: dict[str, Value | None] = {
        genai.OPERATION: genai.EXECUTE_TOOL,
        genai.TOOL: name,
        genai.TOOL_TYPE: "function",
        genai.CALL_ID: text_or_none(step.message.call_id),
        ESTIMATED: estimated or None,
        genai.ERROR_TYPE: "tool_error" if failed else None,
    }
    if content:
        facts[genai.CALL_ARGUMENTS] = text_or_none(call.function.get("arguments"))
        facts[genai.CALL_RESULT] = text_or_none(step.message.content)
    error = "the tool returned an error" if failed else None
    return Span(f"{genai.EXECUTE_TOOL} {name}", start, step.end, drop_unknown(facts), error=error)


def _model_calls(report: RecordedReport) -> Iterator[Span]:
    for trace in report.traced_models.values():
        for call in trace.logs:
            if (times := began_and_ended(call)) is not None:
                yield _logged_call(call, _chat_span(trace.model_id, trace.type or "", *times))


def _logged_call(call: LoggedCall, span: Span) -> Span:
    tokens = {
        genai.INPUT_TOKENS: call.input_tokens,
        genai.OUTPUT_TOKENS: call.output_tokens,
        "maseval.attempt": call.attempt,
    }
    span.attributes |= {key: int(value) for key, value in tokens.items() if value is not None}
    if call.status == "error":
        span.attributes[genai.ERROR_TYPE] = text(call.error_type)
        span.error = text(call.error)
    return span


def _content_attributes(stretch: Stretch) -> Mapping[str, Value | None]:
    heard, last = stretch.heard.content, stretch.steps[-1].message
    return {
        genai.INPUT: genai.message("user", heard) if heard else None,
        genai.OUTPUT: _as_output(last) if last.role != "tool" else None,
    }


def _note_answers(stretch: Stretch, span: Span) -> None:
    """Add the model's answer to each call, if every message has its call."""
    chats = [each for each in span.children if each.client and each.error is None]
    answers = [step.message for step in stretch.steps if step.message.role != "tool"]
    if len(chats) == len(answers):
        for chat, answer in zip(sorted(chats, key=lambda each: each.start), answers, strict=True):
            chat.attributes[genai.OUTPUT] = _as_output(answer)


def _as_output(message: RecordedMessage) -> str:
    described = [
        {"id": call.id, "name": call.name, "arguments": call.function.get("arguments")}
        for call in message.calls
    ]
    return genai.message("assistant", message.content, described)
