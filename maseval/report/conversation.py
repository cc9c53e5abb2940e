"""The messages and tool calls of a repetition in one form, wherever its report keeps them."""

from collections.abc import Sequence
from datetime import datetime
from typing import NotRequired, TypedDict

from maseval.core.outcome import RecordedReport
from maseval.core.recorded import LoggedCall, RecordedCall, RecordedMessage, Shape, mapping, number
from maseval.core.storage.redaction import redact
from maseval.core.words import count_of, text


class CallResult(TypedDict):
    """The answer of a tool."""

    text: str
    failed: bool
    took: NotRequired[float]


class ShownCall(TypedDict):
    """A tool call; ``by`` is the role that made it, ``writes`` whether it can change state."""

    name: str
    by: str
    arguments: str
    writes: bool
    result: CallResult | None


class ShownMessage(TypedDict):
    """A message; what is not known is left out.

    ``seconds`` count from the first message, ``took`` from the one before; ``tokens`` are those
    that its model read and wrote, and ``thought`` is what it thought before. ``model`` says what is
    recorded of the request: pairs of a name and a text, the model first, the raw record last.
    ``aside`` is what the agents of a team said among themselves before it.
    """

    index: int
    who: str
    speaker: NotRequired[str]
    thought: NotRequired[str]
    text: NotRequired[str]
    calls: NotRequired[list[ShownCall]]
    cost: NotRequired[float]
    tokens: NotRequired[int]
    seconds: NotRequired[float]
    took: NotRequired[float]
    failed: NotRequired[bool]
    model: NotRequired[list[tuple[str, str]]]
    aside: NotRequired[list["ShownMessage"]]


def conversation(report: RecordedReport) -> list[ShownMessage]:
    """Return the simulation's messages where there is one, else those of all agents."""
    said = report.said()
    messages = _with_answers(said, report.tool_types)
    _add_requests(report, [message for _, message in said], messages)
    if report.team and report.simulation.messages:
        _add_asides(report, messages)
    return messages


def _add_asides(report: RecordedReport, messages: Sequence[ShownMessage]) -> None:
    """Add before each message what the agents of a team said among themselves until then."""
    # By identity: the same words may be said twice.
    known = {id(message) for _, message in report.said()}
    among = [
        (agent, message, time)
        for time, agent, message in report.events()
        if isinstance(message, RecordedMessage) and message.role != "system"
        if id(message) not in known
    ]
    asides = _with_answers([each[:2] for each in among], report.tool_types)
    # They have no place in the conversation; only their time says where they belong.
    for message in messages:
        until = str(report.simulation.messages[message["index"]].timestamp or "")
        own = [each for each in asides if among[each["index"]][2] <= until]
        asides = asides[len(own) :]
        if own:
            message["aside"] = own


def _add_requests(
    report: RecordedReport, recorded: Sequence[RecordedMessage], shown: Sequence[ShownMessage]
) -> None:
    """Add to each message the calls of its speaker's model since the message before."""
    logged = [
        (call.agent or name.partition("_")[0], model.model_id or name, call, str(call.timestamp))
        for name, model in report.traced_models.items()
        for call in model.logs
        if call.timestamp
    ]
    # A model names the component that asked, and a message its side of the conversation.
    agents = ("agent", *report.traced_agents, *report.team)
    roles = {"user": "user", **dict.fromkeys(agents, "assistant")}
    for message in shown if logged else ():
        index, speaker = message["index"], message.get("speaker")
        began = str(recorded[index - 1].timestamp or "") if index else ""
        ended = str(recorded[index].timestamp or "")
        calls = [
            each
            for each in logged
            if roles.get(each[0]) == message["who"] and speaker in (None, each[0])
            if began <= each[3] <= ended
        ]
        # Of several attempts, the last one was the answer.
        if calls:
            message["model"] = _request(calls[-1][1], calls[-1][2], len(calls))


def _request(model: str, call: LoggedCall, attempts: int) -> list[tuple[str, str]]:
    params = {**mapping(call.raw, "generation_params"), **mapping(call.raw, "kwargs")}
    messages, tools = number(call.raw.get("message_count")), number(call.raw.get("tools_provided"))
    sent = (count_of(int(messages or 0), "message"), count_of(int(tools or 0), "tool"))
    known = [
        ("Model", model),
        ("Parameters", text(params)),
        ("Sent", ", ".join(sent)),
        ("Calls", f"{attempts}" if attempts > 1 else None),
        ("Took", None if call.seconds is None else f"{call.seconds:.1f} s"),
        ("From a cache", "yes" if call.raw.get("from_cache") else None),
        ("Raw", text(redact(call.raw))),
    ]
    return [(name, value) for name, value in known if value is not None]


_Waiting = list[tuple[object, ShownCall]]
"""Calls without an answer so far, with their ids."""


def _with_answers(
    said: Sequence[tuple[str | None, RecordedMessage]], types: Shape
) -> list[ShownMessage]:
    """Return the messages in order, with each tool's answer beside the call it answers."""
    moments = [_moment(message) for _, message in said]
    messages: list[ShownMessage] = []
    waiting: dict[str | None, _Waiting] = {}
    for index, (speaker, message) in enumerate(said):
        took = _seconds(moments[index - 1], moments[index]) if index else None
        if message.role == "tool" and (call := _answered_call(message, waiting.get(speaker, []))):
            call["result"] = _result(message, took)
            continue
        shown = _message(index, message, _seconds(moments[0], moments[index]), took)
        if speaker is not None:
            shown["speaker"] = speaker
        if message.calls:
            shown["calls"] = [_call(call, message.role, types) for call in message.calls]
        if message.role != "tool":
            ids = (call.id for call in message.calls)
            waiting[speaker] = list(zip(ids, shown.get("calls", ()), strict=True))
        messages.append(shown)
    return messages


def _answered_call(message: RecordedMessage, waiting: _Waiting) -> ShownCall | None:
    """Return the call that a tool message answers; calls without ids are answered in order."""
    answers = message.call_id
    for position, (asked, call) in enumerate(waiting):
        if not answers or not asked or asked == answers:
            del waiting[position]
            return call
    return None


def _message(
    index: int, message: RecordedMessage, seconds: float | None, took: float | None
) -> ShownMessage:
    shown: ShownMessage = {"index": index, "who": message.role or "unknown"}
    if thought := message.reasoning:
        shown["thought"] = thought
    if message.content is not None:
        shown["text"] = text(message.content)
    if message.cost:
        shown["cost"] = message.cost
    if message.usage:
        tokens = int((message.input_tokens or 0) + (message.output_tokens or 0))
        if tokens:
            shown["tokens"] = tokens
    if seconds is not None:
        shown["seconds"] = seconds
    # The clocks of two machines may disagree.
    if took is not None and took >= 0:
        shown["took"] = took
    if message.error:
        shown["failed"] = True
    return shown


def _call(call: RecordedCall, role: str | None, types: Shape) -> ShownCall:
    name = call.name or "unnamed tool"
    return {
        "name": name,
        "by": call.requestor or role or "assistant",
        "arguments": text(call.function.get("arguments", {})),
        "writes": types.get(name) == "write",
        "result": None,
    }


def _result(message: RecordedMessage, took: float | None) -> CallResult:
    result: CallResult = {"text": text(message.content or ""), "failed": bool(message.error)}
    if took:
        result["took"] = took
    return result


def _moment(message: RecordedMessage) -> datetime | None:
    try:
        return datetime.fromisoformat(str(message.timestamp)) if message.timestamp else None
    except ValueError:
        return None


def _seconds(began: datetime | None, moment: datetime | None) -> float | None:
    # A moment with a time zone and one without cannot be subtracted.
    if began is None or moment is None or (began.tzinfo is None) != (moment.tzinfo is None):
        return None
    return round((moment - began).total_seconds(), 3)
