"""Whose tasks a record has: another domain, policy or release, edited, foreign or mixed up."""

from collections.abc import Collection, Iterator

from maseval.benchmark.tau2.data.files import default_data_dir
from maseval.benchmark.tau2.domains.releases import RELEASES
from maseval.benchmark.tau2.recount.causes.cause import Cause, count_of, share_of, some_of
from maseval.benchmark.tau2.recount.judged import FOREIGN_TASK, foreign_domain
from maseval.benchmark.tau2.recount.policies import policies
from maseval.benchmark.tau2.recount.recount import Recount
from maseval.benchmark.tau2.recount.sources import BY_FORM
from maseval.benchmark.tau2.recount.tasks import (
    REMOVED,
    KnownTasks,
    differing_tasks,
    meaning,
)


def setting(found: Recount) -> Iterator[Cause]:
    """A domain or a policy that is not the benchmark's."""
    domain, whole = found.domain, found.whole
    if domain is None:
        return
    if foreign_domain(whole.domain_name, domain):
        text = f"the file calls its domain {whole.domain_name!r}; it was judged as {domain.name}"
        yield Cause("foreign domain", text)
    if whole.policy and whole.policy not in policies(domain):
        yield Cause("other policy", f"the file's policy is not that of {domain.name}")


def shuffled(found: Recount) -> Iterator[Cause]:
    """Tasks whose recorded checks belong to another one."""
    checked = [each for each in found.judged if each.checked_task]
    if not checked:
        return
    first = checked[0]
    done = found.options.remap_tasks
    yield Cause(
        "task ids shuffled",
        f"in {share_of(checked, found)} the recorded checks belong to another task (the first: "
        f"task {first.named} has those of task {first.checked_task})",
        None if done else "--remap-tasks judges each by the task its checks belong to",
    )


def mixed_up_tasks(found: Recount) -> Iterator[Cause]:
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
            None if found.options.remap_tasks else "--remap-tasks judges each by the task it is",
        )


def other_tasks(found: Recount) -> Iterator[Cause]:
    """Tasks that differ from the benchmark's: of another release, or edited."""
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
    version = None if found.options.embedded_tasks else _version_of(found, differing)
    if version is not None:
        # The form of a file shows whose rules it was made by, whatever tasks it has.
        mixed = found.whole.version_from == BY_FORM
        release = f"{found.version}+tasks.{version}" if mixed else version
        yield Cause(
            "other data version",
            f"{len(differing)} of {len(found.whole.tasks)} tasks in the file are those of "
            f"v{version}, not of v{found.version}: {some_of(differing)}; those of v{found.version} "
            "were used",
            f"--data-version {release} judges by those of v{version}",
        )
        return
    used = "the file's" if found.options.embedded_tasks else "the benchmark's"
    yield Cause(
        "criteria removed" if removed else "other task version",
        f"{len(differing)} of {len(found.whole.tasks)} tasks in the file are not the benchmark's "
        f"({counts}): {some_of(differing)}; {used} were used",
        None if found.options.embedded_tasks else "--embedded-tasks judges by the file's",
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


def foreign_tasks(found: Recount) -> Iterator[Cause]:
    """Tasks that the benchmark does not have."""
    strange = dict.fromkeys(each.named for each in found.judged if each.problem == FOREIGN_TASK)
    if found.domain is not None and not found.options.embedded_tasks:
        known = found.known(found.domain)
        strange |= dict.fromkeys(name for name in found.whole.tasks if known.raw(name) is None)
    if strange:
        domain = "the benchmark" if found.domain is None else found.domain.name
        yield Cause(
            "foreign tasks",
            f"{count_of(strange, 'task')} not in {domain}: {some_of(strange)}; their simulations "
            "count as failures",
            None if not found.whole.tasks else "--embedded-tasks judges by the file's",
        )
