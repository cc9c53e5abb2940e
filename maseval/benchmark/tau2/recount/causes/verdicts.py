"""Verdicts that do not follow: edited rewards or messages, other tools, other rules."""

from collections.abc import Callable, Iterator

from maseval.benchmark.tau2.recount.causes.cause import Cause, share_of, some_of
from maseval.benchmark.tau2.recount.causes.judging import both_rewards, by_judge_alone
from maseval.benchmark.tau2.recount.judged import Judged
from maseval.benchmark.tau2.recount.recount import Recount
from maseval.benchmark.tau2.recount.tasks import differing_tasks

_MANY = 0.25
"""From this share of a file on, answers that differ are not a matter of single edits."""


def edited_rewards(found: Recount) -> Iterator[Cause]:
    """Recorded rewards that contradict the recorded checks."""
    edited = [each for each in found.judged if each.contradiction]
    if edited:
        yield Cause(
            "edited rewards",
            f"in {share_of(edited, found)} the record contradicts itself (the first: "
            f"{edited[0].slot}: {edited[0].contradiction})",
        )


def changed_tools(found: Recount) -> Iterator[Cause]:
    """Answers of tools that the domain does not have."""
    using = [each for each in found.judged if each.unknown_tool]
    if using:
        names = dict.fromkeys(str(each.unknown_tool) for each in using)
        yield Cause(
            "changed tools",
            f"{share_of(using, found)} got answers from tools that the domain does not have: "
            f"{some_of(names)}",
        )


def unlike_answers(found: Recount) -> Iterator[Cause]:
    """Tools that answer otherwise now: another tool, other data, or edited messages."""
    faults = [each for each in found.judged if each.fault and not each.unknown_tool]
    unlike = [each for each in faults if each.fault and each.fault.found is not None]
    lost = [each for each in faults if each.fault and each.fault.found is None]
    if lost:
        yield Cause(
            "missing messages",
            f"in {share_of(lost, found)} calls and answers do not belong together "
            f"(the first: {lost[0].slot}, {_place(lost[0])})",
        )
    if not unlike:
        return
    tools = {str((each.fault.call or {}).get("name")) for each in unlike if each.fault}
    kind = "edited messages"
    if len(unlike) > 1 and len(unlike) >= _MANY * len(found.judged):
        kind = "changed tools" if len(tools) == 1 else "other data version"
    yield Cause(
        kind,
        f"in {share_of(unlike, found)} a tool now answers otherwise than recorded "
        f"({some_of(tools)}; the first: {unlike[0].slot}, {_place(unlike[0])})",
    )


def _place(each: Judged) -> str:
    assert each.fault is not None
    return f"message {each.fault.message_index}: {each.fault.meaning}"


def other_rules(found: Recount) -> Iterator[Cause]:
    """Verdicts that differ though task, answers and record are sound."""
    explained = _explained(found)
    left = [each for each in found.disagreeing if not explained(each)]
    if not left:
        return
    kinds = [kind for each in left for kind in each.differing]
    first = f"the first: {left[0].slot}: {both_rewards(left[0])}"
    if kinds:
        counts = ", ".join(f"{kind} in {kinds.count(kind)}" for kind in dict.fromkeys(kinds))
        yield Cause(
            "other rules or edited checks",
            f"in {share_of(left, found)} a check comes out otherwise by the rules of "
            f"v{found.version} ({counts}; {first})",
        )
    else:
        yield Cause(
            "rewards not confirmed",
            f"in {share_of(left, found)} the recorded reward does not follow from the conversation "
            f"({first})",
        )


def _explained(found: Recount) -> Callable[[Judged], bool]:
    tasks = found.whole.tasks if found.domain is not None else {}
    other = (
        {name for name, _ in differing_tasks(tasks, found.known(found.domain))}
        if found.domain is not None
        else set()
    )

    mixed_up = sum(each.checked_task is not None for each in found.judged)
    shuffled = 2 * mixed_up > len(found.judged)  # then also where no check shows it

    def explained(each: Judged) -> bool:
        return bool(
            ((shuffled or each.checked_task) and not found.options.remap_tasks)
            or each.contradiction
            or each.fault
            or each.foreign_ending
            or by_judge_alone(each)
            or (each.named in other and not found.options.embedded_tasks)
        )

    return explained
