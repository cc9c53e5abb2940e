"""Replay: a recorded conversation's calls are made again and must give the recorded answers.

After tau2-bench v0.2.0, src/tau2/environment/environment.py (MIT, Sierra Research).
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from maseval.benchmark.tau2.formats.message import (
    AnsweredCall,
    AnsweredMessages,
    Tau2Message,
    Tau2ToolCall,
    ToolAnswer,
    call_text,
    complete_call,
    message_text,
    original_calls,
    tool_calls_of,
    tool_message,
)
from maseval.core.exceptions import MASEvalError


class ReplayError(MASEvalError, ValueError):
    """A recorded conversation does not come out the same when its calls are made again.

    ``original`` is the exception that v0.2.0 raises here.
    """

    def __init__(
        self,
        text: str,
        index: int | None,
        call: Mapping[str, Any] | None = None,
        expected: str | None = None,
        found: str | None = None,
        original: Exception | None = None,
    ) -> None:
        super().__init__(text)
        self.original = original or ValueError(text)
        self.index = index
        self.call = call
        self.expected = expected
        self.found = found


def refuse_user_messages(messages: Sequence[Tau2Message]) -> None:
    """Refuse messages of a user, for solo mode, where there is none."""
    for index, message in enumerate(messages):
        if message["role"] == "user":
            text = "User messages are not allowed in solo mode"
            raise ReplayError(text, index, original=AssertionError(text))


def replay(
    answer: Callable[[Tau2ToolCall], ToolAnswer],
    messages: Sequence[Tau2Message],
    is_replayed: Callable[[Tau2ToolCall], bool] | None = None,
    *,
    strict: bool = True,
) -> None:
    """Make the recorded calls again; a different answer is a ``ReplayError`` if ``strict``.

    Of calls that are not to be replayed only the place in the conversation is checked.
    """
    if isinstance(messages, AnsweredMessages):
        calls = messages.calls
    else:
        calls = list(calls_with_answers(messages))
    for index, call, recorded in calls:
        if is_replayed is None or is_replayed(call):
            difference = repeat_call(answer, index, call, recorded)
            if difference is not None and strict:
                raise difference


def repeat_call(
    answer: Callable[[Tau2ToolCall], ToolAnswer],
    index: int,
    call: Tau2ToolCall,
    recorded: Tau2Message,
) -> ReplayError | None:
    """Make one call again; return the difference from the recorded answer, if there is one."""
    expected = recorded.get("content")
    try:
        found = answer(call)
        if same_content(found[0], expected):
            return None
    except (TypeError, ValueError, RecursionError) as error:  # one of them is no readable text
        call = complete_call(call)
        raise ReplayError(str(error), index, call, expected, original=error) from error
    call = complete_call(call)
    returned = message_text({**tool_message(call, found), "timestamp": recorded.get("timestamp")})
    return ReplayError(
        f"Tool call:\n{call_text(call)}\n\nReturned:\n{returned}\n\n"
        f"Expected:\n{message_text(recorded)}",
        index,
        call,
        expected,
        found[0],
    )


def calls_with_answers(messages: Sequence[Tau2Message]) -> Iterator[AnsweredCall]:
    """Yield each recorded call with the index of its answer and the answer itself.

    Every call must be followed, in order, by one tool message with its id.
    """
    following = enumerate(messages)
    for at, message in following:
        if message["role"] == "tool":
            raise ReplayError(
                "Tool message not expected. Tool messages should always follow a tool call.", at
            )
        if message.get("tool_calls") is None:  # as in most, which is found out at once
            continue
        for number, recorded in enumerate(tool_calls_of(message) or (), at + 1):
            call = complete_call(recorded)
            index, answer = next(following, (number, None))
            if answer is None or answer["role"] != "tool" or call["id"] != answer.get("id", ""):
                raise _wrong_answer(call, answer, index)
            yield from original_calls(index, call, answer)


def _wrong_answer(call: Tau2ToolCall, answer: Tau2Message | None, index: int) -> ReplayError:
    if answer is None:
        return ReplayError("Tool message expected. Got None.", index, call)
    if answer["role"] != "tool":
        kind = f"tau2.data_model.message.{answer['role'].capitalize()}Message"
        return ReplayError(f"Tool message expected. Got <class '{kind}'>", index, call)
    ids = f"{call['id']} and {answer.get('id', '')}"
    return ReplayError(f"Tool call id mismatch. Got {ids}", index, call)


_VALIDATION_FOOTER = "For further information visit https://errors.pydantic.dev/"


def same_content(found: str | None, recorded: str | None) -> bool:
    """Return True if two answers say the same: as JSON where they are JSON, as text elsewhere.

    As in the original, an answer that is NaN and nothing else does not even equal itself.
    """
    if recorded is not None and found == recorded and recorded.strip() != "NaN":
        return True
    mine, theirs = _decode(found), _decode(recorded)
    if isinstance(mine, str) and isinstance(theirs, str):
        return _without_version(mine) == _without_version(theirs)
    return bool(mine == theirs)


def _decode(content: str | None) -> object:
    try:
        return json.loads(content)  # type: ignore[arg-type]  # None raises, as in the original
    except ValueError:
        return content


def _without_version(text: str) -> str:
    # Validation errors end each entry with a link that names the installed library's version;
    # no verdict may depend on that.
    if _VALIDATION_FOOTER not in text:
        return text
    return "\n".join(line for line in text.splitlines() if _VALIDATION_FOOTER not in line)
