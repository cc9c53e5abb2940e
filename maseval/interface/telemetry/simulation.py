"""A finished repetition as a trace: turns, agents at work, model calls and tool calls."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from maseval.core.outcome import (
    evaluations,
    kind_of,
    reward_of,
    simulation_key,
    spent,
    termination_of,
)
from maseval.core.shapes import Shape, entries, mapping, number, text, text_or_none
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
    run = report.get("run_id") or recorded_id(report) or report.get("started_at") or ""
    return trace_id(text(run), *simulation_key(report))


def recorded_id(report: Shape) -> object:
    return mapping(report, "traces", "environment", "simulation").get("id")


def simulation_span(report: Shape, *, content: bool = False) -> Span:
    """Return the tree of spans; ``content`` adds messages, and arguments and results of tools."""
    root = Span(_title(report), *bounds(report), _facts(report), error=_failure(report))
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


def _title(report: Shape) -> str:
    domain, task, trial = simulation_key(report)
    return " ".join(filter(None, ("simulation", domain, task, f"trial {trial}")))


def _facts(report: Shape) -> dict[str, Value]:
    domain, task, trial = simulation_key(report)
    cost, tokens = spent(report)
    passed = {"pass": True, "fail": False}.get(kind_of(report))
    run = text_or_none(report.get("run_id"))
    return drop_unknown(
        {
            genai.CONVERSATION: f"{run or ''}/{domain}/{task}/{trial}",
            "maseval.run_id": run,
            "maseval.domain": domain or None,
            "maseval.task_id": task,
            "maseval.trial": trial,
            "maseval.status": text(report.get("status")),
            "maseval.outcome": kind_of(report),
            "maseval.passed": passed,
            "maseval.reward": reward_of(report),
            "maseval.termination": termination_of(report),
            "maseval.cost": cost,
            "maseval.tokens": tokens,
            "maseval.attempts": len(entries(report.get("attempts"))) + 1,
            genai.ERROR_TYPE: text_or_none(mapping(report, "error").get("error_type")),
        }
    )


def _failure(report: Shape) -> str | None:
    error = mapping(report, "error")
    return text(error.get("error_message") or report.get("status")) if error else None


def _verdict(report: Shape) -> dict[str, Value]:
    named = next((each.get("evaluator") for each in evaluations(report)), None)
    return drop_unknown(
        {
            genai.SCORE_NAME: text(named or "reward"),
            genai.SCORE: reward_of(report),
            genai.SCORE_LABEL: kind_of(report),
        }
    )


def _turns(worked: Sequence[Span]) -> Iterator[Span]:
    """Yield one turn at a time: the user's message and all that agents do in reply."""
    turn: Span | None = None
    for span in worked:
        if turn is not None and span.end <= turn.end and span.start < turn.end:
            turn.innermost(span.start, besides=(genai.CHAT,)).children.append(span)
        elif turn is not None and all(_is_of_user(child) for child in turn.children):
            turn.children.append(span)
            turn.end = span.end
        else:
            if turn is not None:
                yield turn
            turn = Span("turn", span.start, span.end, children=[span])
    if turn is not None:
        yield turn


def _is_of_user(span: Span) -> bool:
    return span.attributes.get(genai.AGENT) == USER


def _stretch_span(report: Shape, stretch: Stretch, *, content: bool) -> Span:
    model = _model_of(report, stretch.name)
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


def _model_of(report: Shape, agent: str) -> str | None:
    return text_or_none(mapping(report, "config", "agents", agent).get("model_id"))


def _tokens_logged(report: Shape, stretch: Stretch) -> dict[str, Value | None]:
    """Add up the tokens that a framework counted for a turn, or for the steps of it."""
    logs = map(mapping, entries(mapping(report, "traces", "agents", stretch.name).get("logs")))
    own = [
        entry
        for entry in logs
        if (times := began_and_ended(entry)) and stretch.start <= times[0] < stretch.end
    ]
    if not any("input_tokens" in entry for entry in own):
        return {}
    names = {genai.INPUT_TOKENS: "input_tokens", genai.OUTPUT_TOKENS: "output_tokens"}
    return {
        attribute: sum(int(number(entry.get(name)) or 0) for entry in own)
        for attribute, name in names.items()
    }


def _chats(stretch: Stretch, model: str | None) -> Iterator[Span]:
    """Yield a model call for each of the agent's messages, from the step before to its end."""
    start = stretch.start
    for step in stretch.steps:
        if step.role == "assistant":
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
    called: dict[object, Shape] = {}
    start = stretch.start
    for step in stretch.steps:
        if step.role == "tool":
            call = called.get(_call_id(step.message), {})
            yield _tool_span(step, call, start, estimated=stretch.estimated, content=content)
        for each in map(mapping, entries(step.message.get("tool_calls"))):
            called[each.get("id")] = each
        start = step.end


def _call_id(answer: Shape) -> object:
    return answer.get("tool_call_id") or answer.get("id")


def _tool_span(step: Step, call: Shape, start: int, *, estimated: bool, content: bool) -> Span:
    function = mapping(call, "function") or call
    name = text_or_none(function.get("name") or step.message.get("name")) or "unknown"
    failed = step.message.get("error") is True
    facts: dict[str, Value | None] = {
        genai.OPERATION: genai.EXECUTE_TOOL,
        genai.TOOL: name,
        genai.TOOL_TYPE: "function",
        genai.CALL_ID: text_or_none(_call_id(step.message)),
        ESTIMATED: estimated or None,
        genai.ERROR_TYPE: "tool_error" if failed else None,
    }
    if content:
        facts[genai.CALL_ARGUMENTS] = text_or_none(function.get("arguments"))
        facts[genai.CALL_RESULT] = text_or_none(step.message.get("content"))
    error = "the tool returned an error" if failed else None
    return Span(f"{genai.EXECUTE_TOOL} {name}", start, step.end, drop_unknown(facts), error=error)


def _model_calls(report: Shape) -> Iterator[Span]:
    models = mapping(report, "traces", "models")
    for trace in map(partial(mapping, models), models):
        model, adapter = text_or_none(trace.get("model_id")), text(trace.get("type"))
        for entry in map(mapping, entries(trace.get("logs"))):
            if (times := began_and_ended(entry)) is not None:
                yield _logged_call(entry, _chat_span(model, adapter, *times))


def _logged_call(entry: Shape, span: Span) -> Span:
    tokens = {
        genai.INPUT_TOKENS: number(entry.get("input_tokens")),
        genai.OUTPUT_TOKENS: number(entry.get("output_tokens")),
        "maseval.attempt": number(entry.get("attempt")),
    }
    span.attributes |= {key: int(value) for key, value in tokens.items() if value is not None}
    if entry.get("status") == "error":
        span.attributes[genai.ERROR_TYPE] = text(entry.get("error_type"))
        span.error = text(entry.get("error"))
    return span


def _content_attributes(stretch: Stretch) -> Mapping[str, Value | None]:
    heard, last = stretch.heard.get("content"), stretch.steps[-1].message
    return {
        genai.INPUT: genai.message("user", heard) if heard else None,
        genai.OUTPUT: _as_output(last) if last.get("role") != "tool" else None,
    }


def _note_answers(stretch: Stretch, span: Span) -> None:
    """Add the model's answer to each call, if every message has its call."""
    chats = [each for each in span.children if each.client and each.error is None]
    answers = [step.message for step in stretch.steps if step.role != "tool"]
    if len(chats) == len(answers):
        for chat, answer in zip(sorted(chats, key=lambda each: each.start), answers, strict=True):
            chat.attributes[genai.OUTPUT] = _as_output(answer)


def _as_output(message: Shape) -> str:
    described = []
    for call in map(mapping, entries(message.get("tool_calls"))):
        function = mapping(call, "function") or call
        name, arguments = function.get("name"), function.get("arguments")
        described.append({"id": call.get("id"), "name": name, "arguments": arguments})
    return genai.message("assistant", message.get("content"), described)
