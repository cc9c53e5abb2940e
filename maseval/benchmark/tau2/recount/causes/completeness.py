"""What a record lacks, has twice, or has as nobody can read it, and how its simulations end."""

from collections.abc import Iterable, Iterator, Sequence

from maseval.benchmark.tau2.domains.releases import RELEASES
from maseval.benchmark.tau2.recount.causes.cause import Cause, count_of, share_of, some_of
from maseval.benchmark.tau2.recount.judged import FOREIGN_TASK, NEEDS_JUDGE, Judged
from maseval.benchmark.tau2.recount.recount import Recount
from maseval.benchmark.tau2.recount.sources import MALFORMED


def endings(found: Recount) -> Iterator[Cause]:
    """Ends that the release does not have, or that the last message belies."""
    foreign = [each for each in found.judged if each.foreign_ending]
    stopped = [each for each in foreign if each.passport.stopped]
    others = [each for each in foreign if not each.passport.stopped]
    if stopped:
        yield Cause(
            "relabelled simulations",
            f"{share_of(stopped, found)} say they ended with {_endings_of(stopped)}, but their "
            "last message is the user's stop; they count as failures",
        )
    if others:
        yield Cause(
            "unknown ends",
            f"{share_of(others, found)} ended with {_endings_of(others)}, which v{found.version} "
            "does not have; they count as failures",
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
    return some_of(dict.fromkeys(repr(each.ending) for each in several))


def missing(found: Recount) -> Iterator[Cause]:
    """Planned simulations, and tasks of the split, that are not there."""
    left_out = set(found.tasks_left_out)
    missing = [slot for slot in found.missing if slot.task_id not in left_out]
    if missing:
        tasks = dict.fromkeys(slot.task_id for slot in missing)
        yield Cause(
            "missing simulations",
            f"{len(missing)} of {len(found.slots)} planned simulations are not there "
            f"({count_of(tasks, 'task')}: {some_of(tasks)}); they count as failures",
        )
    if left_out and found.split is not None:
        name, ids = found.split
        yield Cause(
            "missing tasks",
            f"{len(left_out)} of the {len(ids)} tasks of the {name} split are not there: "
            f"{some_of(found.tasks_left_out)}; their simulations count as failures",
            "--partial certifies the listed tasks alone",
        )


def repeated(found: Recount) -> Iterator[Cause]:
    """Copies of other simulations, and trials that are there more than once."""
    twice = [slot for slot, several in found.by_slot.items() if len(several) > 1]
    copies = [found.judged[position] for position in found.copies]
    if copies:
        original = next(iter(found.copies.values()))
        yield Cause(
            "duplicated simulations",
            f"{share_of(copies, found)} are copies (the first: {copies[0].passport.where} is "
            f"{original.passport.where} again); a copy counts as a failure",
        )
    if twice:
        yield Cause(
            "repeated trials",
            f"{count_of(twice, 'trial')} more than once in the file ({some_of(map(str, twice))}); "
            "each passes only if all its simulations do",
        )


def unreadable(found: Recount) -> Iterator[Cause]:
    """Parts of the file that could not be parsed."""
    lines = found.whole.malformed
    if lines:
        yield Cause(
            "unreadable simulations",
            f"{count_of(lines, 'part')} of the file {MALFORMED} (the first: {lines[0]}); what "
            "is lost counts as a failure",
        )


def unfinished(found: Recount) -> Iterator[Cause]:
    """Repetitions of our own that broke off."""
    for problem, number in found.problems.items():
        if problem not in (MALFORMED, FOREIGN_TASK, NEEDS_JUDGE):
            yield Cause(
                "unfinished simulations",
                f"{number} of {len(found.slots)} simulations have no verdict ({problem}); they "
                "count as failures",
                fatal=False,
            )
