"""Rules that several policies share: the user's answer, one call at a time, transfers.

A policy wants an action described to the user and a clear yes to it. Whether a reply is a yes is
language, which a judge reads; what the record shows is that nobody was asked, or that the same was
done again without another word of the user.
"""

from collections.abc import Collection, Iterable, Iterator

from maseval.benchmark.tau2.formats.message import spoken_text
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, Kind, Rule, rule, talk_rule
from maseval.benchmark.tau2.review.talk import CallMoment, Talk

TRANSFER_TOOL = "transfer_to_human_agents"
TRANSFER_TEXT = "YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD ON."


def explicit_yes(domain: str, place: str, tools: Collection[str]) -> Rule:
    """Make the rule that the user answers the agent before a call is made, each time anew.

    It does not read the answer: a judge finds an answer that is no yes.
    """

    @rule(f"{domain}.confirm.yes", Kind.PROTOCOL, place=place, tools=tools)
    def require_answer(moment: CallMoment) -> Iterator[Answer]:
        """The user has answered the agent before an action is taken, or taken again."""
        if moment.ticket is not None or not moment.talk.user:
            return  # nobody is there to ask
        if not moment.answered_texts:
            yield Broken("the user was not asked before the call")
        elif _is_done_since(moment.user_texts[-1].message_index, moment):
            yield Broken("the same was already done after the user's last words")

    return require_answer


def _is_done_since(at: int, moment: CallMoment) -> bool:
    name, arguments = moment.call["name"], moment.arguments
    return any(
        made.message_index > at
        and not made.failed
        and made.call["name"] == name
        and made.call["arguments"] == arguments
        for made in moment.earlier_calls
    )


def one_call_at_a_time(domain: str, place: str) -> Rule:
    @talk_rule(f"{domain}.form.one_call", Kind.FORM, place=place)
    def single(talk: Talk) -> Iterable[Answer]:
        """The agent makes one call at a time."""
        for at, message in enumerate(talk.messages):
            # Read from the messages and not from answered calls, as some are never answered.
            calls = message.get("tool_calls") if message["role"] == "assistant" else None
            if calls and len(calls) > 1:
                yield Broken(f"{len(calls)} calls in one message", {"calls": len(calls)}, at)

    return single


def no_text_beside_a_call(domain: str, place: str) -> Rule:
    """Make the rule that a message of the agent is a text or a call, and not both."""

    @talk_rule(f"{domain}.form.text_or_call", Kind.FORM, place=place)
    def either(talk: Talk) -> Iterable[Answer]:
        """The agent does not speak to the user in the message that makes a call."""
        for at, message in enumerate(talk.messages):
            calls = message["role"] == "assistant" and message.get("tool_calls")
            if calls and (text := spoken_text(message)):
                yield Broken("a text and a call in one message", {"text": text}, at)

    return either


def transfer_is_announced(domain: str, place: str) -> Rule:
    """Make the rule that the set sentence follows the call that hands the user over, and only it.

    A conversation that ends with the call has not come to the sentence.
    """

    @talk_rule(f"{domain}.form.transfer_text", Kind.FORM, place=place)
    def require_sentence(talk: Talk) -> Iterable[Answer]:
        """The agent transfers by a call first, and then says so in the prescribed words."""
        handed = [made.answer_index for made in talk.calls if made.call["name"] == TRANSFER_TOOL]
        for said in talk.agent:
            if TRANSFER_TEXT in said.text and not any(at < said.message_index for at in handed):
                yield Broken("the transfer was announced and not made", {}, said.message_index)
        for at in handed[:1]:
            later = [said for said in talk.agent if said.message_index > at]
            if later and TRANSFER_TEXT not in (text := later[0].text):
                yield Broken(
                    "other words follow the transfer", {"said": text}, later[0].message_index
                )

    return require_sentence


def nothing_after_a_transfer(domain: str, place: str, tools: Collection[str]) -> Rule:
    """Make the rule that the agent changes nothing any more once it has handed the user over."""

    @rule(f"{domain}.transfer.last", Kind.PROTOCOL, place=place, tools=tools)
    def last(moment: CallMoment) -> Iterator[Answer]:
        """The agent takes no action after it has transferred the user."""
        made = moment.calls_read
        if any(each.call["name"] == TRANSFER_TOOL and not each.failed for each in made):
            yield Broken("the user had been transferred to a human agent before the call")

    return last
