"""What a judge decides: otherwise than recorded, unreadably, or not at all."""

from collections.abc import Iterator

from maseval.benchmark.tau2.recount.causes.cause import Cause, share_of
from maseval.benchmark.tau2.recount.judged import Judged
from maseval.benchmark.tau2.recount.recount import Recount


def other_judgement(found: Recount) -> Iterator[Cause]:
    """Verdicts that differ only because another judge was asked."""
    differing = [each for each in found.disagreeing if by_judge_alone(each)]
    if differing:
        yield Cause(
            "another judgement",
            f"in {share_of(differing, found)} the judge decides otherwise than the recorded one "
            f"(the first: {differing[0].slot}: {both_rewards(differing[0])})",
        )


def by_judge_alone(each: Judged) -> bool:
    """Whether only the answers of a judge differ."""
    return each.differing == ("NL_ASSERTION",)


def both_rewards(each: Judged) -> str:
    """What was recorded, and what comes out now."""
    if each.reward is None:
        return each.differences[0]
    return f"recorded {each.recorded:g}, recomputed {each.reward:g}"


def unread_replies(found: Recount) -> Iterator[Cause]:
    """Replies of the judge that cannot be read."""
    unread = [each for each in found.judged if each.unread_reply]
    if unread:
        yield Cause(
            "unreadable judgements",
            f"in {share_of(unread, found)} the judge's reply cannot be read (the first: "
            f"{unread[0].slot}: {unread[0].unread_reply})",
        )


def unjudged(found: Recount) -> Iterator[Cause]:
    """Verdicts that wait for a judge."""
    if found.unjudged:
        yield Cause(
            "not recomputed",
            f"{found.unjudged} of {len(found.judged)} verdicts depend on a judge model; they count "
            f"neither as passed nor as failed{_between(found)}",
            None if found.panel.judges else "--judge-model asks one",
        )


def _between(found: Recount) -> str:
    first = found.pass_hat.get(1)
    if first is None or first.bounds is None:
        return ""
    low, high = first.bounds
    return f": pass^1 is {low:.1%} if all of them fail, {high:.1%} if all pass"
