"""Findings about a record: why it is not what the benchmark would have written.

Their weight says what follows. Numbers of a record with one of weight ``state`` cannot be
certified. One of weight ``manner`` is a fault that leaves the numbers as they are. A ``remark`` is
a caution: something that deserves a look, and no fault. The evidence of a finding is what to try.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial

from maseval.benchmark.tau2.data import title_of
from maseval.benchmark.tau2.domains.releases import RELEASES
from maseval.benchmark.tau2.formats.simulation import TerminationReason, trial_seed
from maseval.benchmark.tau2.rescoring.judged import JudgedRecord
from maseval.benchmark.tau2.rescoring.tasks import (
    REMOVED,
    differing_tasks,
    has_tasks,
    other_releases,
    policies,
)
from maseval.benchmark.tau2.rescoring.verdict import FOREIGN_TASK, NEEDS_JUDGE, JudgedSimulation
from maseval.benchmark.tau2.results.recorded import BY_FORM, MALFORMED
from maseval.core.finding import Finding, Weight
from maseval.core.perturbation import PERTURB, mark_of_perturbation
from maseval.core.words import count_of, first_few, percent

_LISTED = 5


def record_finding(
    kind: str, text: str, remedy: str | None = None, weight: Weight = "state"
) -> Finding:
    """Return a finding about a record; ``remedy`` says what to try."""
    evidence = () if remedy is None else (remedy,)
    return Finding(
        "record", "unclear", kind, "record", text, "proven", evidence=evidence, weight=weight
    )


def in_words(finding: Finding) -> str:
    """Return a finding about a record as one sentence, with its kind and what to try."""
    return "; ".join((f"{finding.kind}: {finding.text}", *finding.evidence))


def _share_of(several: Sequence[JudgedSimulation], found: JudgedRecord) -> str:
    return f"{len(several)} of {len(found.simulations)} simulations"


def _about_some(
    found: JudgedRecord,
    kind: str,
    several: Sequence[JudgedSimulation],
    words: str,
    detail: Callable[[JudgedSimulation], object] | None = None,
    remedy: str | None = None,
) -> Iterator[Finding]:
    """Yield a finding about some simulations, if there are any.

    With a ``detail`` it is about what is in them, and says what is special about the first.
    """
    if several:
        text = f"{_share_of(several, found)} {words}"
        if detail is not None:
            text = f"in {text} (the first: {several[0].slot}: {detail(several[0])})"
        yield record_finding(kind, text, remedy)


_some_of = partial(first_few, most=_LISTED)


_MANY = 0.25
"""From this share of a file on, answers that differ are not a matter of single edits."""


def other_setting(found: JudgedRecord) -> Iterator[Finding]:
    """Yield findings for a domain or a policy that is not the benchmark's."""
    domain, whole = found.domain, found.claims
    if domain is None:
        return
    if whole.domain_name not in (None, domain.name):
        yield record_finding(
            "foreign domain",
            f"the file calls its domain {whole.domain_name!r}; it was judged as {domain.name}",
        )
    # Some forks leave the policy out, which does not make it another one.
    if whole.policy and whole.policy not in policies(domain):
        yield record_finding("other policy", f"the file's policy is not that of {domain.name}")


def shuffled_task_ids(found: JudgedRecord) -> Iterator[Finding]:
    """Yield a finding if recorded checks belong to tasks of other ids."""
    checked = [each for each in found.simulations if each.checked_task]
    if checked:
        yield record_finding(
            "task ids shuffled",
            f"in {_share_of(checked, found)} the recorded checks belong to another task (the "
            f"first: task {checked[0].slot.task_id} has those of task {checked[0].checked_task})",
        )


def other_tasks(found: JudgedRecord) -> Iterator[Finding]:
    """Yield a finding if tasks differ from the benchmark's: of another release, or edited."""
    if found.domain is None or not found.claims.tasks:
        return
    known = found.known_tasks(found.domain)
    # Under a wrong id a task looks edited, and that has been said already.
    mixed_up = {each.slot.task_id for each in found.simulations if each.checked_task}
    differing = {
        task_id: parts
        for task_id, parts in differing_tasks(found.claims.tasks, known)
        if task_id not in mixed_up
    }
    if not differing:
        return
    theirs = {name: found.claims.tasks[name] for name in differing}
    asked = found.options.embedded_tasks
    # Whoever has the file's own tasks used does not ask for those of another release.
    others, absent = ([], []) if asked else other_releases(found.domain, found.version)
    version = next((each for each in others if has_tasks(found.domain, each, theirs)), None)
    if version is not None:
        # The form of a file shows whose rules it was made by, whatever tasks it has.
        mixed = found.version_from == BY_FORM
        release = f"{found.version}+tasks.{version}" if mixed else version
        other, ours = title_of(version), title_of(found.version)
        yield record_finding(
            "other data version",
            f"{len(differing)} of {len(found.claims.tasks)} tasks in the file are those of "
            f"{other}, not of {ours}: {_some_of(differing)}; those of {ours} were used",
            f"--data-version {release} judges by those of {other}",
        )
        return
    kinds = Counter(part for parts in differing.values() for part in parts)
    counts = ", ".join(f"{kind} in {number}" for kind, number in sorted(kinds.items()))
    used = "the file's" if found.options.embedded_tasks else "the benchmark's"
    yield record_finding(
        "criteria removed" if REMOVED in kinds else "other task version",
        f"{len(differing)} of {len(found.claims.tasks)} tasks in the file are not the benchmark's "
        f"({counts}): {_some_of(differing)}; {used} were used"
        + (f"; not compared with {' and '.join(absent)}, whose data is not here" if absent else ""),
        None if found.options.embedded_tasks else "--embedded-tasks judges by the file's",
    )


def foreign_tasks(found: JudgedRecord) -> Iterator[Finding]:
    """Yield a finding if the benchmark lacks some tasks."""
    strange = dict.fromkeys(
        each.slot.task_id for each in found.simulations if each.problem == FOREIGN_TASK
    )
    if found.domain is not None and not found.options.embedded_tasks:
        known = found.known_tasks(found.domain)
        strange |= dict.fromkeys(name for name in found.claims.tasks if known.raw(name) is None)
    if strange:
        domain = "the benchmark" if found.domain is None else found.domain.name
        yield record_finding(
            "foreign tasks",
            f"{count_of(len(strange), 'task')} not in {domain}: {_some_of(strange)}; their "
            "simulations have no verdict",
            None if not found.claims.tasks else "--embedded-tasks judges by the file's",
        )


def edited_rewards(found: JudgedRecord) -> Iterator[Finding]:
    """Yield a finding if recorded rewards contradict the recorded checks."""
    edited = [each for each in found.simulations if each.contradiction]
    yield from _about_some(
        found,
        "edited rewards",
        edited,
        "the record contradicts itself",
        lambda each: each.contradiction,
    )


def changed_tools(found: JudgedRecord) -> Iterator[Finding]:
    """Yield a finding if tools answered that the domain does not have."""
    using = [each for each in found.simulations if each.unknown_tool]
    names = _some_of(dict.fromkeys(str(each.unknown_tool) for each in using))
    yield from _about_some(
        found,
        "changed tools",
        using,
        f"got answers from tools that the domain does not have: {names}",
    )


def unlike_answers(found: JudgedRecord) -> Iterator[Finding]:
    """Yield findings if tools answer otherwise now: other tools, other data, or edited messages."""
    faults = [each for each in found.simulations if each.fault and not each.unknown_tool]
    unlike = [each for each in faults if each.fault and each.fault.found is not None]
    # Where there is no other answer, messages were lost or moved, and not edited.
    lost = [each for each in faults if each.fault and each.fault.found is None]
    yield from _about_some(
        found, "missing messages", lost, "tool calls and answers do not match", _describe_fault
    )
    if not unlike:
        return
    # In the order of the file, so that a certificate says the same each time.
    calls = (each.fault.call for each in unlike if each.fault)
    tools = dict.fromkeys(str((call or {}).get("name")) for call in calls)
    # A single answer is edited by hand. Many of one tool mean that the tool was another one, and
    # many of several that the data was.
    kind = "edited messages"
    if len(unlike) > 1 and len(unlike) >= _MANY * len(found.simulations):
        kind = "changed tools" if len(tools) == 1 else "other data version"
    yield record_finding(
        kind,
        f"in {_share_of(unlike, found)} a tool's answer differs from the recorded one "
        f"({_some_of(tools)}; the first: {unlike[0].slot}, {_describe_fault(unlike[0])})",
    )


def _describe_fault(each: JudgedSimulation) -> str:
    return f"message {each.fault.message_index}: {each.fault.meaning}" if each.fault else ""


def other_rules(found: JudgedRecord) -> Iterator[Finding]:
    """Yield a finding if verdicts differ though task, answers and record are sound."""
    mixed_up = sum(each.checked_task is not None for each in found.simulations)
    # Where most tasks are shuffled, all are, also those whose checks do not show it.
    if not found.disagreeing or 2 * mixed_up > len(found.simulations):
        return
    other = set()
    if found.domain is not None and not found.options.embedded_tasks:
        known = found.known_tasks(found.domain)
        other = {name for name, _ in differing_tasks(found.claims.tasks, known)}
    left = [
        each
        for each in found.disagreeing
        if not each.is_explained and each.slot.task_id not in other
    ]
    if not left:
        return
    kinds = Counter(kind for each in left for kind in each.differing)
    first = f"the first: {left[0].slot}: {left[0].both_rewards}"
    if kinds:
        kind = "other rules or edited checks"
        counts = ", ".join(f"{each} in {number}" for each, number in kinds.items())
        rules = title_of(found.version)
        text = f"a check comes out differently under the rules of {rules} ({counts}; {first})"
    else:
        kind = "rewards not confirmed"
        text = f"the recorded reward does not follow from the conversation ({first})"
    yield record_finding(kind, f"in {_share_of(left, found)} {text}")


def judgements(found: JudgedRecord) -> Iterator[Finding]:
    """Yield findings for verdicts on which judges differ, or on which there is none."""
    differing = [each for each in found.disagreeing if each.is_by_judge_alone]
    yield from _about_some(
        found,
        "another judgement",
        differing,
        "the judge disagrees with the recorded judge",
        lambda each: each.both_rewards,
    )
    if unjudged := found.problems[NEEDS_JUDGE]:
        silent = " whose reply is not there or cannot be read" if found.model else ""
        yield record_finding(
            "not recomputed",
            f"{unjudged} of {len(found.simulations)} verdicts depend on a judge model"
            f"{silent}; they count neither as passed nor as failed",
            None if found.model else "--judge-model asks one",
        )


def unknown_endings(found: JudgedRecord) -> Iterator[Finding]:
    """Yield findings for endings that the release lacks, or that the last message contradicts."""
    foreign = [each for each in found.simulations if each.foreign_ending]
    stopped = [each for each in foreign if each.stopped]
    others = [each for each in foreign if not each.stopped]
    relabelled = [each for each in found.simulations if each.is_relabelled]
    impossible = [each for each in found.simulations if each.impossible_ending]
    statuses = _some_of(dict.fromkeys(str(each.status) for each in relabelled))
    yield from _about_some(
        found,
        "relabelled simulations",
        stopped,
        f"say they ended with {_endings_of(stopped)}, but their last message is the user's stop; "
        "they count as failures",
    )
    yield from _about_some(
        found,
        "relabelled simulations",
        relabelled,
        f"are recorded as {statuses}, but their last message is the user's stop; they count by "
        "what was said",
    )
    yield from _about_some(
        found,
        "impossible ends",
        impossible,
        "say that the user ended them, but their last message is not the user's stop "
        f"({_some_of(str(each.slot) for each in impossible)}); they count as failures",
    )
    yield from _about_some(
        found,
        "unknown ends",
        others,
        f"ended with {_endings_of(others)}, which {title_of(found.version)} does not have; they "
        "count as failures",
        remedy=_other_version(found, others),
    )


def _other_version(found: JudgedRecord, several: Sequence[JudgedSimulation]) -> str | None:
    """Return the remedy that names a release which has these endings."""
    ends = {each.ending for each in several}
    for version, release in RELEASES.items():
        if version not in found.version and ends <= {e.value for e in release.rules.loop.endings}:
            return f"{version} has them: --data-version {version} judges by its rules"
    return None


def _endings_of(several: Iterable[JudgedSimulation]) -> str:
    return _some_of(dict.fromkeys(repr(each.ending) for each in several))


def sampling(found: JudgedRecord) -> Iterator[Finding]:
    """Say what makes the number another than that of a usual run: its tasks, end or answers."""
    if (subset := found.claims.subset) is not None:
        yield record_finding("estimate", subset.note, weight="remark")
    if found.claims.stopped is not None:
        yield record_finding("sequential run", found.claims.stopped, weight="remark")
    if (mark := mark_of_perturbation({PERTURB: found.claims.perturb})) is not None:
        yield record_finding("perturbed run", mark, weight="remark")


def missing_simulations(found: JudgedRecord) -> Iterator[Finding]:
    """Yield findings for simulations and tasks that are missing, and for trials that repeat."""
    left_out = set(found.tasks_left_out)
    missing = [slot for slot in found.missing if slot.task_id not in left_out]
    if missing:
        tasks = dict.fromkeys(slot.task_id for slot in missing)
        yield record_finding(
            "missing simulations",
            f"{len(missing)} of {len(found.slots)} planned simulations are missing "
            f"({count_of(len(tasks), 'task')}: {_some_of(tasks)}); they have no verdict",
        )
    if left_out and found.split is not None:
        name, ids = found.split
        yield record_finding(
            "missing tasks",
            f"{len(left_out)} of the {len(ids)} tasks of the {name} split are missing: "
            f"{_some_of(found.tasks_left_out)}; their simulations have no verdict",
            "--partial certifies the listed tasks alone",
        )
    if twice := [slot for slot, several in found.by_slot.items() if len(several) > 1]:
        yield record_finding(
            "repeated trials",
            f"{count_of(len(twice), 'trial')} more than once in the file "
            f"({_some_of(map(str, twice))}); each passes only if all its simulations do",
        )


def lost_simulations(found: JudgedRecord) -> Iterator[Finding]:
    """Yield findings for parts of the file that cannot be read, and for runs that broke off."""
    lines = found.malformed
    if lines:
        yield record_finding(
            "unreadable simulations",
            f"{count_of(len(lines), 'part')} of the file {MALFORMED} (the first: {lines[0]}); what "
            "is lost has no verdict",
        )
    for problem, number in found.problems.items():
        # These have findings of their own.
        if problem not in (MALFORMED, FOREIGN_TASK, NEEDS_JUDGE):
            yield record_finding(
                "unfinished simulations",
                f"{number} of {len(found.slots)} simulations did not finish ({problem})",
                weight="manner",
            )


def foreign_seeds(found: JudgedRecord) -> Iterator[Finding]:
    """Yield a finding if seeds of trials do not follow from the seed of the run."""
    seed = found.claims.seed
    if seed is None:
        return
    foreign = [
        each for each in found.simulations if each.seed not in (None, _seed(seed, each.slot.trial))
    ]
    if foreign:
        first = foreign[0]
        yield record_finding(
            "foreign seeds",
            f"{_share_of(foreign, found)} have a seed that does not follow from the run's {seed} "
            f"(the first: {first.slot} has {first.seed}, not "
            f"{_seed(seed, first.slot.trial)}): they may come from another run",
            # The seeds of later releases were not compared with files of the original.
            weight="remark" if found.version_from == BY_FORM else "state",
        )


# Thousands of simulations have the same few trials.
_seed = lru_cache(maxsize=4096)(trial_seed)


def unlisted_tasks(found: JudgedRecord) -> Iterator[Finding]:
    """Yield a caution with the range of the number if the record is about a part of a split."""
    for name, (split, whole, absent) in found.unlisted.items():
        low, high = found.bounds_over_split([name])
        yield record_finding(
            "part of a split",
            f"{len(absent)} of the {whole} tasks of {name}'s {split} split are missing "
            f"({_some_of(absent)}); over all {whole}, pass^1 lies between {percent(low)} and "
            f"{percent(high)}",
            weight="remark",
        )


def odd_simulations(found: JudgedRecord) -> Iterator[Finding]:
    """Yield cautions for ids or times that simulations share, and for swapped endings."""
    agent_stop = TerminationReason.AGENT_STOP.value
    if swapped := [one for one in found.simulations if one.ending == agent_stop and one.stopped]:
        yield record_finding(
            "ended by the other side",
            f"in {_share_of(swapped, found)} {agent_stop}, but the last message is the user's stop",
            weight="remark",
        )
    for name in ("id", "times", "response ids"):
        first: dict[str, JudgedSimulation] = {}
        marked = [each for each in found.simulations if name in each.marks]
        again = [each for each in marked if first.setdefault(each.marks[name], each) is not each]
        if again:
            original = first[again[0].marks[name]]
            yield record_finding(
                f"repeated {name}",
                f"{_share_of(again, found)} share the {name} of another (the first: "
                f"{again[0].slot} that of {original.slot}); all of them count",
                weight="remark",
            )


_CHECKS: Sequence[Callable[[JudgedRecord], Iterator[Finding]]] = (
    sampling,
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
    lost_simulations,
    foreign_seeds,
    judgements,
    odd_simulations,
    unlisted_tasks,
)


def record_findings(found: JudgedRecord) -> list[Finding]:
    """Return what is wrong with a record; those that explain most come first."""
    return [finding for check in _CHECKS for finding in check(found)]
