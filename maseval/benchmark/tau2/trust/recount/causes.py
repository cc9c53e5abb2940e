"""Why a record is not what the benchmark would have written, each cause with its evidence."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Sized
from dataclasses import asdict, dataclass

from maseval.benchmark.tau2.data.files import default_data_dir
from maseval.benchmark.tau2.trust.recount.judged import (
    FOREIGN_TASK,
    NEEDS_JUDGE,
    Judged,
    foreign_domain,
)
from maseval.benchmark.tau2.trust.recount.policies import policies
from maseval.benchmark.tau2.trust.recount.recount import Recount
from maseval.benchmark.tau2.trust.recount.sources import BY_FORM, MALFORMED
from maseval.benchmark.tau2.trust.recount.tasks import (
    REMOVED,
    KnownTasks,
    differing_tasks,
    meaning,
)
from maseval.benchmark.tau2.versions.releases import RELEASES

_LISTED = 5
_MANY = 0.25
"""From this share of a file on, answers that differ are not a matter of single edits."""


@dataclass(frozen=True)
class Cause:
    """One reason, told in a sentence; ``remedy`` is what to try.

    ``fatal`` if numbers of such a record cannot be certified.
    """

    kind: str
    text: str
    remedy: str | None = None
    fatal: bool = True

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}" + (f"; {self.remedy}" if self.remedy else "")

    def to_dict(self) -> dict[str, object]:
        """In JSON's terms."""
        return asdict(self)


def causes(found: Recount) -> list[Cause]:
    """What is wrong with a record, that which explains most first."""
    return [cause for look in _LOOKS for cause in look(found)]


def _shuffled(found: Recount) -> Iterator[Cause]:
    checked = [each for each in found.judged if each.checked_task]
    if not checked:
        return
    first = checked[0]
    done = found.ways.remap_tasks
    yield Cause(
        "task ids shuffled",
        f"in {_of(checked, found)} the recorded checks belong to another task (the first: task "
        f"{first.named} has those of task {first.checked_task})",
        None if done else "--remap-tasks judges each by the task its checks belong to",
    )


def _edited_rewards(found: Recount) -> Iterator[Cause]:
    edited = [each for each in found.judged if each.contradiction]
    if edited:
        yield Cause(
            "edited rewards",
            f"in {_of(edited, found)} the record contradicts itself (the first: {edited[0].slot}: "
            f"{edited[0].contradiction})",
        )


def _other_tasks(found: Recount) -> Iterator[Cause]:
    if found.domain is None or not found.whole.tasks:
        return
    known = found.known(found.domain)
    mixed_up = {each.named for each in found.judged if each.checked_task}
    differing = {
        task_id: parts
        for task_id, parts in differing_tasks(found.whole.tasks, known)
        if task_id not in mixed_up and known.embedded_task(found.whole.tasks[task_id]) is None
    }
    if not differing:
        return
    removed = [task_id for task_id, parts in differing.items() if REMOVED in parts]
    kinds = {part for parts in differing.values() for part in parts}
    counts = ", ".join(
        f"{kind} in {sum(kind in parts for parts in differing.values())}" for kind in sorted(kinds)
    )
    version = None if found.ways.embedded_tasks else _version_of(found, differing)
    if version is not None:
        # The form of a file shows whose rules it was made by, whatever tasks it has.
        mixed = found.whole.version_from == BY_FORM
        release = f"{found.version}+tasks.{version}" if mixed else version
        yield Cause(
            "other data version",
            f"{len(differing)} of {len(found.whole.tasks)} tasks in the file are those of "
            f"v{version}, not of v{found.version}: {_some(differing)}; those of v{found.version} "
            "were used",
            f"--data-version {release} judges by those of v{version}",
        )
        return
    used = "the file's" if found.ways.embedded_tasks else "the benchmark's"
    yield Cause(
        "criteria removed" if removed else "other task version",
        f"{len(differing)} of {len(found.whole.tasks)} tasks in the file are not the benchmark's "
        f"({counts}): {_some(differing)}; {used} were used",
        None if found.ways.embedded_tasks else "--embedded-tasks judges by the file's",
    )


def _version_of(found: Recount, task_ids: Collection[str]) -> str | None:
    """The other release, of those whose data is here, whose tasks these are."""
    assert found.domain is not None
    for version, release in RELEASES.items():
        others = found.domain.name in release.domains and default_data_dir(version).is_dir()
        if version in found.version or not others or found.domain.data_dir is not None:
            continue
        known = KnownTasks(release.domain(found.domain), version=version)
        raw = {task_id: known.raw(task_id) for task_id in task_ids}
        if all(
            ours is not None and meaning(found.whole.tasks[task_id]) == meaning(ours)
            for task_id, ours in raw.items()
        ):
            return version
    return None


def _mixed_up_tasks(found: Recount) -> Iterator[Cause]:
    """Tasks that stand in the file under another id, where no recorded check shows it."""
    if found.domain is None or any(each.checked_task for each in found.judged):
        return
    known = found.known(found.domain)
    pairs = [(name, known.embedded_task(task)) for name, task in found.whole.tasks.items()]
    moved = [(name, other) for name, other in pairs if other is not None]
    if moved:
        yield Cause(
            "task ids shuffled",
            f"{len(moved)} of {len(pairs)} tasks in the file have another id than in the benchmark "
            f"(the first: {moved[0][0]} is the benchmark's {moved[0][1]})",
            None if found.ways.remap_tasks else "--remap-tasks judges each by the task it is",
        )


def _changed_tools(found: Recount) -> Iterator[Cause]:
    using = [each for each in found.judged if each.unknown_tool]
    if using:
        names = dict.fromkeys(str(each.unknown_tool) for each in using)
        yield Cause(
            "changed tools",
            f"{_of(using, found)} got answers from tools that the domain does not have: "
            f"{_some(names)}",
        )


def _unlike_answers(found: Recount) -> Iterator[Cause]:
    """Tools that answer otherwise now: another tool, other data, or edited messages."""
    faults = [each for each in found.judged if each.fault and not each.unknown_tool]
    unlike = [each for each in faults if each.fault and each.fault.found is not None]
    lost = [each for each in faults if each.fault and each.fault.found is None]
    if lost:
        yield Cause(
            "missing messages",
            f"in {_of(lost, found)} calls and answers do not belong together "
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
        f"in {_of(unlike, found)} a tool now answers otherwise than recorded ({_some(tools)}; "
        f"the first: {unlike[0].slot}, {_place(unlike[0])})",
    )


def _place(each: Judged) -> str:
    assert each.fault is not None
    return f"message {each.fault.message_index}: {each.fault.meaning}"


def _other_rules(found: Recount) -> Iterator[Cause]:
    """Verdicts that differ though task, answers and record are sound."""
    explained = _explained(found)
    left = [each for each in found.disagreeing if not explained(each)]
    if not left:
        return
    kinds = [kind for each in left for kind in each.differing]
    first = f"the first: {left[0].slot}: {_verdicts(left[0])}"
    if kinds:
        counts = ", ".join(f"{kind} in {kinds.count(kind)}" for kind in dict.fromkeys(kinds))
        yield Cause(
            "other rules or edited checks",
            f"in {_of(left, found)} a check comes out otherwise by the rules of v{found.version} "
            f"({counts}; {first})",
        )
    else:
        yield Cause(
            "rewards not confirmed",
            f"in {_of(left, found)} the recorded reward does not follow from the conversation "
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
            ((shuffled or each.checked_task) and not found.ways.remap_tasks)
            or each.contradiction
            or each.fault
            or each.foreign_ending
            or _by_judge_alone(each)
            or (each.named in other and not found.ways.embedded_tasks)
        )

    return explained


def _verdicts(each: Judged) -> str:
    if each.reward is None:
        return each.differences[0]
    return f"recorded {each.recorded:g}, recomputed {each.reward:g}"


def _endings(found: Recount) -> Iterator[Cause]:
    foreign = [each for each in found.judged if each.foreign_ending]
    stopped = [each for each in foreign if each.passport.stopped]
    others = [each for each in foreign if not each.passport.stopped]
    if stopped:
        yield Cause(
            "relabelled simulations",
            f"{_of(stopped, found)} say they ended with {_endings_of(stopped)}, but their last "
            "message is the user's stop; they count as failures",
        )
    if others:
        yield Cause(
            "unknown ends",
            f"{_of(others, found)} ended with {_endings_of(others)}, which v{found.version} does "
            "not have; they count as failures",
            _other_version(found, others),
        )


def _other_version(found: Recount, several: Sequence[Judged]) -> str | None:
    """The release that does have these endings."""
    ends = {each.ending for each in several}
    for version, release in RELEASES.items():
        if version not in found.version and ends <= {e.value for e in release.rules.loop.endings}:
            return f"{version} has them: --data-version {version} judges by its rules"
    return None


def _endings_of(several: Iterable[Judged]) -> str:
    return _some(dict.fromkeys(repr(each.ending) for each in several))


def _missing(found: Recount) -> Iterator[Cause]:
    left_out = set(found.tasks_left_out)
    missing = [slot for slot in found.missing if slot.task_id not in left_out]
    if missing:
        tasks = dict.fromkeys(slot.task_id for slot in missing)
        yield Cause(
            "missing simulations",
            f"{len(missing)} of {len(found.slots)} planned simulations are not there "
            f"({_count(tasks, 'task')}: {_some(tasks)}); they count as failures",
        )
    if left_out and found.split is not None:
        name, ids = found.split
        yield Cause(
            "missing tasks",
            f"{len(left_out)} of the {len(ids)} tasks of the {name} split are not there: "
            f"{_some(found.tasks_left_out)}; their simulations count as failures",
            "--partial certifies the listed tasks alone",
        )


def _repeated(found: Recount) -> Iterator[Cause]:
    twice = [slot for slot, several in found.by_slot.items() if len(several) > 1]
    copies = [found.judged[position] for position in found.copies]
    if copies:
        original = next(iter(found.copies.values()))
        yield Cause(
            "duplicated simulations",
            f"{_of(copies, found)} are copies (the first: {copies[0].passport.where} is "
            f"{original.passport.where} again); a copy counts as a failure",
        )
    if twice:
        yield Cause(
            "repeated trials",
            f"{_count(twice, 'trial')} more than once in the file ({_some(map(str, twice))}); each "
            "passes only if all its simulations do",
        )


def _foreign_tasks(found: Recount) -> Iterator[Cause]:
    strange = dict.fromkeys(each.named for each in found.judged if each.problem == FOREIGN_TASK)
    if found.domain is not None and not found.ways.embedded_tasks:
        known = found.known(found.domain)
        strange |= dict.fromkeys(name for name in found.whole.tasks if known.raw(name) is None)
    if strange:
        domain = "the benchmark" if found.domain is None else found.domain.name
        yield Cause(
            "foreign tasks",
            f"{_count(strange, 'task')} not in {domain}: {_some(strange)}; their simulations count "
            "as failures",
            None if not found.whole.tasks else "--embedded-tasks judges by the file's",
        )


def _unreadable(found: Recount) -> Iterator[Cause]:
    lines = found.whole.malformed
    if lines:
        yield Cause(
            "unreadable simulations",
            f"{_count(lines, 'part')} of the file {MALFORMED} (the first: {lines[0]}); what "
            "is lost counts as a failure",
        )


def _unfinished(found: Recount) -> Iterator[Cause]:
    """Repetitions of our own that broke off."""
    for problem, number in found.problems.items():
        if problem not in (MALFORMED, FOREIGN_TASK, NEEDS_JUDGE):
            yield Cause(
                "unfinished simulations",
                f"{number} of {len(found.slots)} simulations have no verdict ({problem}); they "
                "count as failures",
                fatal=False,
            )


def _other_judgement(found: Recount) -> Iterator[Cause]:
    """Verdicts that differ only because another judge was asked."""
    differing = [each for each in found.disagreeing if _by_judge_alone(each)]
    if differing:
        yield Cause(
            "another judgement",
            f"in {_of(differing, found)} the judge decides otherwise than the recorded one "
            f"(the first: {differing[0].slot}: {_verdicts(differing[0])})",
        )


def _by_judge_alone(each: Judged) -> bool:
    return each.differing == ("NL_ASSERTION",)


def _unread_replies(found: Recount) -> Iterator[Cause]:
    unread = [each for each in found.judged if each.unread_reply]
    if unread:
        yield Cause(
            "unreadable judgements",
            f"in {_of(unread, found)} the judge's reply cannot be read (the first: "
            f"{unread[0].slot}: {unread[0].unread_reply})",
        )


def _unjudged(found: Recount) -> Iterator[Cause]:
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


def _setting(found: Recount) -> Iterator[Cause]:
    domain, whole = found.domain, found.whole
    if domain is None:
        return
    if foreign_domain(whole.domain_name, domain):
        text = f"the file calls its domain {whole.domain_name!r}; it was judged as {domain.name}"
        yield Cause("foreign domain", text)
    if whole.policy and whole.policy not in policies(domain):
        yield Cause("other policy", f"the file's policy is not that of {domain.name}")


_LOOKS: Sequence[Callable[[Recount], Iterator[Cause]]] = (
    _setting,
    _shuffled,
    _mixed_up_tasks,
    _edited_rewards,
    _other_tasks,
    _foreign_tasks,
    _changed_tools,
    _unlike_answers,
    _other_rules,
    _endings,
    _missing,
    _repeated,
    _unreadable,
    _unfinished,
    _other_judgement,
    _unread_replies,
    _unjudged,
)


def _of(several: Sequence[Judged], found: Recount) -> str:
    return f"{len(several)} of {len(found.judged)} simulations"


def _count(several: Sized, what: str) -> str:
    return f"{len(several)} {what}{'' if len(several) == 1 else 's'}"


def _some(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _LISTED} more" if len(every) > _LISTED else ""
    return ", ".join(every[:_LISTED]) + more
