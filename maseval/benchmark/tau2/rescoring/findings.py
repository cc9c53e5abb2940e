"""Findings why a record is not what the benchmark would have written, each with its evidence."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from maseval.benchmark.tau2.data import title_of
from maseval.benchmark.tau2.data.files import are_cached
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import RELEASES
from maseval.benchmark.tau2.rescoring.completeness import (
    foreign_seeds,
    lost_simulations,
    missing_simulations,
    odd_simulations,
    repeated_trials,
    unlisted_tasks,
)
from maseval.benchmark.tau2.rescoring.record import BY_FORM
from maseval.benchmark.tau2.rescoring.record_finding import (
    record_finding,
    share_of,
    some_of,
)
from maseval.benchmark.tau2.rescoring.rescore import RescoredRecord
from maseval.benchmark.tau2.rescoring.tasks import (
    REMOVED,
    KnownTasks,
    differing_tasks,
    policies,
    task_content,
)
from maseval.benchmark.tau2.rescoring.verdict import FOREIGN_TASK, RescoredSimulation
from maseval.core.finding import Finding
from maseval.core.words import count_of

_MANY = 0.25
"""From this share of a file on, answers that differ are not a matter of single edits."""


def other_setting(found: RescoredRecord) -> Iterator[Finding]:
    """Yield findings for a domain or a policy that is not the benchmark's."""
    domain, whole = found.domain, found.record
    if domain is None:
        return
    if whole.domain_name not in (None, domain.name):
        text = f"the file calls its domain {whole.domain_name!r}; it was judged as {domain.name}"
        yield record_finding("foreign domain", text)
    if whole.policy and whole.policy not in policies(domain, found.data_dir):
        yield record_finding("other policy", f"the file's policy is not that of {domain.name}")


def shuffled_task_ids(found: RescoredRecord) -> Iterator[Finding]:
    """Yield a finding if recorded checks, or tasks in the file, belong to tasks of other ids."""
    checked = [each for each in found.simulations if each.checked_task]
    if checked:
        first = checked[0]
        text = (
            f"in {share_of(checked, found)} the recorded checks belong to another task (the first: "
            f"task {first.named} has those of task {first.checked_task})"
        )
        remedy = "--remap-tasks judges each by the task its checks belong to"
    elif moved := _moved_tasks(found):
        name, other = next(iter(moved.items()))
        text = (
            f"{len(moved)} of {len(found.record.tasks)} tasks in the file have another id than in "
            f"the benchmark (the first: {name} is the benchmark's {other})"
        )
        remedy = "--remap-tasks judges each by the task it is"
    else:
        return
    yield record_finding("task ids shuffled", text, None if found.options.remap_tasks else remedy)


def _moved_tasks(found: RescoredRecord) -> dict[str, str]:
    """Return the tasks that stand in the file under another id, each with its own."""
    if found.domain is None:
        return {}
    known = found.known_tasks(found.domain)
    pairs = ((name, known.embedded_task(task)) for name, task in found.record.tasks.items())
    return {name: other for name, other in pairs if other is not None}


def other_tasks(found: RescoredRecord) -> Iterator[Finding]:
    """Yield a finding if tasks differ from the benchmark's: of another release, or edited."""
    if found.domain is None or not found.record.tasks:
        return
    known = found.known_tasks(found.domain)
    mixed_up = {each.named for each in found.simulations if each.checked_task}
    differing = {
        task_id: parts
        for task_id, parts in differing_tasks(found.record.tasks, known)
        if task_id not in mixed_up and known.embedded_task(found.record.tasks[task_id]) is None
    }
    if not differing:
        return
    others: Sequence[str] = ()
    absent: Sequence[str] = ()
    if not found.options.embedded_tasks:
        others, absent = _other_releases(found.domain, found.version)
    version = next((each for each in others if _has_tasks(each, found, differing)), None)
    if version is not None:
        # The form of a file shows whose rules it was made by, whatever tasks it has.
        mixed = found.record.version_from == BY_FORM
        release = f"{found.version}+tasks.{version}" if mixed else version
        theirs, ours = title_of(version), title_of(found.version)
        yield record_finding(
            "other data version",
            f"{len(differing)} of {len(found.record.tasks)} tasks in the file are those of "
            f"{theirs}, not of {ours}: {some_of(differing)}; those of {ours} were used",
            f"--data-version {release} judges by those of {theirs}",
        )
        return
    kinds = Counter(part for parts in differing.values() for part in parts)
    counts = ", ".join(f"{kind} in {number}" for kind, number in sorted(kinds.items()))
    used = "the file's" if found.options.embedded_tasks else "the benchmark's"
    yield record_finding(
        "criteria removed" if REMOVED in kinds else "other task version",
        f"{len(differing)} of {len(found.record.tasks)} tasks in the file are not the benchmark's "
        f"({counts}): {some_of(differing)}; {used} were used"
        + (f"; not compared with {' and '.join(absent)}, whose data is not here" if absent else ""),
        None if found.options.embedded_tasks else "--embedded-tasks judges by the file's",
    )


def _other_releases(domain: Domain, judged_by: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return the other releases with the domain: those whose data is here, and the rest.

    Of a release that nobody asked for, only what is here and whole is used: none is fetched.
    """
    if domain.data_dir is not None:
        return [], []
    having = [name for name, each in RELEASES.items() if domain.name in each.domains]
    others = [name for name in having if name not in judged_by]
    here = [name for name in others if are_cached(domain.folder_name, name)]
    return here, [title_of(name) for name in others if name not in here]


def _has_tasks(version: str, found: RescoredRecord, task_ids: Collection[str]) -> bool:
    """Return True if a release has these tasks as the file has them."""
    assert found.domain is not None
    known = KnownTasks(RELEASES[version].domain(found.domain), version=version)
    raw = {task_id: known.raw(task_id) for task_id in task_ids}
    return all(
        ours is not None and task_content(found.record.tasks[task_id]) == task_content(ours)
        for task_id, ours in raw.items()
    )


def foreign_tasks(found: RescoredRecord) -> Iterator[Finding]:
    """Yield a finding if the benchmark lacks some tasks."""
    strange = dict.fromkeys(
        each.named for each in found.simulations if each.problem == FOREIGN_TASK
    )
    if found.domain is not None and not found.options.embedded_tasks:
        known = found.known_tasks(found.domain)
        strange |= dict.fromkeys(name for name in found.record.tasks if known.raw(name) is None)
    if strange:
        domain = "the benchmark" if found.domain is None else found.domain.name
        yield record_finding(
            "foreign tasks",
            f"{count_of(len(strange), 'task')} not in {domain}: {some_of(strange)}; their "
            "simulations "
            "have no verdict",
            None if not found.record.tasks else "--embedded-tasks judges by the file's",
        )


def edited_rewards(found: RescoredRecord) -> Iterator[Finding]:
    """Yield a finding if recorded rewards contradict the recorded checks."""
    edited = [each for each in found.simulations if each.contradiction]
    if edited:
        yield record_finding(
            "edited rewards",
            f"in {share_of(edited, found)} the record contradicts itself (the first: "
            f"{edited[0].slot}: {edited[0].contradiction})",
        )


def changed_tools(found: RescoredRecord) -> Iterator[Finding]:
    """Yield a finding if tools answered that the domain does not have."""
    using = [each for each in found.simulations if each.unknown_tool]
    if using:
        names = dict.fromkeys(str(each.unknown_tool) for each in using)
        yield record_finding(
            "changed tools",
            f"{share_of(using, found)} got answers from tools that the domain does not have: "
            f"{some_of(names)}",
        )


def unlike_answers(found: RescoredRecord) -> Iterator[Finding]:
    """Yield findings if tools answer otherwise now: other tools, other data, or edited messages."""
    faults = [each for each in found.simulations if each.fault and not each.unknown_tool]
    unlike = [each for each in faults if each.fault and each.fault.found is not None]
    lost = [each for each in faults if each.fault and each.fault.found is None]
    if lost:
        yield record_finding(
            "missing messages",
            f"in {share_of(lost, found)} calls and answers do not belong together "
            f"(the first: {lost[0].slot}, {_describe_fault(lost[0])})",
        )
    if not unlike:
        return
    tools = {str((each.fault.call or {}).get("name")) for each in unlike if each.fault}
    kind = "edited messages"
    if len(unlike) > 1 and len(unlike) >= _MANY * len(found.simulations):
        kind = "changed tools" if len(tools) == 1 else "other data version"
    yield record_finding(
        kind,
        f"in {share_of(unlike, found)} a tool now answers otherwise than recorded "
        f"({some_of(tools)}; the first: {unlike[0].slot}, {_describe_fault(unlike[0])})",
    )


def _describe_fault(each: RescoredSimulation) -> str:
    assert each.fault is not None
    return f"message {each.fault.message_index}: {each.fault.meaning}"


def other_rules(found: RescoredRecord) -> Iterator[Finding]:
    """Yield a finding if verdicts differ though task, answers and record are sound."""
    disagreeing = found.disagreeing
    is_explained = _is_explained(found) if disagreeing else bool
    left = [each for each in disagreeing if not is_explained(each)]
    if not left:
        return
    kinds = Counter(kind for each in left for kind in each.differing)
    first = f"the first: {left[0].slot}: {both_rewards(left[0])}"
    if kinds:
        kind = "other rules or edited checks"
        counts = ", ".join(f"{each} in {number}" for each, number in kinds.items())
        rules = title_of(found.version)
        text = f"a check comes out otherwise by the rules of {rules} ({counts}; {first})"
    else:
        kind = "rewards not confirmed"
        text = f"the recorded reward does not follow from the conversation ({first})"
    yield record_finding(kind, f"in {share_of(left, found)} {text}")


def _is_explained(found: RescoredRecord) -> Callable[[RescoredSimulation], bool]:
    """Return a test whether another finding explains why the two verdicts differ."""
    other = set()
    if found.domain is not None:
        known = found.known_tasks(found.domain)
        other = {name for name, _ in differing_tasks(found.record.tasks, known)}
    mixed_up = sum(each.checked_task is not None for each in found.simulations)
    shuffled = 2 * mixed_up > len(found.simulations)  # then also where no check shows it

    def is_explained(each: RescoredSimulation) -> bool:
        return bool(
            ((shuffled or each.checked_task) and not found.options.remap_tasks)
            or each.contradiction
            or each.fault
            or each.foreign_ending
            or by_judge_alone(each)
            or (each.named in other and not found.options.embedded_tasks)
        )

    return is_explained


def judgements(found: RescoredRecord) -> Iterator[Finding]:
    """Yield findings for verdicts on which judges differ, cannot be read, or were not asked."""
    differing = [each for each in found.disagreeing if by_judge_alone(each)]
    unread = [each for each in found.simulations if each.unread_reply]
    if differing:
        yield record_finding(
            "another judgement",
            f"in {share_of(differing, found)} the judge decides otherwise than the recorded one "
            f"(the first: {differing[0].slot}: {both_rewards(differing[0])})",
        )
    if unread:
        yield record_finding(
            "unreadable judgements",
            f"in {share_of(unread, found)} the judge's reply cannot be read (the first: "
            f"{unread[0].slot}: {unread[0].unread_reply})",
        )
    if found.unjudged:
        yield record_finding(
            "not recomputed",
            f"{found.unjudged} of {len(found.simulations)} verdicts depend on a judge model; they "
            "count neither as passed nor as failed",
            None if found.panel.judges else "--judge-model asks one",
        )


def by_judge_alone(each: RescoredSimulation) -> bool:
    return each.differing == ("NL_ASSERTION",)


def both_rewards(each: RescoredSimulation) -> str:
    if each.reward is None:
        return each.differences[0]
    return f"recorded {each.recorded:g}, recomputed {each.reward:g}"


def unknown_endings(found: RescoredRecord) -> Iterator[Finding]:
    """Yield findings for endings that the release lacks, or that the last message contradicts."""
    foreign = [each for each in found.simulations if each.foreign_ending]
    stopped = [each for each in foreign if each.identity.stopped]
    others = [each for each in foreign if not each.identity.stopped]
    if stopped:
        yield record_finding(
            "relabelled simulations",
            f"{share_of(stopped, found)} say they ended with {_endings_of(stopped)}, but their "
            "last message is the user's stop; they count as failures",
        )
    relabelled = [each for each in found.simulations if each.is_relabelled]
    if relabelled:
        statuses = some_of({each.shown.status: None for each in relabelled if each.shown})
        yield record_finding(
            "relabelled simulations",
            f"{share_of(relabelled, found)} are recorded as {statuses}, but their last message is "
            "the user's stop; they count by what was said",
        )
    if impossible := [each for each in found.simulations if each.impossible_ending]:
        yield record_finding(
            "impossible ends",
            f"{share_of(impossible, found)} say that the user ended them, but their last message "
            f"is not the user's stop ({some_of(str(each.slot) for each in impossible)}); they "
            "count as failures",
        )
    if others:
        yield record_finding(
            "unknown ends",
            f"{share_of(others, found)} ended with {_endings_of(others)}, which "
            f"{title_of(found.version)} does not have; they count as failures",
            _other_version(found, others),
        )


def _other_version(found: RescoredRecord, several: Sequence[RescoredSimulation]) -> str | None:
    """Return the remedy that names a release which has these endings."""
    ends = {each.ending for each in several}
    for version, release in RELEASES.items():
        if version not in found.version and ends <= {e.value for e in release.rules.loop.endings}:
            return f"{version} has them: --data-version {version} judges by its rules"
    return None


def _endings_of(several: Iterable[RescoredSimulation]) -> str:
    return some_of(dict.fromkeys(repr(each.ending) for each in several))


def chosen_tasks(found: RescoredRecord) -> Iterator[Finding]:
    """Say that the number is an estimate."""
    if (subset := found.record.subset) is not None:
        yield record_finding("estimate", subset.note, weight="remark")


def not_of_a_fixed_size(found: RescoredRecord) -> Iterator[Finding]:
    """Say that the run ended when its question was answered."""
    if found.record.stopped is not None:
        yield record_finding("sequential run", found.record.stopped, weight="remark")


_CHECKS: Sequence[Callable[[RescoredRecord], Iterator[Finding]]] = (
    chosen_tasks,
    not_of_a_fixed_size,
    other_setting,
    shuffled_task_ids,
    edited_rewards,
    other_tasks,
    foreign_tasks,
    changed_tools,
    unlike_answers,
    other_rules,
    unknown_endings,
    missing_simulations,
    repeated_trials,
    lost_simulations,
    foreign_seeds,
    judgements,
    odd_simulations,
    unlisted_tasks,
)


def record_findings(found: RescoredRecord) -> list[Finding]:
    """Return what is wrong with a record; those that explain most come first."""
    return [finding for check in _CHECKS for finding in check(found)]
