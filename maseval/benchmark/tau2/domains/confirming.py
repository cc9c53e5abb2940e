"""Rules that the policies of several domains share: a yes before a write, one call at a time."""

from collections.abc import Collection, Iterable, Iterator

from maseval.benchmark.tau2.domains.rules import (
    Answer,
    Broken,
    CannotTell,
    Kind,
    Moment,
    Rule,
    Talk,
    rule,
    talk_rule,
)
from maseval.benchmark.tau2.formats.message import spoken_text, tool_calls_of
from maseval.benchmark.tau2.words import agrees, asks, declines, proposes


def explicit_yes(domain: str, place: str, tools: Collection[str]) -> Rule:
    """Make the rule that the user says yes to a proposal before a call is made."""

    @rule(f"{domain}.confirm.yes", Kind.PROTOCOL, place=place, tools=tools)
    def confirmed(moment: Moment) -> Iterator[Answer]:
        """The user agrees to the action before it is taken."""
        question, reply = moment.talk.question_and_reply(moment.message_index)
        if reply is None or question is None:
            yield Broken("nobody was asked before the call")
        elif declines(reply.text):
            yield Broken("the user's last words before the call are a no", {"reply": reply.text})
        elif not (asks(question.text) or proposes(question.text, moment.call)):
            if not agrees(reply.text):
                yield Broken("the agent did not ask before the call", {"reply": reply.text})
        elif not agrees(reply.text):
            yield CannotTell("the user's reply is neither a yes nor a no")

    return confirmed


def one_call_at_a_time(domain: str, place: str) -> Rule:
    """Make the rule that a message of the agent holds at most one call."""

    @talk_rule(f"{domain}.form.one_call", Kind.FORM, place=place, reads_words=False)
    def single(talk: Talk) -> Iterable[Answer]:
        """The agent makes one call at a time."""
        for at, message in enumerate(talk.messages):
            calls = tool_calls_of(message) if message["role"] == "assistant" else None
            if calls and len(calls) > 1:
                yield Broken(f"{len(calls)} calls in one message", {"calls": len(calls)}, at)

    return single


def no_text_beside_a_call(domain: str, place: str) -> Rule:
    """Make the rule that a message of the agent is a text or a call, and not both."""

    @talk_rule(f"{domain}.form.text_or_call", Kind.FORM, place=place, reads_words=False)
    def either(talk: Talk) -> Iterable[Answer]:
        """The agent does not speak to the user in the message that makes a call."""
        for at, message in enumerate(talk.messages):
            if message["role"] == "assistant" and tool_calls_of(message) and spoken_text(message):
                yield Broken("a text stands beside a call", {"text": spoken_text(message)}, at)

    return either
